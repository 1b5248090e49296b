//! Who speaks through the socket of a seat: whoever was started by another agent or by a check is turned away, however
//! it calls itself; whoever nobody knows is heard.

#![cfg(target_os = "linux")]

use std::io::Write;
use std::process::{Command, Stdio};

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::PATIENCE;
use serde_json::{Value, json};

use crate::support::bubbles::{home, started};
use crate::support::log::records_of;
use crate::support::seat::{Seat, ended, seat};

/// Runs `command` below a shell that is put on record in `place` before it goes on, and keeps none of the environment
/// but what the agent itself has.
fn below(home: &Home, place: &str, mark: &str, command: &Command) -> Ran {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"read -r go; "$@"; exit $?"#, "sh"]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().unwrap());
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    record(home, place, mark, (child.id(), began(child.id())));
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    ended(child)
}

/// When a process began.
fn began(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap()
}

/// Puts a process on record.
fn record(home: &Home, place: &str, mark: &str, (pid, start): (u32, u64)) {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = json!({
        "kind": "check", "what": "tests: make test", "pid": pid, "start": start, "boot": boot.trim(), "mark": mark,
    });
    let dir = home.repo.join(".pairflow/runtime").join(place);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(format!("{pid}-{start}.json")), text.to_string()).unwrap();
}

fn asks(seat: &Seat<'_>) -> Command {
    seat.command(&["ask-human", "--question", "May I?"])
}

fn warnings(home: &Home, id: &str, party: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = records_of(home, id, "PROTOCOL_WARNING", party).into_iter();
    all.map(|one| (text(&one["payload"]["command"]), text(&one["payload"]["reason"]))).collect()
}

#[test]
fn another_agent_is_turned_away_and_warned() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (seat(&home, "b1", "codex"), seat(&home, "b1", "claude"));
    let refused = below(&home, "b1/panes/claude", "m.1", &asks(&codex)).ends(1);
    let refused = refused.says("this is the socket of codex, and the caller belongs to claude");
    refused.says(&format!("PAIRFLOW_AGENT=claude PAIRFLOW_SOCKET='{}' pairflow brief", claude.path.display()));
    let told = ("ask-human".to_owned(), "claude has called through the socket of codex of bubble b1".to_owned());
    assert_eq!(warnings(&home, "b1", "claude"), [told]);
    assert_eq!(warnings(&home, "b1", "codex"), []);
    assert_eq!(records_of(&home, "b1", "HUMAN_QUESTION", "codex"), Vec::<Value>::new());
    // Through its own socket nobody is refused anything.
    below(&home, "b1/panes/codex", "m.2", &asks(&codex)).ok();
}

#[test]
fn a_check_and_an_agent_of_another_bubble_are_turned_away() {
    let home = home();
    started(&home, "b1");
    started(&home, "b2");
    let codex = seat(&home, "b1", "codex");
    below(&home, "b1/processes", "m.1", &asks(&codex)).ends(1).says("the caller belongs to `tests: make test`");
    assert_eq!(warnings(&home, "b1", "orchestrator").len(), 1);
    let refused = below(&home, "b2/panes/codex", "m.2", &asks(&codex)).ends(1);
    refused.says("this is the socket of codex of bubble b1, and the caller belongs to codex of bubble b2");
    assert_eq!(warnings(&home, "b2", "codex").len(), 1);
    assert_eq!(records_of(&home, "b1", "HUMAN_QUESTION", "codex"), Vec::<Value>::new());
}

#[test]
fn a_mark_tells_who_called_where_no_parent_does_and_convinces_nobody_where_one_does() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let marked = |mark: &str| {
        let mut command = asks(&codex);
        command.env("PF_PROCESS_MARK", mark);
        command
    };
    // Programs that have ended, of which others are left.
    let ended = (i32::MAX.unsigned_abs(), 1);
    record(&home, "b1/panes/claude", "m.claude", ended);
    record(&home, "b1/panes/codex", "m.codex", ended);
    home.finish(marked("m.claude")).ends(1).says("belongs to claude");
    below(&home, "b1/panes/claude", "m.2", &marked("m.codex")).ends(1).says("belongs to claude");
    home.finish(marked("m.codex")).ok();
    home.finish(marked("m.nobody")).ok().says("Already asked");
}

#[test]
fn a_hook_of_somebody_else_reports_nothing() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let hook = codex.command(&["hook", "UserPromptSubmit"]);
    let ran = below(&home, "b1/panes/claude", "m.1", &hook).ok();
    assert_eq!(ran.stdout, "");
    assert!(codex.calls.try_recv().is_err());
    assert_eq!(warnings(&home, "b1", "claude").len(), 1, "it does not call again and again");
    let shell = std::thread::scope(|scope| {
        let own = scope.spawn(|| below(&home, "b1/panes/codex", "m.2", &hook));
        let call = codex.calls.recv_timeout(PATIENCE).unwrap();
        assert_eq!(call.agent.as_str(), "codex");
        drop(call);
        own.join().unwrap()
    });
    shell.ok();
}
