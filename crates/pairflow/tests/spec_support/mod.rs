//! What the tests of the specification share: one eventful life of a bubble, and its log read as plain JSON.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_testkit::home::{Agent, Home};
use serde_json::Value;

/// The task of every bubble here.
pub(crate) const TASK: &str = "Write done.txt\n\n## Acceptance criteria\n- done.txt says done\n";

/// Makes a home for the real binary.
pub(crate) fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_pairflow"))
}

/// Makes a bubble that waits to be started, with `more` arguments of `create`.
#[track_caller]
pub(crate) fn created(home: &Home, id: &str, more: &[&str]) {
    let line = ["create", "--id", id, "--task", TASK, "--test", "grep -c . done.txt"];
    home.pairflow(&[&line, more].concat()).ok();
}

/// Starts a bubble and lets both agents join.
#[track_caller]
pub(crate) fn joined<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    home.pairflow(&["start", id]).ok();
    home.wait_for_turn(id, "codex");
    (home.agent(id, "codex"), home.agent(id, "claude"))
}

/// Makes a bubble in which codex has the first turn.
#[track_caller]
pub(crate) fn running<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    created(home, id, &[]);
    joined(home, id)
}

/// Leads a created bubble to the package: a question, a finding, a fix, two clean reviews.
#[track_caller]
pub(crate) fn to_package<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    let (codex, claude) = joined(home, id);
    codex.write("done.txt", "dome\n");
    codex.write("notes/plan.md", "one\ntwo\n");
    codex.pairflow(&["ask-human", "--question", "May I?"]).ok();
    home.pairflow(&["reply", id, "--message", "You may."]).ok();
    home.wait_for_turn(id, "codex");
    codex.pairflow(&["pass", "--summary", "first cut", "--ref", "notes/plan.md", "--ref", "done.txt"]).ok();
    home.wait_for_turn(id, "claude");
    claude.pairflow(&["pass", "--summary", "a typo", "--finding", "P1:it says dome", "--finding", "P3:terse"]).ok();
    home.wait_for_turn(id, "codex");
    codex.write("done.txt", "done\n");
    std::fs::remove_file(codex.worktree.join("notes/plan.md")).unwrap();
    codex.pairflow(&["pass", "--summary", "mended"]).ok();
    home.wait_for_turn(id, "claude");
    claude.pairflow(&["pass", "--summary", "clean now", "--no-findings"]).ok();
    home.wait_for_turn(id, "codex");
    codex.converged("nothing left").ok();
    home.wait_for_state(id, "READY_FOR_APPROVAL");
    (codex, claude)
}

/// Leads a created bubble to its commit.
#[track_caller]
pub(crate) fn to_done<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    let agents = to_package(home, id);
    home.pairflow(&["approve", id]).ok();
    home.pairflow(&["commit", id]).ok();
    home.wait_for_state(id, "DONE");
    agents
}

/// Returns the directory of a bubble's files.
pub(crate) fn dir(home: &Home, id: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(id)
}

/// Returns the bytes of a bubble's log.
#[track_caller]
pub(crate) fn transcript(home: &Home, id: &str) -> Vec<u8> {
    std::fs::read(dir(home, id).join("transcript.ndjson")).unwrap()
}

/// Returns a bubble's log, one value a line.
#[track_caller]
pub(crate) fn lines(home: &Home, id: &str) -> Vec<Value> {
    let text = String::from_utf8(transcript(home, id)).unwrap();
    // A line that is being appended right now is not there yet.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the messages of one type.
#[track_caller]
pub(crate) fn of_type(home: &Home, id: &str, wanted: &str) -> Vec<Value> {
    lines(home, id).into_iter().filter(|line| line["type"] == wanted).collect()
}

/// Waits until `done` says yes.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "{what} never happened");
        std::thread::yield_now();
    }
}
