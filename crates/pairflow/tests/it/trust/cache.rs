//! `state.json` and the log: a state that somebody wrote is not believed, and a log that was cut does not go on.

use std::path::PathBuf;

use pairflow_testkit::home::Home;

use super::ownership::crc;
use super::support::log_of;
use crate::support::bubbles::{created, home, quiet, ready};
use crate::support::log::lines;

fn state_of(home: &Home, id: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(id).join("state.json")
}

#[test]
fn a_state_that_somebody_else_wrote_is_not_believed() {
    let home = home();
    created(&home, "b1");
    let state = state_of(&home, "b1");
    let text = std::fs::read_to_string(&state).unwrap();
    assert!(text.contains("done.txt says done"), "{text}");
    let (body, _) = text.rsplit_once(",\"crc\"").unwrap();
    let body = body.replace("done.txt says done", "done.txt says DONE");
    let forged = format!("{body},\"crc\":\"{:08x}\"}}\n", crc(body.as_bytes()));
    std::fs::write(&state, &forged).unwrap();
    home.pairflow(&["verify", "b1"]).ends(5).says("it was not written by your pairflow");
    let criteria = home.status("b1")["acceptance_criteria"].to_string();
    assert!(criteria.contains("says done"), "the forged state is believed: {criteria}");
    home.pairflow(&["start", "b1"]).ok();
    home.pairflow(&["verify", "b1"]).ok();
}

/// Cuts the log before the first line that has `mark`, in its place, and leaves the state that remembers more.
fn cut_before(home: &Home, id: &str, mark: &str) {
    let path = log_of(&home.repo, id);
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text.find(mark).unwrap();
    let at = text[..at].rfind('\n').unwrap() + 1;
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(at as u64).unwrap();
}

#[test]
fn a_log_that_was_cut_before_its_workspace_was_ready_runs_nothing_after_its_repair() {
    let home = home();
    let ran = home.root().join("ran");
    let setup = format!("touch {}", ran.display());
    home.pairflow(&["create", "--id", "b1", "--task", "Write done.txt", "--test", "true", "--setup", &setup]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    quiet(&home);
    std::fs::remove_file(&ran).unwrap();
    cut_before(&home, "b1", "workspace_ready");
    home.pairflow(&["status", "b1"]).ends(5);
    home.pairflow(&["doctor", "--repair", "--yes"]).says("the damaged log is in");
    home.pairflow(&["supervise", "--once"]).ok();
    assert!(!ran.exists(), "the command ran again");
    assert_eq!(home.status("b1")["state"], "CREATED");
}

#[test]
fn an_approval_does_not_come_back_with_an_older_log() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["request-rework", "b1", "--message", "not yet"]).ok();
    home.wait_for_state("b1", "RUNNING");
    quiet(&home);
    let decisions: Vec<_> = lines(&home, "b1").into_iter().filter(|line| line["type"] == "APPROVAL_DECISION").collect();
    assert_eq!(decisions.len(), 2, "{decisions:?}");
    cut_before(&home, "b1", decisions[1]["id"].as_str().unwrap());
    home.pairflow(&["commit", "b1", "--yes"]).ends(5);
    home.pairflow(&["doctor", "--repair", "--yes"]).says("paused");
    home.pairflow(&["commit", "b1", "--yes"]).ends(1);
    let status = home.status("b1");
    assert_eq!((status["state"].as_str(), status["paused"].as_bool()), (Some("RUNNING"), Some(true)));
}

#[test]
fn a_state_of_any_size_holds_nothing_up() {
    let home = home();
    created(&home, "b1");
    let state = std::fs::OpenOptions::new().write(true).open(state_of(&home, "b1")).unwrap();
    state.set_len(100 << 30).unwrap();
    home.pairflow(&["verify", "b1"]).ends(5).says("it is larger than any state");
    home.pairflow(&["list"]).ok().says("CREATED");
    home.pairflow(&["start", "b1"]).ok();
    home.pairflow(&["verify", "b1"]).ok();
}
