//! The tmux driver with toy agents: permissions that a person gives or refuses from wherever they are.

use pairflow_testkit::clis::Panes;
use pairflow_testkit::home::Ran;
use pairflow_testkit::toys::{Machine, ToyBubble};
use pairflow_testkit::wait::eventually_or;
use serde_json::{Value, json};

use crate::support::bubbles::toys;
use crate::support::terminal::on_terminal;

/// The implementer asks for a permission, and writes down what its hook was told.
const PLAY: &str = r#"
asks() { hook PermissionRequest ",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"$1\"}" >"$here/part.$2"; mv "$here/part.$2" "$here/$2"; }
beside() { :; }
after() { :; }
act() {
  if [ "$seat" != implementer ]; then explain | pairflow pass --summary 'read it' --no-findings --explain -; return; fi
  briefed
  beside & asks 'rm -rf build' told
  after
  gate go
  echo one >work.txt
  pairflow pass --summary 'worked on it'
}
"#;

fn machine(more: &str) -> Machine {
    toys(&format!("{PLAY}\n{more}"), "")
}

/// Waits until the hook has ended, and returns what it printed.
#[track_caller]
fn told(bubble: &ToyBubble<'_>, file: &str) -> String {
    let file = bubble.machine.beside(file);
    eventually_or("the end of the hook", || bubble.everything(), || std::fs::read_to_string(&file).ok())
}

/// Waits until what waits for a person says `part`.
#[track_caller]
fn asked(bubble: &ToyBubble<'_>, part: &str) -> Value {
    let item = || {
        let items = bubble.run("inbox", &["--json"]).ok().json();
        let found = items["items"].as_array()?.iter().find(|item| item["question"].as_str().unwrap().contains(part));
        found.cloned()
    };
    eventually_or(part, || bubble.everything(), item)
}

/// Gives the permission that `item` asks for.
fn accepts(bubble: &ToyBubble<'_>, item: &Value) -> Ran {
    bubble.run("reply", &["--question", item["id"].as_str().unwrap(), "--decision", "accept"])
}

fn decision(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap()["hookSpecificOutput"]["decision"].clone()
}

/// Lets the implementer go on, to the end of the loop; nobody was told anything but whose turn it is.
#[track_caller]
fn ends_well(bubble: &ToyBubble<'_>) {
    bubble.machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let notes = bubble.notes("codex");
    let first = notes.iter().filter(|note| note.seat == "implementer").count();
    assert_eq!(first, 1, "{notes:?}\n{}", bubble.everything());
    bubble.stop();
}

#[test]
fn a_permission_is_given_from_the_inbox_by_a_person_and_by_nobody_else() {
    let tries = r#"
beside() {
  gate asked
  hook PreToolUse ',"tool_name":"Read","tool_input":{"file_path":"/etc/hosts"}'
  hook PostToolUse ',"tool_name":"Read","tool_input":{"file_path":"/etc/hosts"}'
  pairflow reply "$bubble" --decision accept; echo $? >"$here/part.tried"; mv "$here/part.tried" "$here/tried"
}
"#;
    let machine = machine(tries);
    let bubble = machine.start("given");
    let item = asked(&bubble, "codex asks for a permission: Bash rm -rf build (outside its sandbox).");
    let reply = format!("pairflow reply given --question {}", item["id"].as_str().unwrap());
    let (accept, refuse) = (format!("{reply} --decision accept"), format!("{reply} --message '…'"));
    let ways = [accept.as_str(), &refuse, "pairflow attach given"];
    assert_eq!((&item["kind"], &item["answer"]), (&json!("permission"), &json!(ways)));
    machine.open("asked");
    assert_eq!(told(&bubble, "tried"), "77\n", "{}", bubble.everything());
    assert_eq!(bubble.questions(), 1, "work beside it answers nothing");
    assert!(!machine.beside("told").exists(), "{}", bubble.everything());
    bubble.run("reply", &["--decision", "accept"]).ends(1).says(&accept);
    assert!(!machine.beside("told").exists(), "nothing is allowed without its name: {}", bubble.everything());
    accepts(&bubble, &item).ok();
    assert_eq!(decision(&told(&bubble, "told")), json!({"behavior": "allow"}));
    accepts(&bubble, &item).ends(1);
    assert_eq!(bubble.questions(), 0);
    ends_well(&bubble);
}

#[test]
fn a_command_is_shown_byte_for_byte_wherever_it_is_asked_about() {
    let machine = toys(&PLAY.replace("rm -rf build", r"rm -rf  build\n\t`x` \u202e"), "");
    let bubble = machine.start("exact");
    let shown = "Bash rm -rf␣␣build⏎⇥`x` <U+202E> (␣ blank, ⇥ tab, ⏎ line break) (outside its sandbox).";
    let item = asked(&bubble, &format!("codex asks for a permission: {shown}"));
    let html = bubble.run("export", &["--html", "--out", "-"]).ok().stdout;
    assert!(html.contains(&shown.replace('<', "&lt;").replace('>', "&gt;")), "{html}");
    for verb in ["inbox", "log"] {
        assert!(bubble.run(verb, &[]).ok().stdout.contains(shown), "{verb}");
    }
    assert!(bubble.status()["questions"][0]["question"].as_str().unwrap().contains(shown));
    let status = bubble.run("status", &[]).ok().stdout;
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.contains("Bash rm -rf␣␣build⏎⇥`x` <U+202E>"), "{status}");
    accepts(&bubble, &item).ok();
    assert_eq!(decision(&told(&bubble, "told")), json!({"behavior": "allow"}));
    ends_well(&bubble);
}

#[test]
fn a_permission_is_refused_with_the_persons_words() {
    let machine = machine("");
    let bubble = machine.start("refused");
    asked(&bubble, "codex asks for a permission");
    bubble.run("reply", &["--message", "nein: \"größer\" ist $HOME"]).ok();
    let refused = json!({"behavior": "deny", "message": "nein: \"größer\" ist $HOME"});
    assert_eq!(decision(&told(&bubble, "told")), refused);
    ends_well(&bubble);
}

#[test]
fn a_permission_is_answered_with_a_key_of_next() {
    let machine = machine("after() { gate more; asks 'make clean' other; }");
    let bubble = machine.start("keys");
    let next = |keys: &[(&str, &str)]| {
        let (code, shown) = on_terminal(machine.home.command(&["next"]), keys);
        assert_eq!(code, 0, "{shown}");
        shown
    };
    asked(&bubble, "Bash rm -rf build (outside its sandbox).");
    let shown = next(&[("[a=allow it once  r=refuse it with a message", "a")]);
    assert!(shown.contains("codex asks for a permission: Bash rm -rf build (outside its sandbox)."), "{shown}");
    assert_eq!(decision(&told(&bubble, "told")), json!({"behavior": "allow"}));
    machine.open("more");
    asked(&bubble, "Bash make clean (outside its sandbox).");
    next(&[("[a=allow it once", "r"), ("Your text:", "not now\n")]);
    assert_eq!(decision(&told(&bubble, "other")), json!({"behavior": "deny", "message": "not now"}));
    ends_well(&bubble);
}

#[test]
fn requests_at_the_same_time_are_asked_about_one_after_the_other() {
    let machine = machine("beside() { gate second; asks 'make clean' other; }");
    let bubble = machine.start("both");
    asked(&bubble, "Bash rm -rf build (outside its sandbox).");
    machine.open("second");
    let hooks = || bubble.processes().iter().filter(|line| line.contains(": pairflow hook PermissionRequest")).count();
    eventually_or("both hooks", || bubble.everything(), || (hooks() == 2).then_some(()));
    bubble.run("reply", &["--message", "not yet"]).ok();
    let other = asked(&bubble, "Bash make clean (outside its sandbox).");
    assert_eq!(decision(&told(&bubble, "told"))["behavior"], "deny");
    assert!(!machine.beside("other").exists(), "{}", bubble.everything());
    accepts(&bubble, &other).ok();
    assert_eq!(decision(&told(&bubble, "other"))["behavior"], "allow");
    ends_well(&bubble);
}

#[test]
fn whoever_attaches_is_asked_in_the_pane() {
    let machine = machine("after() { gate again; asks 'make clean' other; }");
    let bubble = machine.start("attached");
    asked(&bubble, "codex asks for a permission: Bash");
    let line = bubble.run("attach", &["--print"]).ok().stdout;
    let words: Vec<_> = line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
    let env = [("TERM", "xterm-256color"), ("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let person = Panes::new(machine.home.root());
    let terminal = person.open(machine.home.root(), &env, &words);
    assert_eq!(told(&bubble, "told"), "", "the program does what it does without a hook");
    let item = asked(
        &bubble,
        "codex asks for a permission in its pane: Bash rm -rf build (outside its sandbox). Answer it there",
    );
    assert_eq!(bubble.questions(), 1);
    accepts(&bubble, &item).ends(1);
    machine.open("again");
    assert_eq!(told(&bubble, "other"), "", "as long as somebody looks, nothing waits");
    person.close(&terminal);
    ends_well(&bubble);
}

#[test]
fn a_hook_that_waits_when_the_supervisor_dies_is_asked_about_in_the_pane() {
    let machine = machine("");
    let bubble = machine.start("killed");
    let item = asked(&bubble, "codex asks for a permission: Bash rm -rf build (outside its sandbox).");
    let pid = machine.home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(told(&bubble, "told"), "", "nothing is allowed");
    assert_eq!(bubble.questions(), 1, "the question stays");
    // It is answered before the next supervisor looks. Nobody waits for that any more, and the person is told so.
    accepts(&bubble, &item).ok();
    asked(&bubble, "codex asks for a permission in its pane: Bash rm -rf build (outside its sandbox). Answer it there");
    ends_well(&bubble);
}

#[test]
fn a_permission_that_only_the_log_knows_of_is_asked_about_in_the_pane() {
    let machine = machine("");
    let bubble = machine.start("unwritten");
    let item = asked(&bubble, "codex asks for a permission: Bash rm -rf build (outside its sandbox).");
    let pid = machine.home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(told(&bubble, "told"), "", "nothing is allowed");
    // It was killed before it could write down what it had asked.
    std::fs::remove_file(bubble.repo.join(".pairflow/runtime/unwritten/stage.json")).unwrap();
    machine.home.pairflow(&["supervise"]).ok();
    asked(&bubble, "codex asks for a permission in its pane: Bash rm -rf build (outside its sandbox). Answer it there");
    assert_eq!(bubble.questions(), 1, "{}", bubble.everything());
    accepts(&bubble, &item).ends(1);
    ends_well(&bubble);
}
