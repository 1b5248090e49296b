//! Permissions that the real Claude Code and the real Codex ask for, answered from the inbox: nobody looks at their
//! panes, the one is allowed what it wants, and the other reads why it is not.

use std::path::Path;

use pairflow_testkit::model::{Kind, Reply};
use pairflow_testkit::pair::{ModelScript, Pair, Turn};

/// What the person says to the second request.
const REFUSAL: &str = "Nein: \"reviews\" leave no files, größer gesagt";

fn steps(turn: &Turn, kind: Kind) -> Vec<Reply> {
    let hand_over = |words: &str| Reply::shell(format!("pairflow pass --summary {words}"));
    match (kind, turn.seat.as_str()) {
        (Kind::Codex, "implementer") => {
            let explain = "printf '## %s\\nx\\n' 'What changed' Why Risks 'Manual test plan'";
            let first = Reply::shell(format!("{explain} | pairflow pass --summary 'first cut' --explain -"));
            vec![Reply::escalated("echo one > work.txt", "to write it"), first]
        }
        (Kind::Claude, _) => vec![Reply::shell("touch looked.txt"), hand_over("'read it' --no-findings")],
        _ => vec![hand_over("'read it, too' --no-findings")],
    }
}

/// Waits for the question of `agent`, answers it, and waits until the agent has gone on.
#[track_caller]
fn answer(pair: &Pair, asks: &str, reply: &[&str]) {
    let open =
        |status: &serde_json::Value| status["questions"][0]["question"].as_str().is_some_and(|q| q.contains(asks));
    let status = pair.wait_for("leave", asks, open);
    let id = status["questions"][0]["id"].as_str().unwrap();
    pair.pairflow(&[&["reply", "leave", "--question", id], reply].concat()).ok();
    pair.wait_for("leave", "the end of the question", |status| !open(status));
}

#[test]
fn the_real_programs_take_a_permission_and_a_refusal_from_the_inbox() {
    let pair =
        Pair::new(env!("CARGO_BIN_EXE_pairflow"), Path::new(env!("CARGO_TARGET_TMPDIR")), ModelScript::new(steps));
    let config = pair.home.root().join("config/pairflow/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("permissions = \"ask\"\n{before}")).unwrap();
    pair.start("leave", "Write work.txt");
    answer(
        &pair,
        "codex asks for a permission: Bash echo one > work.txt (outside its sandbox).",
        &["--decision", "accept"],
    );
    answer(&pair, "claude asks for a permission: Bash touch looked.txt.", &["--message", REFUSAL]);
    let status = pair.wait_for_state("leave", "READY_FOR_APPROVAL");
    let worktree = Path::new(status["worktree"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(worktree.join("work.txt")).unwrap(), "one\n");
    assert!(!worktree.join("looked.txt").exists());
    assert!(pair.has_read(Kind::Claude, REFUSAL), "it is told why:\n{}", pair.screens("leave"));
    let begun = pair.model_script().begun();
    assert!(begun.len() == 3 && begun.values().all(|times| *times == 1), "a turn is announced once: {begun:?}");
}
