//! Bad surroundings: git or its repository is not as it should be, and hands other than the agents' were at work.

use std::path::Path;

use pairflow_testkit::home::{Home, Ran};
use serde_json::json;

use crate::support::bubbles::{created, handed_over, home, quiet, ready, started};
use crate::support::log::{file, lines, lines_of};

/// Runs the program where there is no git on the search path.
#[track_caller]
fn without_git(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    command.env("PATH", home.root().join("tmp"));
    home.finish(command)
}

#[test]
fn without_git_writing_verbs_say_so_and_reading_ones_work() {
    let home = home();
    created(&home, "b1");
    for args in [&["create", "--id", "b2", "--task", "x", "--test", "true"][..], &["start", "b1"]] {
        without_git(&home, args).ends(3).says("git was not found");
    }
    assert_eq!(home.status("b1")["state"], "CREATED");
    for args in [&["status", "b1"][..], &["list"], &["log", "b1"], &["inbox", "b1"], &[]] {
        without_git(&home, args).ok();
    }
    without_git(&home, &["doctor"]).ends(3).says("git was not found");
    home.pairflow(&["supervisor", "stop"]).ok();
    home.pairflow(&["start", "b1"]).ok();
}

#[test]
fn no_repository_a_bare_one_and_an_empty_one_are_refused() {
    let home = home();
    let dir = |name: &str| home.root().join("work").join(name);
    for (name, init) in [("bare", &["init", "--quiet", "--bare"][..]), ("empty", &["init", "--quiet"])] {
        std::fs::create_dir(dir(name)).unwrap();
        home.git_in(&dir(name), init);
    }
    std::fs::create_dir(dir("none")).unwrap();
    let create = |dir: &Path| home.pairflow_in(dir, &["create", "--id", "b1", "--task", "x", "--test", "true"]);
    let none = create(&dir("none")).ends(1).says("is not inside a git repository").says("next: cd YOUR-PROJECT");
    assert!(!none.stderr.contains("`git init` there"), "what directory that is, nobody knows: {none:?}");
    create(&dir("bare")).ends(1).says("is a bare repository");
    create(&dir("empty")).ends(1).says("has no commit yet").says("git commit --allow-empty");
    home.pairflow(&["create", "--repo", "/nowhere", "--id", "b1", "--task", "x", "--test", "true"])
        .ends(3)
        .says("/nowhere");
    for name in ["none", "bare", "empty"] {
        assert!(!dir(name).join(".pairflow").exists(), "{name}: nothing is left behind");
    }
}

#[test]
fn a_branch_or_worktree_that_is_already_there_is_named_and_left_alone() {
    let home = home();
    created(&home, "b1");
    home.git(&["branch", "bubble/b1"]);
    home.pairflow(&["start", "b1"]).ends(3).says("branch bubble/b1 already exists");
    home.git(&["branch", "-D", "bubble/b1"]);
    let place = home.root().join("work/.pairflow-worktrees/repo/b1");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("precious.txt"), "mine").unwrap();
    home.pairflow(&["start", "b1"]).ends(3).says("already exists and does not belong to this bubble");
    assert_eq!(std::fs::read_to_string(place.join("precious.txt")).unwrap(), "mine");
    assert_eq!(home.status("b1")["state"], "CREATED");
    std::fs::remove_dir_all(&place).unwrap();
    home.pairflow(&["start", "b1"]).ok();
    created(&home, "b2");
    home.git(&["branch", "bubble/b2/deeper"]);
    home.pairflow(&["start", "b2"]).ends(3).says("cannot exist beside branch bubble/b2/deeper");
    home.pairflow(&["create", "--id", "b3", "--base", "mian", "--task", "x", "--test", "true"]).ends(1).says("main");
}

#[test]
fn a_worktree_removed_in_the_first_turn_comes_back_with_resume() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    let mut pass = codex.command(&["pass", "--summary", "x"]);
    pass.current_dir(&home.repo);
    home.finish(pass).ends(1).says("is gone").says("pairflow ask-human");
    home.pairflow(&["resume", "b1"]).ok();
    assert!(codex.worktree.join("README.md").exists());
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
}

#[test]
fn a_worktree_removed_between_turns_becomes_a_question_and_comes_back_with_its_last_snapshot() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    quiet(&home);
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P1:x"]).ok();
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["supervise"]).ok();
    let status = home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!(status["questions"][0]["kind"], "trouble");
    home.pairflow(&["inbox", "b1"]).ok().says("pairflow resume b1");
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    assert_eq!(std::fs::read_to_string(codex.worktree.join("done.txt")).unwrap(), "done\n");
    codex.pairflow(&["pass", "--summary", "mended"]).ok();
}

#[test]
fn a_worktree_removed_before_the_approval_comes_back_with_it() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["diff", "b1"]).ok().says("+done");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    assert_eq!(std::fs::read_to_string(codex.worktree.join("done.txt")).unwrap(), "done\n");
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(home.git(&["show", "bubble/b1:done.txt"]), "done");
}

#[test]
fn a_worktree_removed_before_a_rework_becomes_a_question_and_comes_back_with_resume() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["request-rework", "b1", "--message", "once more"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["resume", "b1"]).ok();
    // The seats had changed after the first clean review; rework goes to who was chosen to implement.
    home.wait_for_turn("b1", "codex");
    assert_eq!(std::fs::read_to_string(codex.worktree.join("done.txt")).unwrap(), "done\n");
}

#[test]
fn an_agent_on_another_branch_or_a_detached_head_is_refused_with_the_way_back() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let way_back = format!("git -C '{}' switch bubble/b1", codex.worktree.display());
    home.git_in(&codex.worktree, &["switch", "--quiet", "-c", "elsewhere"]);
    codex.pairflow(&["pass", "--summary", "x"]).ends(1).says("on branch elsewhere").says(&way_back);
    home.git_in(&codex.worktree, &["switch", "--quiet", "--detach"]);
    codex.pairflow(&["pass", "--summary", "x"]).ends(1).says("detached HEAD").says(&way_back);
    assert_eq!(lines_of(&home, "b1", "PROTOCOL_WARNING").len(), 2);
    home.git_in(&codex.worktree, &["switch", "--quiet", "bubble/b1"]);
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
}

#[test]
fn commits_that_an_agent_makes_are_recorded_and_are_not_the_product() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    home.git_in(&codex.worktree, &["add", "--all"]);
    home.git_in(&codex.worktree, &["commit", "--quiet", "-m", "by the agent itself"]);
    let own = home.git_in(&codex.worktree, &["rev-parse", "HEAD"]);
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("x").ok();
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(home.git(&["rev-parse", "bubble/b1~1"]), home.git(&["rev-parse", "main"]), "one commit on the base");
    let log = lines(&home, "b1");
    assert!(log.iter().any(|line| line.to_string().contains(&own)), "the agent's own commit is recorded");
}

/// The snapshots that the log names.
fn snapshots(home: &Home, id: &str) -> Vec<serde_json::Value> {
    let evidence = lines_of(home, id, "EVIDENCE");
    evidence.into_iter().map(|line| line["payload"]["snapshot"].clone()).filter(|found| found.is_object()).collect()
}

/// Edits that a person makes between two turns are theirs: they clear the clean review, and the check runs first.
#[test]
fn edits_by_a_person_between_turns_are_logged_as_theirs_checked_and_shown() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    quiet(&home);
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    // While the bubble is paused the tree of the reviewer's turn is recorded, and the next turn does not open.
    home.pairflow(&["pause", "b1"]).ok();
    home.wait_for("b1", |_| snapshots(&home, "b1").len() == 2);
    codex.write("by-hand.txt", "mine\n");
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for("b1", |status| status["turn_state"] == "open");
    let last = &snapshots(&home, "b1")[2];
    assert_eq!((&last["author"], &last["since_last"][0]["path"]), (&json!("human"), &json!("by-hand.txt")), "{last:#}");
    let status = home.status("b1");
    assert_eq!(status["clean_reviews"], json!([]), "any change of the tree clears the streak");
    assert_eq!(status["checks"][0]["stand"], "passed", "checked before the turn opened");
    let agent = status["active_agent"].as_str().unwrap();
    let brief = std::fs::read_to_string(file(&home, "b1", &format!("artifacts/brief-{agent}.md"))).unwrap();
    assert!(brief.contains("changed BY A PERSON") && brief.contains("by-hand.txt"), "{brief}");
    let log = lines(&home, "b1");
    let (checked, opened) = (
        log.iter().rposition(|line| line["payload"]["receipt"].is_object()).unwrap(),
        log.iter().rposition(|line| line["payload"]["event"] == "turn_opened").unwrap(),
    );
    assert!(checked < opened);
}

#[test]
fn edits_of_a_reviewer_make_its_clean_review_void() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    claude.write("helpful.txt", "the reviewer's own\n");
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    let status = home.wait_for("b1", |status| status["turn_state"] == "open");
    assert_eq!((&status["active_agent"], &status["clean_reviews"]), (&json!("claude"), &json!([])), "{status:#}");
}

#[test]
fn more_files_than_a_line_can_name_are_counted_and_listed_whole_beside_the_log() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let dir = codex.worktree.join("generated");
    std::fs::create_dir(&dir).unwrap();
    codex.write("done.txt", "done\n");
    for n in 0..4999 {
        std::fs::write(dir.join(format!("{}{n}", "long-name-".repeat(12))), "").unwrap();
    }
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(home.status("b1")["snapshot"]["files"], 5000);
    let whole = &snapshots(&home, "b1")[0]["whole"]["changed"];
    let list = whole["list"].as_str().unwrap().strip_prefix("artifact://").unwrap();
    let list = std::fs::read_to_string(file(&home, "b1", "artifacts").join(list)).unwrap();
    assert_eq!(list.lines().count(), 5000);
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn a_check_that_cannot_be_run_is_neither_a_pass_nor_a_finding() {
    let home = home();
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "echo x >> README.md", "--start"]).ok();
    home.base_fails("b1", "codex");
    home.agent("b1", "codex").pairflow(&["pass", "--summary", "x"]).ok();
    let status = home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!(status["questions"][0]["kind"], "could_not_check");
    home.pairflow(&["inbox", "b1"]).ok().says("README.md");
    home.pairflow(&["reply", "b1", "--decision", "accept"]).ok();
    home.wait_for("b1", |status| status["state"] == "RUNNING");
}
