//! The tmux driver with toy agents: what their screens show keeps pairflow from typing, and only as long as it is there.

use pairflow_testkit::toys::{Machine, PLAY_FINDING, ToyBubble};
use pairflow_testkit::wait::eventually_or;

use crate::support::bubbles::toys;

/// The words of the dialog in which Codex asks for a permission.
const DIALOG: &str = r#"
dialog() { printf '\nWould you like to run it?\n 1. Yes\n 2. No\nPress enter to confirm or esc to cancel\n' >/dev/tty; }
wiped() { printf '\033[H\033[2J' >/dev/tty; ready; }
# The same dialog about a long command, and one that nobody has heard of.
long() {
  (printf '\nWould you like to run it?\n'; seq 26; printf '› 1. Yes\n  2. No\nPress enter to confirm or esc to cancel\n') >/dev/tty
}
strange() { printf '\nSomething new?\n› 1. Yes\n  2. No\nenter selects\n' >/dev/tty; }
# Writes down every key until the test has made the file `$1`.
keys() {
  local key
  : >"$here/typed"
  until [ -e "$here/$1" ]; do
    if IFS= builtin read -r -N 1 -t 0.2 key </dev/tty; then printf '<%s>' "$key" >>"$here/typed"; fi
  done
}
request() {
  echo '{"tool_name":"Bash","tool_input":{"command":"rm -rf build"}}' | timeout 6 pairflow hook PermissionRequest
}
"#;

/// An implementer that does `first`, which leaves the file `escaped`, and says nothing of the end of that turn; told
/// again, it works.
fn escaping(first: &str) -> String {
    let play = r#"
eval "said_$(declare -f hook)"
hook() { if [ "$1" != Stop ] || [ ! -e "$here/escaped" ]; then said_hook "$@"; fi; }
act() {
  if [ "$seat" != implementer ]; then explain | pairflow pass --summary 'read it' --no-findings --explain -; return; fi
  if [ ! -e "$here/escaped" ]; then FIRST; return; fi
  rm "$here/escaped"
  echo one >work.txt
  pairflow pass --summary 'worked on it'
}
"#;
    play.replace("FIRST", first)
}

fn machine(play: &str) -> Machine {
    toys(&format!("{DIALOG}\n{play}"), "")
}

/// Waits until what waits for a person says `part`.
#[track_caller]
fn asked(bubble: &ToyBubble<'_>, part: &str) {
    let said = || {
        let items = bubble.run("inbox", &["--json"]).ok().json();
        let said = |item: &serde_json::Value| item["question"].as_str().unwrap().contains(part);
        items["items"].as_array()?.iter().any(said).then_some(())
    };
    eventually_or(part, || bubble.everything(), said);
}

/// Returns the keys that a toy was given while it let a person choose.
fn typed(machine: &Machine) -> String {
    std::fs::read_to_string(machine.beside("typed")).unwrap_or_default()
}

fn kill_supervisor(machine: &Machine) {
    let pid = machine.home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    let alive = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    eventually_or("the end of the supervisor", String::new, || (!alive()).then_some(()));
}

#[test]
fn after_a_no_in_the_pane_the_agent_is_told_again_and_not_before() {
    // Esc in a dialog is no event: the hook of the request is killed, and nothing says that the turn is over.
    let machine = machine(&escaping("dialog; request; gate esc; wiped; touch \"$here/escaped\""));
    let bubble = machine.start("escaped");
    asked(&bubble, "codex asks for a permission in its pane: Bash rm -rf build");
    bubble.run("resume", &[]).ok();
    // The person is asked again: the dialog is still there.
    asked(&bubble, "codex shows a dialog in its pane: permission");
    assert_eq!(bubble.notes("codex").len(), 1, "{}", bubble.everything());
    machine.open("esc");
    eventually_or("the end of the dialog", || bubble.everything(), || machine.beside("escaped").exists().then_some(()));
    let again = bubble.wait_for_note("codex", 1);
    assert_eq!((again.round, again.seat.as_str(), again.how.as_str()), (Some(1), "implementer", "paste"));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_permission_whose_dialog_nobody_knows_keeps_the_notice_back_until_a_prompt_waits() {
    let machine = machine(&escaping("strange; request; keys esc; wiped; touch \"$here/escaped\""));
    let bubble = machine.start("unseen");
    asked(&bubble, "codex asks for a permission in its pane");
    eventually_or("the dialog", || bubble.everything(), || machine.beside("typed").exists().then_some(()));
    bubble.run("resume", &[]).ok();
    bubble.stays("nothing answers the dialog", || typed(&machine).is_empty());
    machine.open("esc");
    assert_eq!(bubble.wait_for_note("codex", 1).round, Some(1));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    assert_eq!(typed(&machine), "");
    bubble.stop();
}

#[test]
fn a_permission_whose_dialog_was_left_before_anybody_looked_keeps_the_notice_back_for_a_moment_only() {
    let machine = machine(&escaping("touch \"$here/escaped\"; request"));
    let bubble = machine.start("left");
    asked(&bubble, "codex asks for a permission in its pane");
    bubble.run("resume", &[]).ok();
    assert_eq!(bubble.wait_for_note("codex", 1).round, Some(1));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_dialog_about_a_long_command_is_asked_about_after_every_resume_and_never_answered() {
    let machine = machine(&escaping("long; request; keys esc; wiped; touch \"$here/escaped\""));
    let bubble = machine.start("long");
    asked(&bubble, "codex asks for a permission in its pane: Bash rm -rf build");
    eventually_or("the dialog", || bubble.everything(), || machine.beside("typed").exists().then_some(()));
    for _ in 0..2 {
        bubble.run("resume", &[]).ok();
        asked(&bubble, "codex shows a dialog in its pane: permission");
    }
    bubble.stays("nothing answers the dialog", || typed(&machine).is_empty());
    let log = bubble.run("log", &[]).ok().stdout;
    assert_eq!(log.matches("shows a dialog").count(), 2, "once for each resume: {log}");
    machine.open("esc");
    eventually_or("the end of the dialog", || bubble.everything(), || machine.beside("escaped").exists().then_some(()));
    assert_eq!(bubble.wait_for_note("codex", 1).round, Some(1));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

/// Codex opens a dialog that nobody has heard of when its first turn is over, and closes it when the file `over` is made.
const STRANGE: &str = r#"
read() {
  if [ "$agent" = codex ] && [ ! -e "$here/over" ]; then strange; keys over; wiped; fi
  builtin read "$@"
}
"#;

#[test]
fn an_unknown_dialog_gets_no_key_and_the_notice_comes_when_a_prompt_waits() {
    let machine = machine(&format!("{PLAY_FINDING}{STRANGE}"));
    let bubble = machine.start("strange");
    bubble.wait("the next turn", |status| status["round"] == 2 && status["turn_state"] == "open");
    bubble.stays("nothing answers the dialog", || typed(&machine).is_empty());
    machine.open("over");
    assert_eq!(bubble.wait_for_note("codex", 1).round, Some(2));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let log = bubble.run("log", &[]).ok().stdout;
    assert!(!log.contains("shows a dialog") && typed(&machine).is_empty(), "{log}");
    bubble.stop();
}

#[test]
fn about_an_unknown_dialog_that_stays_a_person_is_asked_once() {
    let mut machine = machine(&format!("{PLAY_FINDING}{STRANGE}"));
    machine.limit("unknown_screen=3000");
    let bubble = machine.start("stays");
    bubble.wait("the next turn", |status| status["round"] == 2 && status["turn_state"] == "open");
    asked(&bubble, "codex shows a dialog in its pane: something that pairflow does not know");
    assert_eq!(typed(&machine), "");
    machine.open("over");
    assert_eq!(bubble.wait_for_note("codex", 1).round, Some(2));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let log = bubble.run("log", &[]).ok().stdout;
    assert_eq!(log.matches("something that pairflow does not know").count(), 1, "{log}");
    bubble.stop();
}

#[test]
fn work_beside_a_dialog_does_not_answer_it() {
    let play = r#"
act() {
  if [ "$seat" != implementer ]; then explain | pairflow pass --summary 'read it' --no-findings --explain -; return; fi
  dialog
  hook PermissionRequest ',"tool_name":"Write","tool_input":{"file_path":"work.txt","content":"one"}'
  for name in PreToolUse PostToolUse; do hook $name ',"tool_name":"Read","tool_input":{"file_path":"README.md"}'; done
  touch "$here/beside"
  gate answered
  wiped
  echo one >work.txt
  hook PostToolUse ',"tool_name":"Write","tool_input":{"file_path":"work.txt","content":"one"}'
  gate go
  pairflow pass --summary 'worked on it'
}
"#;
    let machine = machine(play);
    let bubble = machine.start("beside");
    eventually_or("the work beside", || bubble.everything(), || machine.beside("beside").exists().then_some(()));
    asked(&bubble, "codex asks for a permission in its pane: Write work.txt");
    machine.open("answered");
    bubble.wait("the end of the question", |status| status["state"] == "RUNNING");
    machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let log = bubble.run("log", &[]).ok().stdout;
    assert_eq!(log.matches("asks for a permission").count(), 1, "{log}");
    bubble.stop();
}

#[test]
fn a_program_that_says_that_it_is_idle_is_ready_also_after_a_permission() {
    let play = r#"
act() {
  [ "$seat" = implementer ] || return
  request
  gate idle
  hook Notification ',"notification_type":"idle_prompt"'
  gate never
}
"#;
    let machine = machine(play);
    let bubble = machine.start("idle");
    asked(&bubble, "codex asks for a permission in its pane");
    let is = |status: &str| {
        let session = bubble.session().unwrap();
        let agents = session["agents"].as_array().unwrap();
        agents.iter().any(|one| one["agent"] == "codex" && one["status"] == status).then_some(())
    };
    eventually_or("the permission", || bubble.everything(), || is("permission"));
    machine.open("idle");
    eventually_or("a program that is ready", || bubble.everything(), || is("ready"));
    bubble.stop();
}

#[test]
fn enter_is_not_pressed_into_a_dialog_that_opens_after_the_paste() {
    // The second prompt of the implementer is read as it comes: with its first letter the dialog opens.
    let slow = r#"
read() {
  if [ "$agent" != codex ] || [ -e "$here/over" ]; then builtin read "$@"; return; fi
  local typed more rest
  IFS= builtin read -r -N 1 typed
  dialog
  until [ -e "$here/over" ]; do
    more=; IFS= builtin read -r -N 4096 -t 0.3 more
    typed+=$more; printf '%s' "$typed" >"$here/typed"
  done
  wiped
  printf '%s' "$typed" >/dev/tty
  touch "$here/closed"
  IFS= builtin read -r rest
  line=$typed$rest
}
"#;
    let machine = machine(&format!("{PLAY_FINDING}{slow}"));
    let bubble = machine.start("opened");
    let whole = || typed(&machine).ends_with("the pairflow command that it names.").then_some(());
    eventually_or("the notice", || bubble.everything(), whole);
    asked(&bubble, "codex shows a dialog in its pane: permission");
    bubble.stays("nothing answers the dialog", || !typed(&machine).contains(['\n', '\r']));
    machine.open("over");
    eventually_or("the end of the dialog", || bubble.everything(), || machine.beside("closed").exists().then_some(()));
    assert_eq!(bubble.wait_for_note("codex", 1).round, Some(2));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn words_that_stand_far_up_on_a_screen_or_have_scrolled_away_stop_nobody() {
    for lines in [30, 55] {
        let told = format!("implementer-1) dialog; echo 'esc to interrupt' >/dev/tty; seq {lines} >/dev/tty; ");
        let machine = machine(&PLAY_FINDING.replace("implementer-1) ", &told));
        let bubble = machine.start("quoted");
        assert_eq!(bubble.wait_for_note("codex", 1).round, Some(2));
        bubble.wait_for_state("READY_FOR_APPROVAL");
        let log = bubble.run("log", &[]).ok().stdout;
        assert!(!log.contains("shows a dialog"), "{log}");
        bubble.stop();
    }
}

#[test]
fn what_fails_again_after_a_resume_is_asked_about_again() {
    let machine = machine(&PLAY_FINDING.replace("implementer-1) ", "implementer-1) gate go; "));
    let bubble = machine.start("broken");
    bubble.wait_for_note("codex", 0);
    bubble.wait_for_note("claude", 0);
    // The review is a new program, and what it is to be started with cannot be written.
    let in_the_way = bubble.repo.join(".pairflow/runtime/broken/claude.launch");
    std::fs::create_dir_all(in_the_way.join("full")).unwrap();
    machine.open("go");
    let asked = || bubble.status()["questions"][0]["id"].as_str().map(str::to_owned);
    let mut before = None;
    for times in 1..=3 {
        let anew = || asked().filter(|id| before.as_ref() != Some(id));
        before = Some(eventually_or("a question that was not there before", || bubble.everything(), anew));
        assert!(bubble.wait_for_question("trouble").contains("claude.launch"));
        if times < 3 {
            bubble.run("resume", &[]).ok();
        }
    }
    std::fs::remove_dir_all(&in_the_way).unwrap();
    bubble.run("resume", &[]).ok();
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn what_a_program_asks_while_nobody_looks_after_it_is_found_by_the_next_supervisor() {
    let play = r#"
act() {
  if [ "$seat" != implementer ]; then explain | pairflow pass --summary 'read it' --no-findings --explain -; return; fi
  gate ask
  dialog
  touch "$here/asks"
  gate go
  wiped
  hook PostToolUse ',"tool_name":"Bash","tool_input":{"command":"rm -rf build"}'
  echo one >work.txt
  pairflow pass --summary 'worked on it'
}
"#;
    let machine = machine(play);
    let bubble = machine.start("unheard");
    bubble.wait_for_note("codex", 0);
    bubble.wait_for_note("claude", 0);
    let busy = |session: &serde_json::Value| session["agents"].to_string().contains("\"busy\"");
    eventually_or("a busy program", || bubble.everything(), || bubble.session().filter(busy));
    kill_supervisor(&machine);
    machine.open("ask");
    eventually_or("the dialog", || bubble.everything(), || machine.beside("asks").exists().then_some(()));
    machine.home.pairflow(&["supervise"]).ok();
    asked(&bubble, "codex shows a dialog in its pane: permission");
    machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_variable_that_is_no_text_harms_nobody() {
    use std::os::unix::ffi::OsStrExt;
    let machine = machine(PLAY_FINDING);
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    let run = |words: &[&str]| machine.home.command(words).env("ODD", odd).output().unwrap();
    let create = ["create", "--id", "odd", "--task", "Write work.txt", "--test", "true", "--yes", "--start"];
    let created = run(&create);
    assert!(created.status.success(), "{created:?}");
    let bubble = ToyBubble { machine: &machine, repo: machine.home.repo.clone(), id: "odd".to_owned() };
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let printed = run(&["attach", "odd", "--print"]);
    assert!(printed.status.success(), "{printed:?}");
    bubble.stop();
}

#[test]
fn a_session_whose_server_is_dead_is_taken_off_the_list() {
    let machine = machine(PLAY_FINDING);
    let bubble = machine.start("alive");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    kill_supervisor(&machine);
    // A server that was killed leaves its socket behind.
    let runtime = bubble.repo.join(".pairflow/runtime");
    let ghost = runtime.join("ghost");
    std::fs::create_dir_all(&ghost).unwrap();
    drop(std::os::unix::net::UnixListener::bind(ghost.join("tmux.sock")).unwrap());
    std::fs::write(ghost.join("seats.json"), "[]").unwrap();
    let list = runtime.join("sessions.json");
    let read = || serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(&list).unwrap()).unwrap();
    let mut sessions = read();
    let mut dead = sessions[0].clone();
    (dead["bubble_id"], dead["socket"]) = ("ghost".into(), ghost.join("tmux.sock").to_str().unwrap().into());
    sessions.as_array_mut().unwrap().push(dead);
    std::fs::write(&list, sessions.to_string()).unwrap();
    machine.home.pairflow(&["supervise"]).ok();
    let names = || read().as_array().unwrap().iter().map(|one| one["bubble_id"].clone()).collect::<Vec<_>>();
    eventually_or("the list without it", || read().to_string(), || (names() == ["alive"]).then_some(()));
    bubble.stop();
}
