//! The tmux driver with toy agents: what a program takes no prompt for with its start is typed once, by one supervisor or the
//! next; and what a person has begun to type is theirs, so that a notice waits for it.

use pairflow_testkit::home::TEST_LIMITS;
use pairflow_testkit::toys::{LOOK, Machine, PLAY_FINDING, ToyBubble};
use pairflow_testkit::wait::eventually_or;

use crate::support::bubbles::toys;

/// `plain` finds no prompt among its arguments; the implementer's first turn waits for a file.
const PLAY: &str = r#"
if [ "$agent" = plain ]; then set --; echo $$ >>"$here/plain.pids"; fi
act() {
  if [ "$seat" = implementer ]; then gate "implementer-$round"; echo "$round" >work.txt; pairflow pass --summary 'done';
  else explain | pairflow pass --summary 'read it' --no-findings --explain -; fi
}
"#;
/// `plain` says that it is there once the file `there` is.
const SLOW: &str = r#"begun() { [ "$agent" = plain ] && gate there; hook SessionStart; }"#;
/// `plain` has no hooks.
const MUTE: &str = r#"if [ "$agent" = plain ]; then hook() { :; }; fi"#;

/// A machine with the agent `plain`, which has everything typed; `hooks` are those that it understands.
fn machine(play: &str, hooks: &str, config: &str) -> Machine {
    let machine = toys(&format!("{PLAY}\n{play}"), config);
    let file = machine.home.root().join("config/pairflow/config.toml");
    let toy = machine.beside("toy").display().to_string();
    let plain = format!("[agent.plain]\ncommand = [\"{toy}\"]\nprompt = \"paste\"\nhooks = \"{hooks}\"\n");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + &plain).unwrap();
    machine
}

/// Starts the bubble `id` with these two agents.
#[track_caller]
fn start<'a>(machine: &'a Machine, id: &str, pair: &str) -> ToyBubble<'a> {
    let words = ["--task", "Write work.txt", "--pair", pair, "--test", "true", "--yes", "--start"];
    machine.home.pairflow(&[&["create", "--id", id][..], &words].concat()).ok();
    ToyBubble { machine, repo: machine.home.repo.clone(), id: id.to_owned() }
}

/// Ends the supervisor without a warning.
fn kill_supervisor(machine: &Machine) {
    let said = machine.home.pairflow(&["supervise"]).ok().stdout;
    let pid = said.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success(), "{said}");
    let alive = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    eventually_or("the end of the supervisor", String::new, || (!alive()).then_some(()));
}

/// Starts a supervisor that looks at panes as often as usual here.
fn supervise_again(machine: &Machine) {
    let mut command = machine.home.command(&["supervise"]);
    command.env(TEST_LIMITS, format!("screen_look={}", LOOK.as_millis()));
    machine.home.finish(command).ok();
}

/// Returns the lines that were typed into the program of `agent`.
fn lines(bubble: &ToyBubble<'_>, agent: &str) -> Vec<String> {
    String::from_utf8(bubble.given(agent)).unwrap().lines().map(str::to_owned).collect()
}

fn log(bubble: &ToyBubble<'_>) -> String {
    let log = bubble.repo.join(format!(".pairflow/bubbles/{}/transcript.ndjson", bubble.id));
    std::fs::read_to_string(log).unwrap_or_default()
}

/// Whether the log says that `agent` has a program.
fn has_program(bubble: &ToyBubble<'_>, agent: &str) -> Option<()> {
    let log = log(bubble);
    let mine = |line: &&str| line.contains("agent_session") && line.contains(&format!("\"{agent}\""));
    log.lines().find(mine).map(drop)
}

#[test]
fn the_briefing_of_a_program_that_takes_none_with_its_start_is_typed_once() {
    for hooks in ["none", "claude"] {
        let machine =
            machine(if hooks == "claude" { "" } else { MUTE }, hooks, "reviewer_context_mode = \"persistent\"");
        let bubble = start(&machine, "briefed", "codex,plain");
        let briefing = bubble.wait_for_note("plain", 0);
        assert_eq!((briefing.number, briefing.seat.as_str()), (Some(0), "-"), "{}", bubble.everything());
        machine.open("implementer-1");
        bubble.wait_for_state("READY_FOR_APPROVAL");
        let notes = bubble.notes("plain");
        assert!(notes.iter().all(|note| note.pid == briefing.pid), "{notes:?}");
        let lines = lines(&bubble, "plain");
        let starts = ["[pairflow 0] You take part in bubble briefed.", "[pairflow 2] Round 1: you are the reviewer of"];
        assert_eq!(lines.len(), 2, "each in a line of its own: {lines:?}");
        assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:?}");
        bubble.stop();
    }
}

#[test]
fn a_turn_that_comes_before_the_briefing_takes_its_place() {
    // The program says that it is there only after the turn has come to it.
    let machine = machine(SLOW, "claude", "reviewer_context_mode = \"persistent\"");
    machine.open("implementer-1");
    let bubble = start(&machine, "overtaken", "codex,plain");
    bubble.wait("the review", |status| status["active_agent"] == "plain" && status["turn_state"] == "open");
    machine.open("there");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let lines = lines(&bubble, "plain");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("[pairflow 2] Round 1: you are the reviewer"), "{lines:?}");
    bubble.stop();
}

#[test]
fn a_notice_that_a_killed_supervisor_had_not_typed_is_typed_once_by_the_next() {
    for hooks in ["none", "claude"] {
        let mut machine = machine(if hooks == "claude" { SLOW } else { MUTE }, hooks, "");
        // The first supervisor would type into it after its first look, which never comes.
        machine.limit("screen_look=3600000");
        let bubble = start(&machine, "untyped", "plain,claude");
        eventually_or("the program", || bubble.everything(), || has_program(&bubble, "plain"));
        kill_supervisor(&machine);
        supervise_again(&machine);
        machine.open("there");
        let first = bubble.wait_for_note("plain", 0);
        assert_eq!(first.number, Some(1), "{}", bubble.everything());
        let pids = std::fs::read_to_string(machine.beside("plain.pids")).unwrap();
        assert_eq!(pids.trim(), first.pid.to_string(), "it is the program that the first supervisor started");
        // The third one has nothing to type any more.
        kill_supervisor(&machine);
        supervise_again(&machine);
        machine.open("implementer-1");
        bubble.wait_for_state("READY_FOR_APPROVAL");
        let lines = lines(&bubble, "plain");
        let ours = lines.iter().filter(|line| line.starts_with("[pairflow 1]")).count();
        assert_eq!(ours, 1, "{lines:?}");
        let log = log(&bubble);
        let again = log.lines().filter(|line| line.contains("\"notice\":1,") && line.contains("\"attempt\":2")).count();
        assert_eq!(again, 0, "it was sent once: {log}");
        bubble.stop();
    }
}

#[test]
fn a_briefing_that_a_killed_supervisor_had_not_typed_is_typed_once_by_the_next() {
    let machine = machine(SLOW, "claude", "");
    let bubble = start(&machine, "unbriefed", "codex,plain");
    eventually_or("the program", || bubble.everything(), || has_program(&bubble, "plain"));
    kill_supervisor(&machine);
    machine.home.pairflow(&["supervise"]).ok();
    machine.open("there");
    assert_eq!(bubble.wait_for_note("plain", 0).number, Some(0), "{}", bubble.everything());
    machine.open("implementer-1");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let lines = lines(&bubble, "plain");
    assert_eq!(lines.iter().filter(|line| line.starts_with("[pairflow 0]")).count(), 1, "{lines:?}");
    bubble.stop();
}

/// The reviewer waits for the file `review`; a person may talk to the implementer meanwhile.
fn late_review() -> Machine {
    toys(&PLAY_FINDING.replace("reviewer-1) ", "reviewer-1) gate review; "), "")
}

fn screen(bubble: &ToyBubble<'_>, agent: &str) -> String {
    bubble.tmux(&["capture-pane", "-p", "-t", &bubble.pane(agent)]).unwrap_or_default()
}

/// Has a person type `text` into the pane of the implementer after its turn, and the next turn come to it then.
#[track_caller]
fn comes_while_typing(bubble: &ToyBubble<'_>, text: &str) {
    bubble.wait("the review", |status| status["active_agent"] == "claude" && status["turn_state"] == "open");
    let ready = |session: &serde_json::Value| {
        let agents = session["agents"].as_array().unwrap();
        agents.iter().any(|one| one["agent"] == "codex" && one["status"] == "ready")
    };
    eventually_or("the end of its turn", || bubble.everything(), || bubble.session().filter(ready));
    let waits = || screen(bubble, "codex").trim_end().ends_with('›').then_some(());
    eventually_or("its prompt", || bubble.everything(), waits);
    bubble.tmux(&["send-keys", "-l", "-t", &bubble.pane("codex"), text]).unwrap();
    let shown = || screen(bubble, "codex").trim_end().ends_with(&format!("› {}", text.trim_end())).then_some(());
    eventually_or("what was typed", || bubble.everything(), shown);
    bubble.machine.open("review");
    let held = |status: &serde_json::Value| status["held_notice"]["agent"] == "codex";
    let status = bubble.wait("a notice that is held", held);
    let notice = status["held_notice"]["notice"].as_u64().unwrap();
    let sentence = format!("codex has text in its input line; notice {notice} is held until it is empty or sent");
    let told = bubble.run("status", &[]).ok().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&sentence), "{told}");
    let view = bubble.run("view", &["--once", "--width", "200", "--height", "50"]).ok().stdout;
    assert!(view.contains(&sentence), "{view}");
    bubble.stays("nothing is typed behind it", || shown().is_some() && lines(bubble, "codex").len() == 1);
}

#[test]
fn a_notice_waits_until_what_a_person_has_typed_is_gone() {
    for text in ["/clear ", "/mo"] {
        let machine = late_review();
        let bubble = machine.start("half");
        comes_while_typing(&bubble, text);
        bubble.tmux(&["send-keys", "-t", &bubble.pane("codex"), "C-u"]).unwrap();
        assert_eq!(bubble.wait_for_note("codex", 1).round, Some(2));
        bubble.wait_for_state("READY_FOR_APPROVAL");
        let lines = lines(&bubble, "codex");
        assert!(lines[1].starts_with("[pairflow ") && bubble.questions() == 1, "{lines:?}");
        assert_eq!(bubble.status()["held_notice"], serde_json::Value::Null);
        bubble.stop();
    }
}

#[test]
fn a_notice_comes_after_what_a_person_sends() {
    let machine = late_review();
    let bubble = machine.start("sent");
    comes_while_typing(&bubble, "how far are you");
    bubble.tmux(&["send-keys", "-t", &bubble.pane("codex"), "Enter"]).unwrap();
    bubble.wait_for_note("codex", 2);
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let lines = lines(&bubble, "codex");
    assert_eq!(lines[1], "how far are you");
    assert!(lines[2].starts_with("[pairflow "), "{lines:?}");
    bubble.stop();
}

#[test]
fn what_follows_a_slash_command_is_not_read() {
    // The program takes the notice for the words behind a command of its own.
    let deaf = r#"
eval "plain_$(declare -f taken)"
taken() { if [ "$number" = 1 ]; then plain_taken "/clear $1"; else plain_taken "$1"; fi; }
"#;
    let machine = toys(&format!("{}{deaf}", PLAY_FINDING.replace("implementer-1) ", "implementer-1) gate go; ")), "");
    let bubble = machine.start("args");
    bubble.wait_for_note("codex", 0);
    let unread = || {
        let session = bubble.session().unwrap();
        session["agents"].as_array().unwrap().iter().any(|one| one["agent"] == "codex" && one["notice"] == 1)
    };
    bubble.stays("it does not count as read", unread);
    machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}
