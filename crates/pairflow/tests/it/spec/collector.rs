//! What is recorded of every round: the changed files and their numbers, as git itself counts them.

use pairflow_testkit::home::Home;
use serde_json::Value;

use crate::support::bubbles::home;
use crate::support::log::lines_of;
use crate::support::spec_story::running;

/// The snapshots on the log, oldest first.
fn snapshots(home: &Home, id: &str) -> Vec<Value> {
    let evidence = lines_of(home, id, "EVIDENCE").into_iter().map(|line| line["payload"]["snapshot"].clone());
    evidence.filter(Value::is_object).collect()
}

/// What the log says of some files, one `added<TAB>removed<TAB>path` a line, as `git diff --numstat` writes it.
fn numstat(changes: &Value) -> Vec<String> {
    let count = |change: &Value, field: &str| change[field].as_u64().map_or("-".to_owned(), |count| count.to_string());
    let line = |change: &Value| {
        format!("{}\t{}\t{}", count(change, "added"), count(change, "removed"), change["path"].as_str().unwrap())
    };
    changes.as_array().unwrap().iter().map(line).collect()
}

fn git_numstat(home: &Home, from: &str, to: &str) -> Vec<String> {
    let told = home.git(&["-c", "core.quotePath=false", "diff", "--numstat", "--no-renames", from, to]);
    told.lines().map(str::to_owned).collect()
}

#[test]
fn changed_files_and_their_numbers_are_recorded_for_every_round() {
    let home = home();
    home.commit("kept.txt", "1\n2\n3\n4\n", "kept");
    home.commit("gone.txt", "a\nb\n", "to be removed");
    let (codex, claude) = running(&home, "b1");
    codex.write("done.txt", "done\n");
    codex.write("kept.txt", "1\nTWO\n3\n4\n5\n");
    codex.write("ärger & co.txt", "x\n");
    std::fs::write(codex.worktree.join("image.bin"), b"\0\x01\x02").unwrap();
    std::fs::remove_file(codex.worktree.join("gone.txt")).unwrap();
    codex.pairflow(&["pass", "--summary", "round one"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "more", "--finding", "P1:more"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("kept.txt", "1\nTWO\n3\n");
    codex.pairflow(&["pass", "--summary", "round two"]).ok();
    home.wait_for_turn("b1", "claude");
    let taken = snapshots(&home, "b1");
    assert_eq!(taken.len(), 3, "one for each turn");
    let base = home.git(&["rev-parse", "main^{tree}"]);
    let mut before = base.clone();
    for snapshot in &taken {
        let tree = snapshot["tree"].as_str().unwrap();
        assert_eq!(numstat(&snapshot["changed"]), git_numstat(&home, &base, tree), "against the base");
        assert_eq!(numstat(&snapshot["since_last"]), git_numstat(&home, &before, tree), "since the turn before");
        before = tree.to_owned();
    }
    assert_eq!(taken[0]["changed"].as_array().unwrap().len(), 5);
    assert_eq!(numstat(&taken[2]["since_last"]), ["0\t2\tkept.txt"]);
    for (round, expected) in [("1", &taken[0]["since_last"]), ("2", &taken[2]["since_last"])] {
        let told = home.pairflow(&["diff", "b1", "--round", round, "--json"]).ok().json();
        assert_eq!(&told["files"], expected, "round {round}");
    }
}
