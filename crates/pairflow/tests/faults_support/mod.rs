//! What the tests of faults stand on: a look into a bubble's files, and the program in a world with a bad disk.

#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

pub(crate) mod child;
pub(crate) mod disk;
mod world;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_testkit::home::{Agent, Home};
use serde_json::Value;

pub(crate) use world::{Surroundings, run_in_world};

/// Returns the path of a file of a bubble.
pub(crate) fn file(home: &Home, id: &str, name: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(id).join(name)
}

/// Returns the lines of a bubble's log, as they stand on the disk.
#[track_caller]
pub(crate) fn lines(home: &Home, id: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file(home, id, "transcript.ndjson")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the lines of one type.
#[track_caller]
pub(crate) fn lines_of(home: &Home, id: &str, kind: &str) -> Vec<Value> {
    lines(home, id).into_iter().filter(|line| line["type"] == kind).collect()
}

/// Returns the bytes of a bubble's log.
#[track_caller]
pub(crate) fn bytes(home: &Home, id: &str) -> Vec<u8> {
    std::fs::read(file(home, id, "transcript.ndjson")).unwrap()
}

/// Writes into a bubble's log as no command ever does: in place, so that it stays the same file.
#[track_caller]
pub(crate) fn overwrite(home: &Home, id: &str, bytes: &[u8]) {
    std::fs::write(file(home, id, "transcript.ndjson"), bytes).unwrap();
}

/// Waits until `done` says yes, looking seldom enough not to be in the way of the work that it waits for.
#[track_caller]
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !done() {
        assert!(Instant::now() < end, "{what} never came true");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the state that `state.json` shows; nothing while there is none.
pub(crate) fn state(home: &Home, id: &str) -> Option<String> {
    let text = std::fs::read(file(home, id, "state.json")).ok()?;
    let state: Value = serde_json::from_slice(&text).ok()?;
    Some(state["state"].as_str()?.to_owned())
}

/// Stops the supervisor, so that nothing but the test touches the bubbles.
#[track_caller]
pub(crate) fn alone(home: &Home) {
    home.pairflow(&["supervisor", "stop"]).ok();
}

/// The command line of a first hand-over.
pub(crate) const PASS: [&str; 3] = ["pass", "--summary", "first cut"];

/// Hands over once, and insists that it is the only hand-over and that the bubble went on with it.
#[track_caller]
pub(crate) fn passes_once(home: &Home, agent: &Agent<'_>, id: &str) {
    agent.pairflow(&PASS).ok();
    assert_eq!(lines_of(home, id, "PASS").len(), 1, "a retry is no second record");
    assert_eq!(home.status(id)["active_agent"], "claude");
    home.pairflow(&["verify", id]).ok();
}
