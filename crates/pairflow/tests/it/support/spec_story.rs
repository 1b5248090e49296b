//! What the tests of the specification share: one eventful life of a bubble.

use pairflow_testkit::home::{Agent, Home};

/// The task of every bubble here.
pub(crate) const TASK: &str = "Write done.txt\n\n## Acceptance criteria\n- done.txt says done\n";

/// Makes a bubble that waits to be started, with `more` arguments of `create`.
#[track_caller]
pub(crate) fn created(home: &Home, id: &str, more: &[&str]) {
    let line = [
        "create",
        "--id",
        id,
        "--task",
        TASK,
        "--test",
        "grep -c . done.txt || git log -1 --format=%s | grep -qv snapshot",
    ];
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
    home.pairflow(&["approve", id, "--yes"]).ok();
    home.pairflow(&["commit", id, "--yes"]).ok();
    home.wait_for_state(id, "DONE");
    agents
}
