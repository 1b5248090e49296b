//! Which bubble is meant where none is named, and what the answers say about it.

use crate::support::bubbles::{created, done, handed_over, home, ready, started};

#[test]
fn a_verb_without_a_name_means_the_one_bubble_that_it_fits() {
    let home = home();
    ready(&home, "a");
    let (_, claude) = handed_over(&home, "b");
    created(&home, "c");
    claude.pairflow(&["ask-human", "--question", "tabs?"]).ok();
    home.pairflow(&["reply", "--message", "no"]).ok().says("in bubble b");
    home.pairflow(&["approve", "--yes"]).ok().says("of bubble a");
    home.pairflow(&["commit", "--yes"]).ok().says("of bubble a");
    home.pairflow(&["pause"]).ok().says("Paused bubble b");
    home.pairflow(&["resume"]).ok().says("in bubble b");
    home.pairflow(&["merge", "--here", "--yes"]).ok().says("Merged bubble a");
    home.pairflow(&["start"]).ok().says("Started bubble c");
    home.pairflow(&["approve", "--yes"]).ends(1).says("no bubble can be used with 'approve': b is RUNNING");
}

#[test]
fn finished_bubbles_are_no_candidates_where_none_is_named() {
    let home = home();
    for id in ["a1", "a2", "a3"] {
        created(&home, id);
        home.pairflow(&["stop", id, "--yes"]).ok();
    }
    let which = home.pairflow(&["status"]).ends(1).says("which bubble? There are 3: a1, a2, a3");
    assert!(
        which.stderr.contains("next: pairflow status a1"),
        "without an active one they are all there is: {which:?}"
    );
    created(&home, "work");
    assert_eq!(home.pairflow(&["status", "--json"]).ok().json()["bubble_id"], "work");
    home.pairflow(&["approve", "--yes"]).ends(1).says("work: cannot approve: the bubble is CREATED");
    created(&home, "zeta");
    let which = home.pairflow(&["status"]).ends(1).says("which bubble? There are 2: work, zeta");
    assert!(which.stderr.contains("next: pairflow status work"), "{which:?}");
}

#[test]
fn every_proposed_command_can_be_run() {
    let home = home();
    created(&home, "a");
    created(&home, "b");
    for args in [&["waive", "test", "--reason", "known"][..], &["config", "apply"], &["env", "--agent", "codex"]] {
        let which = home.pairflow(args).ends(1).says("which bubble? There are 2: a, b");
        let line = which.stderr.lines().find_map(|line| line.strip_prefix("next: pairflow ")).unwrap();
        let words: Vec<_> = line.split(' ').collect();
        assert!(words.contains(&"a"), "{line}");
        let ran = home.pairflow(&words);
        assert_ne!(ran.code, 2, "{line}: {ran:?}");
        assert!(!ran.stderr.contains("which bubble?"), "{line}: {ran:?}");
    }
    home.pairflow(&["waive", "--id", "a", "a", "test", "--reason", "x"]).ends(2).says("named twice");
}

#[test]
fn a_proposed_command_keeps_what_was_given() {
    let home = home();
    for id in ["a1", "a2"] {
        let (_, claude) = handed_over(&home, id);
        claude.pairflow(&["ask-human", "--question", "tabs?"]).ok();
    }
    let which = home.pairflow(&["reply", "--message", "it's two words"]).ends(1);
    assert!(which.stderr.contains(r"next: pairflow reply a1 --message 'it'\''s two words'"), "{which:?}");
    let beginning = home.pairflow(&["reply", "a", "--message", "no"]).ends(1);
    assert!(beginning.stderr.contains("next: pairflow reply a1 --message no\n"), "{beginning:?}");
}

#[test]
fn delete_never_guesses_a_bubble_that_goes_on() {
    let home = home();
    started(&home, "a");
    let guessed = home.pairflow(&["delete", "--yes"]).ends(1).says("bubble a is RUNNING");
    assert!(guessed.stderr.contains("next: pairflow delete a"), "{guessed:?}");
    let worktree = home.status("a")["worktree"].as_str().unwrap().to_owned();
    home.pairflow_in(worktree.as_ref(), &["delete", "--yes"]).ends(1);
    done(&home, "b");
    home.pairflow(&["delete", "--yes"]).ok().says("Deleted bubble b");
    assert_eq!(home.status("a")["state"], "RUNNING");
    home.pairflow(&["delete", "a", "--yes"]).ok();
}

#[test]
fn a_pause_and_an_answer_say_what_comes_next() {
    let home = home();
    let (_, claude) = handed_over(&home, "a");
    claude.pairflow(&["ask-human", "--question", "tabs?"]).ok();
    home.pairflow(&["pause", "a"]).ok().says("A question is open").says("next: pairflow reply a");
    let answered = home.pairflow(&["reply", "a", "--message", "no"]).ok().says("is paused");
    assert!(
        !answered.stdout.contains("goes on in") && answered.stderr.contains("next: pairflow resume a"),
        "{answered:?}"
    );
    home.pairflow(&["resume", "a"]).ok().says("continues as");
    home.pairflow(&["pause", "a"]).ok().says("next: pairflow resume a");
}

#[test]
fn a_task_that_looks_like_a_file_has_to_be_one() {
    let home = home();
    for name in ["missing.md", "docs/missing", "missing.txt"] {
        let ran = home.pairflow(&["create", "--task", name, "--test", "true"]).ends(2).says(name);
        assert!(ran.stderr.contains("next: pairflow create --task"), "{ran:?}");
    }
    home.pairflow(&["create", "--id", "x", "--task", "write missing.md", "--test", "true"]).ok();
    home.pairflow(&["create", "--id", "y", "--task", "README.md", "--test", "true"]).ok();
}

#[test]
fn the_help_of_orchestra_has_the_verbs_of_agents_only() {
    let home = home();
    for args in [&["orchestra", "--help"][..], &["help", "orchestra"], &["orchestra", "-h"]] {
        let help = home.pairflow(args).ok().stdout;
        for verb in ["pass", "ask-human", "converged"] {
            assert!(help.lines().any(|line| line.trim_start().starts_with(verb)), "{verb} in\n{help}");
        }
        for other in ["approve", "supervise", "create"] {
            assert!(!help.contains(other), "{other} in\n{help}");
        }
    }
}

#[test]
fn with_a_supervisor_nobody_is_sent_to_do_its_work() {
    let home = home();
    let hold = home.root().join("hold");
    let test = format!("while test -f '{}'; do sleep 0.01; done", hold.display());
    home.pairflow(&["create", "--id", "a", "--task", "t", "--test", &test, "--start"]).ok();
    home.wait_for_turn("a", "codex");
    let codex = home.agent("a", "codex");
    codex.write("done.txt", "done\n");
    std::fs::write(&hold, "").unwrap();
    codex.pairflow(&["pass", "--summary", "done"]).ok();
    let opening = home.wait_for("a", |status| status["turn_state"] == "opening");
    assert_eq!(opening["next"][0], "pairflow status a");
    std::fs::remove_file(&hold).unwrap();
    home.pairflow(&["supervisor", "stop"]).ok();
}

#[test]
fn the_log_says_that_a_review_by_someone_who_changed_files_does_not_count() {
    let home = home();
    let (_, claude) = handed_over(&home, "a");
    claude.write("done.txt", "better\n");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for("a", |status| status["snapshot"]["author"] == "claude");
    home.pairflow(&["log", "a"])
        .ok()
        .says("the clean review of claude does not count: files changed during its turn; claude reviews again");
}

#[test]
fn a_review_that_ends_in_convergence_is_counted() {
    let home = home();
    ready(&home, "a");
    assert_eq!(home.status("a")["looks_used"], 2);
}
