//! A base that moved is never a dead end: before the commit, after it, and with a conflict.

use pairflow_testkit::home::Home;

use crate::support::bubbles::{done, home, ready};

/// Takes a bubble in which codex has the turn to DONE, with `files` in its tree.
fn finish(home: &Home, id: &str, files: &[(&str, &str)]) {
    let (codex, claude) = (home.agent(id, "codex"), home.agent(id, "claude"));
    files.iter().for_each(|(path, text)| codex.write(path, text));
    codex.pairflow(&["pass", "--summary", "again"]).ok();
    home.wait_for_turn(id, "claude");
    claude.pairflow(&["pass", "--summary", "right", "--no-findings"]).ok();
    home.wait_for_turn(id, "codex");
    codex.converged("right").ok();
    home.wait_for_state(id, "READY_FOR_APPROVAL");
    home.pairflow(&["approve", id, "--yes"]).ok();
    home.pairflow(&["commit", id, "--yes"]).ok();
}

#[test]
fn finished_work_goes_on_when_its_base_has_moved() {
    let home = home();
    done(&home, "x");
    home.commit("done.txt", "theirs\n", "main moves on");
    home.pairflow(&["merge", "x", "--yes"]).ends(3).says("pairflow update x");
    home.pairflow(&["update", "x"]).ok().says("pairflow start x-2");
    home.pairflow(&["start", "x-2"]).ok();
    home.wait_for_turn("x-2", "codex");
    let worktree = home.status("x-2")["worktree"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(format!("{worktree}/done.txt")).unwrap();
    assert!(text.contains("<<<<<<<") && text.contains("theirs") && text.contains("done"), "{text}");
    let brief = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/x-2/artifacts/brief-codex.md")).unwrap();
    assert!(brief.contains("resolve the conflict markers in done.txt"), "{brief}");
    finish(&home, "x-2", &[("done.txt", "done and theirs\n")]);
    assert_eq!(home.git(&["rev-parse", "bubble/x-2^"]), home.git(&["rev-parse", "main"]));
    home.pairflow(&["merge", "x-2", "--here", "--yes"]).ok();
    assert_eq!(home.git(&["show", "main:done.txt"]), "done and theirs");
}

#[test]
fn finished_work_that_fits_the_moved_base_is_merged_at_once() {
    let home = home();
    done(&home, "x");
    home.commit("other.txt", "theirs\n", "main moves on");
    home.pairflow(&["update", "x"]).ok();
    home.pairflow(&["start", "x-2"]).ok();
    home.wait_for_turn("x-2", "codex");
    finish(&home, "x-2", &[]);
    home.pairflow(&["merge", "x-2", "--here", "--yes"]).ok();
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
    assert_eq!(home.git(&["show", "main:other.txt"]), "theirs");
}

#[test]
fn a_conflict_of_an_update_is_resolved_by_hand_with_one_command() {
    let home = home();
    let (_, claude) = ready(&home, "x");
    home.pairflow(&["update", "x", "--resolved"]).ends(1).says("pairflow update x");
    home.commit("done.txt", "theirs\n", "main moves on");
    home.commit("other.txt", "theirs\n", "and on");
    home.pairflow(&["update", "x", "--yes"]).ends(3).says("conflict in done.txt").says("pairflow update x --resolved");
    claude.write("done.txt", "done and theirs\n");
    home.pairflow(&["update", "x", "--resolved", "--yes"]).ok().says("Merged main at");
    let status = home.wait_for("x", |status| status["turn_state"] == "open");
    assert_eq!(status["state"], "RUNNING", "the merged tree is reviewed");
    let tree = status["snapshot"]["tree"].as_str().unwrap();
    assert_eq!(home.git(&["show", &format!("{tree}:done.txt")]), "done and theirs");
    assert_eq!(home.git(&["show", &format!("{tree}:other.txt")]), "theirs", "what fits is merged for the person");
    assert_eq!(status["snapshot"]["author"], "human");
}

#[test]
fn a_conflict_of_finished_work_that_the_person_resolved_is_where_the_next_bubble_begins() {
    let home = home();
    done(&home, "x");
    let worktree = std::path::PathBuf::from(home.status("x")["worktree"].as_str().unwrap());
    home.commit("done.txt", "theirs\n", "main moves on");
    home.commit("other.txt", "theirs\n", "and on");
    home.pairflow(&["update", "x", "--resolved"]).ends(1).says("nobody has edited done.txt");
    std::fs::write(worktree.join("done.txt"), "done and theirs\n").unwrap();
    home.pairflow(&["update", "x", "--resolved"]).ok().says("as you resolved it").says("pairflow start x-2");
    home.pairflow(&["start", "x-2"]).ok();
    home.wait_for_turn("x-2", "codex");
    let worktree = home.agent("x-2", "codex").worktree;
    let read = |file: &str| std::fs::read_to_string(worktree.join(file)).unwrap();
    assert_eq!((read("done.txt"), read("other.txt")), ("done and theirs\n".to_owned(), "theirs\n".to_owned()));
}

#[test]
fn a_merge_is_checked_in_a_tree_that_is_set_up() {
    let home = home();
    home.commit(".gitignore", "built\n", "ignore");
    let test = "test -f built && test -n \"$PORT\" && test ! -f broken";
    home.pairflow(&["create", "--id", "x", "--task", "t", "--test", test, "--setup", "touch built", "--start"]).ok();
    home.wait_for_turn("x", "codex");
    finish(&home, "x", &[("done.txt", "done\n")]);
    home.commit("other.txt", "theirs\n", "main moves on");
    home.pairflow(&["merge", "x", "--here", "--yes"]).ok().says("Merged bubble x");
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
}

#[test]
fn a_merge_tells_a_wrong_tree_from_one_that_could_not_be_judged() {
    let home = home();
    let test = "if [ -f littered ]; then echo litter >> littered; fi; test ! -f broken";
    home.pairflow(&["create", "--id", "x", "--task", "t", "--test", test, "--start"]).ok();
    home.wait_for_turn("x", "codex");
    finish(&home, "x", &[("done.txt", "done\n")]);
    home.commit("broken", "", "main breaks");
    home.pairflow(&["merge", "x", "--here", "--yes"]).ends(3).says("fails on the merge").says("pairflow update x");
    home.git(&["rm", "--quiet", "broken"]);
    home.git(&["commit", "--quiet", "-m", "mended"]);
    home.commit("littered", "", "main litters");
    home.pairflow(&["merge", "x", "--here", "--yes"])
        .ends(3)
        .says("could not be run")
        .says("litter")
        .says("pairflow merge x");
}

#[test]
fn a_follow_up_keeps_the_base_branch_of_the_bubble_before_it() {
    let home = home();
    done(&home, "x");
    home.pairflow(&["update", "x"]).ok();
    let toml = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/x-2/bubble.toml")).unwrap();
    assert!(toml.contains("base_branch = \"main\""), "{toml}");
}
