//! Weakened tests are shown to the reviewer and in the package, however large the change around them is and whatever
//! attributes say of their files; what cannot be read whole is named as such.

use pairflow_testkit::home::{Agent, Home};

use crate::support::bubbles::{home, started};

const TESTS: &str = "def test_login():\n    assert login() == 1\n\ndef test_out():\n    assert out()\n";
const SKIPPED: &str = "import pytest\n\n@pytest.mark.skip\ndef test_login():\n    assert login() == 1\n";

/// Lines of Python that are `bytes` long in all.
fn lines(bytes: usize) -> String {
    let line = format!("x = '{}'\n", "x".repeat(200));
    line.repeat(bytes / line.len() + 1)
}

fn handed_over<'a>(home: &'a Home, files: &[(&str, &str)]) -> (Agent<'a>, Agent<'a>) {
    started(home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    files.iter().for_each(|(path, text)| codex.write(path, text));
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    (codex, claude)
}

fn brief(agent: &Agent<'_>) -> String {
    std::fs::read_to_string(agent.var("PAIRFLOW_BRIEF").unwrap()).unwrap()
}

/// Finds nothing in a change that is so long that every slice of it has to be named.
fn clean(agent: &Agent<'_>) {
    agent.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ends(1).says("slices");
    let told = brief(agent);
    let slices = told.rsplit("--reviewed ").next().and_then(|rest| rest.split_whitespace().next()).unwrap();
    let explanation = agent.explanation();
    agent
        .pairflow(&["pass", "--summary", "fine", "--no-findings", "--reviewed", slices, "--explain", &explanation])
        .ok();
}

#[test]
fn an_attribute_hides_no_weakened_test() {
    let home = home();
    home.commit("tests/test_login.py", TESTS, "tests");
    let files = [(".gitattributes", "tests/** -diff\n"), ("tests/test_login.py", SKIPPED)];
    let (_codex, claude) = handed_over(&home, &files);
    let brief = brief(&claude);
    assert!(brief.contains("skipped in tests/test_login.py:3"), "{brief}");
    assert!(brief.contains("deleted in tests/test_login.py:4"), "{brief}");
}

#[test]
fn a_large_change_hides_no_weakened_test_and_what_is_too_large_is_named() {
    let home = home();
    home.commit("tests/test_login.py", TESTS, "tests");
    let (data, huge) = (lines(9 * 1024 * 1024), lines(9 * 1024 * 1024));
    let files = [("a/data.py", data.as_str()), ("tests/test_a.py", &huge), ("tests/test_login.py", SKIPPED)];
    let (codex, claude) = handed_over(&home, &files);
    let told = brief(&claude);
    assert!(told.contains("skipped in tests/test_login.py:3"), "{told}");
    assert!(told.contains("not fully read in tests/test_a.py:1: its change is too large to be compared"), "{told}");
    assert!(!told.contains("not fully read in a/data.py"), "only files that can hold tests matter: {told}");

    clean(&claude);
    home.wait_for_turn("b1", "codex");
    clean(&codex);
    // A large change needs four looks.
    home.wait_for_turn("b1", "claude");
    clean(&claude);
    home.wait_for_turn("b1", "codex");
    clean(&codex);
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    let package = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/artifacts/done-package.md")).unwrap();
    assert!(package.contains("test not fully read in tests/test_a.py:1"), "{package}");
}
