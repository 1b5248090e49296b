//! The way to the base branch and back: what is said and how it ends when nothing is moved.

use crate::support::bubbles::{done, handed_over, home, ready, started};

#[test]
fn a_merge_that_moves_nothing_is_refused_with_the_way_on() {
    let home = home();
    done(&home, "b1");
    let status = home.status("b1");
    assert_eq!(status["next"][0], "pairflow merge b1 --here", "main is checked out here");
    let merge = home.pairflow(&["merge", "b1", "--yes"]).ends(1).says("git merge --ff-only").says("nothing was merged");
    assert!(merge.stderr.contains("next: pairflow merge b1 --here"), "{merge:?}");
    let worktree = status["worktree"].as_str().unwrap().to_owned();
    let from_there = home.pairflow_in(worktree.as_ref(), &["merge", "b1", "--yes"]).ends(1);
    let cd = format!("next: cd {} && pairflow merge b1 --here", home.repo.display());
    assert!(from_there.stderr.contains(&cd), "{from_there:?}");
    home.git(&["checkout", "--quiet", "-b", "other"]);
    assert_eq!(home.status("b1")["next"][0], "pairflow merge b1");
    home.git(&["checkout", "--quiet", "main"]);
    home.pairflow(&["merge", "b1", "--here", "--yes"]).ok().says("Merged bubble b1");
}

#[test]
fn ok_merges_into_a_checkout_only_with_here() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["ok", "b1", "--yes", "--here"]).ends(2);
    home.pairflow(&["ok", "b1", "--yes", "--merge"])
        .ends(1)
        .says("Nothing was committed")
        .says("next: pairflow ok b1 --merge --here");
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL");
    std::fs::write(home.repo.join("README.md"), "edited\n").unwrap();
    home.pairflow(&["ok", "b1", "--yes", "--merge", "--here"]).ends(1).says("README.md");
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL", "the checkout is not clean");
    home.git(&["checkout", "--quiet", "README.md"]);
    home.pairflow(&["ok", "b1", "--yes", "--merge", "--here"]).ok().says("Merged bubble b1");
}

#[test]
fn ok_commits_nothing_that_could_not_be_merged() {
    let home = home();
    // The check counts its runs on trees that have both sides.
    let runs = home.root().join("runs");
    let test =
        format!("test -f done.txt && {{ test ! -f base.txt || echo run >> {}; }} && test ! -f bad.txt", runs.display());
    home.pairflow(&["create", "--id", "b1", "--task", "write done.txt", "--test", &test, "--start"]).ok();
    home.base_fails("b1", "codex");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("nothing left").ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    let ok = ["ok", "b1", "--yes", "--merge", "--here"];
    home.commit("done.txt", "done otherwise\n", "main moves on");
    home.pairflow(&ok).ends(3).says("conflicts in done.txt").says("pairflow update b1");
    home.git(&["rm", "--quiet", "done.txt"]);
    home.git(&["commit", "--quiet", "-m", "not here"]);
    home.commit("bad.txt", "bad\n", "something that does not fit");
    home.pairflow(&ok).ends(3).says("fails on the merge of b1 into main");
    assert_eq!(home.status("b1")["state"], "APPROVED_FOR_COMMIT", "neither was committed");
    home.git(&["rm", "--quiet", "bad.txt"]);
    home.commit("base.txt", "base\n", "main is well again");
    home.pairflow(&ok).ok().says("Merged bubble b1");
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n", "the joined tree is checked once");
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
}

#[test]
fn status_names_a_base_that_has_moved_and_what_merging_leads_to() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    assert_eq!(home.status("b1")["base_moved"], serde_json::Value::Null);
    let objects = || home.git(&["count-objects"]);
    home.commit("other.txt", "x\n", "main moves on");
    let before = objects();
    home.pairflow(&["status", "b1"]).ok().says("main has moved by 1 commit; it merges without conflicts");
    home.commit("done.txt", "done otherwise\n", "and again");
    home.pairflow(&["status", "b1"])
        .ok()
        .says("main has moved by 2 commits; merging it conflicts in done.txt;")
        .says("'pairflow update b1'");
    let moved = home.status("b1")["base_moved"].clone();
    assert_eq!(moved, serde_json::json!({"commits": 2, "conflicts": ["done.txt"]}));
    home.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    home.git(&["reflog", "expire", "--expire=now", "--all"]);
    home.git(&["prune", "--expire=now"]);
    home.pairflow(&["status", "b1"]).ok();
    assert_eq!(objects(), before, "looking writes nothing");
    // What git cannot tell is no error.
    home.git(&["branch", "--quiet", "-m", "main", "renamed"]);
    assert_eq!(home.status("b1")["base_moved"], serde_json::Value::Null);
    assert!(codex.worktree.is_dir());
}

#[test]
fn an_update_with_nothing_to_merge_does_nothing_and_says_so() {
    let home = home();
    ready(&home, "b1");
    let log = home.repo.join(".pairflow/bubbles/b1/transcript.ndjson");
    let before = std::fs::read(&log).unwrap();
    home.pairflow(&["update", "b1"]).ok().says("already up to date with main");
    assert_eq!(std::fs::read(&log).unwrap(), before, "nothing is recorded");
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL", "the reviews still count");
}

#[test]
fn an_update_of_an_agents_turn_is_still_refused_before_anything_else() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["update", "b1"]).ends(1).says("pairflow pause b1");
    home.pairflow(&["pause", "b1"]).ok();
    home.pairflow(&["update", "b1"]).ok().says("already up to date");
}

#[test]
fn an_update_of_merged_work_makes_no_further_bubble() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["merge", "b1", "--here", "--yes"]).ok();
    home.commit("more.txt", "more\n", "main moves on");
    home.pairflow(&["update", "b1"]).ok().says("main already has the work of bubble b1");
    let list = home.pairflow(&["list"]).ok();
    assert!(!list.stdout.contains("b1-2"), "{list:?}");
}

#[test]
fn a_conflict_that_nobody_has_touched_is_not_taken_as_resolved() {
    let home = home();
    let (_, claude) = ready(&home, "b1");
    home.commit("done.txt", "theirs\n", "main moves on");
    home.pairflow(&["update", "b1", "--yes"]).ends(3).says("conflict in done.txt");
    home.pairflow(&["update", "b1", "--resolved", "--yes"]).ends(1).says("nobody has edited done.txt").says("next:");
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL", "nothing was merged");
    claude.write("other.txt", "not the file in conflict\n");
    home.pairflow(&["update", "b1", "--resolved", "--yes"]).ends(1);
    home.pairflow(&["update", "b1", "--resolved", "--keep", "--yes"]).ok().says("Merged main at");
    let status = home.wait_for("b1", |status| status["turn_state"] == "open");
    let tree = status["snapshot"]["tree"].as_str().unwrap();
    assert_eq!(home.git(&["show", &format!("{tree}:done.txt")]), "done", "kept on purpose");
}

#[test]
fn a_piped_diff_is_a_patch_that_git_takes_with_binary_files() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    std::fs::write(codex.worktree.join("logo.bin"), [0, 159, 146, 150, 0, 255, 10, 0]).unwrap();
    let patch = home.root().join("work.patch");
    let mut diff = home.command(&["diff", "b1"]);
    diff.stdout(std::fs::File::create(&patch).unwrap());
    home.finish(diff).ok();
    home.git(&["apply", "--check", &patch.display().to_string()]);
    home.git(&["apply", &patch.display().to_string()]);
    assert_eq!(std::fs::read(home.repo.join("logo.bin")).unwrap(), [0, 159, 146, 150, 0, 255, 10, 0]);
    assert_eq!(std::fs::read_to_string(home.repo.join("done.txt")).unwrap(), "done\n");
}

#[test]
fn an_approval_of_a_tree_that_drifted_names_the_way_back_to_what_was_reviewed() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    codex.write("done.txt", "edited since\n");
    codex.write("more.txt", "new\n");
    home.pairflow(&["ok", "b1", "--yes"]).ends(1).says("read-tree --reset -u");
    let refused = home.pairflow(&["approve", "b1", "--yes"]).ends(1).says("done.txt").says("more.txt");
    let back = refused.stderr.lines().find_map(|line| line.split_once("reviewed tree: git -C")).unwrap().1;
    let mut shell = std::process::Command::new("sh");
    shell.args(["-ec", &format!("git -C{back}")]);
    home.finish(shell).ok();
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    assert!(!codex.worktree.join("more.txt").exists());
}
