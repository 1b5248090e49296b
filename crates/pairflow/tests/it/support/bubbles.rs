//! A home for the program under test, and bubbles at the points where tests begin.

use std::path::PathBuf;

use pairflow_testkit::home::{Agent, Home};
use pairflow_testkit::toys::Machine;

/// The check of most bubbles: the work has to bring `done.txt`, and the base passes without it.
pub(crate) const CHECK: &str = "test -f done.txt || git log -1 --format=%s | grep -qv snapshot";

/// The program under test: the one at `PAIRFLOW_BIN`, such as an older build, or the one that was just built.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("PAIRFLOW_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_pairflow")), PathBuf::from)
}

/// Makes a home for the program under test.
pub(crate) fn home() -> Home {
    Home::new(program())
}

/// Makes a machine with toy agents in panes.
pub(crate) fn toys(play: &str, config: &str) -> Machine {
    Machine::new(program(), play, config)
}

/// Ends the supervisor, so that nothing but the test touches the bubbles.
#[track_caller]
pub(crate) fn quiet(home: &Home) {
    home.pairflow(&["supervisor", "stop"]).ok();
}

/// Makes a bubble that waits to be started.
#[track_caller]
pub(crate) fn created(home: &Home, id: &str) {
    let task = "Write done.txt\n\n## Acceptance criteria\n- done.txt says done\n";
    home.pairflow(&["create", "--id", id, "--task", task, "--test", CHECK]).ok();
}

/// Makes a bubble in which codex has the first turn.
#[track_caller]
pub(crate) fn started(home: &Home, id: &str) {
    created(home, id);
    home.pairflow(&["start", id]).ok();
    home.wait_for_turn(id, "codex");
}

/// Makes a bubble that codex has handed over once, and lets both agents join.
#[track_caller]
pub(crate) fn handed_over<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    handed_over_with(home, id, &[])
}

fn handed_over_with<'a>(home: &'a Home, id: &str, files: &[(&str, &str)]) -> (Agent<'a>, Agent<'a>) {
    started(home, id);
    let (codex, claude) = (home.agent(id, "codex"), home.agent(id, "claude"));
    codex.write("done.txt", "done\n");
    files.iter().for_each(|(path, content)| codex.write(path, content));
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn(id, "claude");
    (codex, claude)
}

/// Makes a bubble that waits for a person's approval.
#[track_caller]
pub(crate) fn ready<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    ready_with(home, id, &[])
}

/// Makes a bubble that waits for a person's approval; the work also brings these files.
#[track_caller]
pub(crate) fn ready_with<'a>(home: &'a Home, id: &str, files: &[(&str, &str)]) -> (Agent<'a>, Agent<'a>) {
    let (codex, claude) = handed_over_with(home, id, files);
    claude.pairflow(&["pass", "--summary", "looks right", "--no-findings"]).ok();
    home.wait_for_turn(id, "codex");
    codex.converged("nothing left").ok();
    home.wait_for_state(id, "READY_FOR_APPROVAL");
    (codex, claude)
}

/// Makes a bubble that is committed.
#[track_caller]
pub(crate) fn done(home: &Home, id: &str) {
    ready(home, id);
    home.pairflow(&["approve", id, "--yes"]).ok();
    home.pairflow(&["commit", id, "--yes"]).ok();
    home.wait_for_state(id, "DONE");
}
