//! What counts as the tree that was accepted: ignore rules, setup commands, very large changes.

use pairflow_testkit::home::Home;

use crate::support::bubbles::{created, home, started};

/// The newest snapshot in a bubble's log.
fn snapshot(home: &Home, id: &str) -> serde_json::Value {
    let log = std::fs::read_to_string(home.repo.join(format!(".pairflow/bubbles/{id}/transcript.ndjson"))).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let newest = lines.rev().find(|line| line["payload"]["kind"] == "snapshot").unwrap();
    newest["payload"]["snapshot"].clone()
}

fn artifact(home: &Home, id: &str, name: &str) -> String {
    std::fs::read_to_string(home.repo.join(format!(".pairflow/bubbles/{id}/artifacts/{name}"))).unwrap()
}

#[test]
fn a_file_that_the_check_needs_cannot_be_hidden_from_the_tree() {
    let home = home();
    started(&home, "x");
    let codex = home.agent("x", "codex");
    codex.write("done.txt", "done\n");
    std::fs::write(home.repo.join(".git/info/exclude"), ".pairflow/\ndone.txt\n").unwrap();
    codex.pairflow(&["pass", "--summary", "hidden"]).ok();
    home.wait_for_turn("x", "claude");
    let snapshot = snapshot(&home, "x");
    let tree = snapshot["tree"].as_str().unwrap();
    assert_eq!(home.git(&["show", &format!("{tree}:done.txt")]), "done", "what is certified has what the check needs");
    assert!(snapshot["ignore_changes"][0].as_str().unwrap().contains("info/exclude"), "{snapshot}");
    let claude = home.agent("x", "claude");
    assert!(artifact(&home, "x", "brief-claude.md").contains("info/exclude"));
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("x", "codex");
    codex.converged("fine").ok();
    home.wait_for_state("x", "READY_FOR_APPROVAL");
    assert!(artifact(&home, "x", "done-package.md").contains("info/exclude"));
}

#[test]
fn what_the_setup_command_changes_is_not_taken_for_a_persons_work() {
    let home = home();
    home.pairflow(&["create", "--id", "x", "--task", "t", "--test", "true", "--setup", "echo 1 > generated.txt"]).ok();
    home.pairflow(&["start", "x"]).ok();
    home.wait_for_turn("x", "codex");
    assert_eq!(snapshot(&home, "x")["author"], "orchestrator");
    let brief = artifact(&home, "x", "brief-codex.md");
    assert!(!brief.contains("BY A PERSON") && brief.contains("changed by pairflow"), "{brief}");
}

#[test]
fn a_change_of_thousands_of_files_goes_the_whole_way() {
    let home = home();
    home.pairflow(&["create", "--id", "x", "--task", "many files", "--test", "test -d d0"]).ok();
    home.pairflow(&["start", "x"]).ok();
    home.base_fails("x", "codex");
    let (codex, claude) = (home.agent("x", "codex"), home.agent("x", "claude"));
    for n in 0..6500 {
        codex.write(format!("d{}/a-file-with-a-rather-long-name-so-that-lines-grow-{n:05}.txt", n % 10), "one\n");
    }
    codex.pairflow(&["pass", "--summary", "many"]).ok();
    home.wait_for_turn("x", "claude");
    let status = home.status("x");
    assert_eq!((&status["snapshot"]["files"], &status["snapshot"]["added"]), (&6500.into(), &6500.into()));
    let snapshot = snapshot(&home, "x");
    assert_eq!(snapshot["changed"].as_array().unwrap().len(), 1000);
    let list = snapshot["whole"]["changed"]["list"].as_str().unwrap().strip_prefix("artifact://").unwrap();
    assert_eq!(artifact(&home, "x", list).lines().count(), 6500);
    // So long a change is reviewed in slices, each of which a clean review confirms.
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ends(1).says("of the 17 slices");
    let all = (1..=17).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings", "--reviewed", &all]).ok();
    home.wait_for_turn("x", "codex");
    let explanation = codex.explanation();
    let clean = ["pass", "--summary", "fine", "--no-findings", "--reviewed", &all, "--explain", &explanation];
    codex.pairflow(&clean).ok();
    // A large change needs four looks.
    home.wait_for_turn("x", "claude");
    claude.pairflow(&["pass", "--summary", "still fine", "--no-findings", "--reviewed", &all]).ok();
    home.wait_for_turn("x", "codex");
    codex.pairflow(&["pass", "--summary", "still fine", "--no-findings", "--reviewed", &all]).ok();
    home.wait_for_state("x", "READY_FOR_APPROVAL");
    let package = artifact(&home, "x", "done-package.md");
    assert!(package.contains("6500 files changed") && package.contains("and 5500 more"), "the whole list is named");
    home.pairflow(&["approve", "x", "--yes"]).ok();
    home.pairflow(&["commit", "x", "--yes"]).ok();
}

#[test]
fn many_files_out_of_scope_still_block_the_commit() {
    let home = home();
    home.commit("pairflow.toml", "[scope]\nallow = [\"src/**\"]\n", "configuration");
    created(&home, "x");
    home.pairflow(&["start", "x"]).ok();
    home.wait_for_turn("x", "codex");
    let (codex, claude) = (home.agent("x", "codex"), home.agent("x", "claude"));
    codex.write("done.txt", "done\n");
    for n in 0..1500 {
        codex.write(format!("outside/{n}"), "");
    }
    codex.pairflow(&["pass", "--summary", "far out"]).ok();
    home.wait_for_turn("x", "claude");
    let snapshot = snapshot(&home, "x");
    assert_eq!(snapshot["out_of_scope"].as_array().unwrap().len(), 1000);
    assert_eq!(snapshot["whole"]["out_of_scope"], 1501);
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("x", "codex");
    codex.converged("fine").ok();
    home.wait_for_state("x", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "x", "--yes"]).ok();
    home.pairflow(&["commit", "x", "--yes"]).ends(1).says("outside the bubble's scope");
    home.pairflow(&["verify", "x"]).ok().says("artifact://files/");
}
