//! The life of a bubble beside the loop: pause, resume, stop, delete, update, open, watchdog, merge.

use pairflow_testkit::home::write_program;
use serde_json::json;

use crate::support::bubbles::{created, done, handed_over, home, ready, ready_with, started};

#[test]
fn a_paused_bubble_keeps_its_turn_and_lets_nobody_pass() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.pairflow(&["pause", "b1"]).ok().says("pairflow resume b1");
    let status = home.status("b1");
    assert_eq!((&status["paused"], &status["active_agent"]), (&json!(true), &json!("codex")));
    home.pairflow(&["pause", "b1"]).ends(1).says("paused");
    codex.pairflow(&["pass", "--summary", "x"]).ends(1).says("paused");
    codex.pairflow(&["bubble", "resume", "--id", "b1"]).ends(77);
    home.pairflow(&["bubble", "resume", "--id", "b1"]).ok().says("codex continues as implementer in bubble b1");
    home.pairflow(&["resume", "b1"]).ends(1).says("it is not paused");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.pairflow(&["pause", "nope"]).ends(1);
}

#[test]
fn resume_makes_a_worktree_again_that_was_removed_by_hand() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    home.pairflow(&["pause", "b1"]).ok();
    std::fs::remove_dir_all(&claude.worktree).unwrap();
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(std::fs::read_to_string(claude.worktree.join("done.txt")).unwrap(), "done\n");
}

#[test]
fn stop_asks_first_and_is_final() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    home.pairflow(&["stop", "b1"]).ends(1).says("--yes");
    assert_eq!(home.status("b1")["state"], "RUNNING");
    home.pairflow(&["stop", "b1", "--yes", "--reason", "changed my mind"]).ok().says("Cancelled bubble b1");
    assert_eq!(home.status("b1")["state"], "CANCELLED");
    assert!(codex.worktree.join("done.txt").exists(), "nothing of the work is deleted");
    home.pairflow(&["stop", "b1", "--yes"]).ends(1).says("CANCELLED");
    home.pairflow(&["resume", "b1"]).ends(1).says("CANCELLED");
}

#[test]
fn stop_ends_a_check_that_is_running() {
    let home = home();
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "echo up > ../started; sleep 600"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    let processes = home.repo.join(".pairflow/runtime/b1/processes");
    let running = || std::fs::read_dir(&processes).is_ok_and(|mut found| found.next().is_some());
    home.wait_for("b1", |_| running());
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    assert!(!running(), "its processes have ended");
}

#[test]
fn delete_archives_first_and_asks() {
    let home = home();
    done(&home, "b1");
    let commit = home.git(&["rev-parse", "bubble/b1"]);
    home.pairflow(&["delete", "b1"]).ends(1).says("--yes");
    let ran = home.pairflow(&["delete", "b1", "--yes"]).ok().says("Deleted bubble b1");
    let archive = ran.stderr.lines().find_map(|line| line.strip_prefix("Archive: ")).unwrap();
    assert!(std::path::Path::new(archive).join("transcript.ndjson").exists(), "{ran:?}");
    let kept = ran.stderr.lines().find_map(|line| line.strip_prefix("Branch tip: ")).unwrap();
    assert_eq!(home.git(&["rev-parse", kept]), commit);
    home.pairflow(&["status", "b1"]).ends(1).says("there is no bubble");
    home.pairflow(&["delete", "b1", "--yes"]).ends(1);
    assert_eq!(home.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn delete_ends_a_bubble_that_is_still_going() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["delete", "b1", "--yes"]).ok();
    home.pairflow(&["list"]).ok().says("There is no bubble");
}

#[test]
fn update_merges_the_base_and_clears_the_reviews() {
    let home = home();
    let lines: String = (1..=9).map(|n| format!("{n}\n")).collect();
    home.commit("shared.txt", &lines, "a file that both change");
    let (codex, _) = ready_with(&home, "b1", &[("shared.txt", &lines.replace('9', "nine"))]);
    home.pairflow(&["update", "b1"]).ok().says("already up to date");
    home.commit("shared.txt", &lines.replace('1', "one"), "the base moves");
    home.pairflow(&["update", "b1"]).ends(1).says("loses the clean reviews of claude (round 1) and codex (round 1)");
    let shared = || std::fs::read_to_string(codex.worktree.join("shared.txt")).unwrap();
    assert!(shared().starts_with('1'), "nothing happens before the person agrees");
    home.pairflow(&["update", "b1", "--yes"]).ok().says("Merged main at").says("no longer count");
    assert!(shared().starts_with("one"));
    let status = home.wait_for("b1", |status| status["turn_state"] == "open");
    assert_eq!((&status["state"], &status["clean_reviews"]), (&json!("RUNNING"), &json!([])));
}

#[test]
fn update_keeps_the_reviews_where_the_base_changed_no_file_of_the_work() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    let reviewed = home.status("b1")["snapshot"]["tree"].clone();
    home.commit("other.txt", "other\n", "the base moves");
    home.pairflow(&["update", "b1"]).ok().says("Clean reviews are kept");
    assert!(codex.worktree.join("other.txt").exists());
    let status = home.wait_for_state("b1", "READY_FOR_APPROVAL");
    assert_ne!(status["snapshot"]["tree"], reviewed);
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.commit("third.txt", "third\n", "the base moves again");
    home.pairflow(&["update", "b1"]).ends(1).says("loses your approval: the clean reviews are kept");
    home.pairflow(&["update", "b1", "--yes"]).ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    let package = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/artifacts/done-package.md")).unwrap();
    let tree = reviewed.as_str().unwrap();
    assert_eq!(package.matches(&format!("of tree {tree}; the base was merged since")).count(), 2, "{package}");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn update_drops_no_file_of_the_work_that_is_ignored() {
    let home = home();
    home.commit(".gitignore", "*.log\n", "ignore");
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    for (path, content) in [("done.txt", "done\n"), ("keep.log", "kept\n"), ("out.tmp", "work\n")] {
        codex.write(path, content);
    }
    home.git_in(&codex.worktree, &["add", "-f", "keep.log"]);
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "looks right", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("nothing left").ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    home.commit(".gitignore", "*.log\n*.tmp\n", "ignore more");
    home.pairflow(&["update", "b1"]).ok().says("Clean reviews are kept");
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    home.wait_for_state("b1", "DONE");
    let committed = home.git(&["ls-tree", "-r", "--name-only", "bubble/b1"]);
    for path in ["done.txt", "keep.log", "out.tmp"] {
        assert!(committed.lines().any(|line| line == path), "{path} is missing: {committed}");
    }
}

#[test]
fn update_during_a_turn_needs_a_pause() {
    let home = home();
    started(&home, "b1");
    home.commit("other.txt", "other\n", "the base moves");
    home.pairflow(&["update", "b1"]).ends(1).says("pairflow pause b1");
    home.pairflow(&["pause", "b1"]).ok();
    home.pairflow(&["update", "b1"]).ok().says("pairflow resume b1");
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn update_of_a_done_bubble_opens_a_follow_up_that_begins_with_its_work() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["update", "b1"]).ok().says("Created follow-up bubble").says("pairflow start b1-2");
    let status = home.status("b1-2");
    assert_eq!((&status["base_branch"], &status["branch"]), (&json!("main"), &json!("bubble/b1-2")));
    assert_eq!((&status["task_title"], &status["state"]), (&json!("Write done.txt"), &json!("CREATED")));
    home.pairflow(&["start", "b1-2"]).ok();
    home.wait_for_turn("b1-2", "codex");
    assert!(home.agent("b1-2", "codex").worktree.join("done.txt").is_file());
    assert_eq!(home.status("b1")["state"], "DONE");
    home.pairflow(&["update", "b1"]).ok().says("b1-3");
}

#[test]
fn merge_needs_a_commit_and_a_clean_checkout() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["merge", "b1", "--yes"]).ends(1).says("only a committed bubble can be merged");
    done(&home, "b2");
    std::fs::write(home.repo.join("README.md"), "edited\n").unwrap();
    home.pairflow(&["merge", "b2", "--here", "--yes"]).ends(1).says("README.md");
    home.git(&["checkout", "--quiet", "README.md"]);
    home.git(&["switch", "--quiet", "-c", "elsewhere"]);
    home.pairflow(&["merge", "b2", "--yes"]).ok().says("main is at");
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
}

#[test]
fn merge_checks_the_merged_tree_when_the_base_has_moved() {
    let home = home();
    done(&home, "b1");
    home.commit("other.txt", "other\n", "the base moves");
    home.pairflow(&["merge", "b1", "--here", "--progress", "--yes"]).ok().says("on the merged tree");
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
    assert_eq!(home.git(&["show", "main:other.txt"]), "other");
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn open_runs_the_configured_command_with_the_path_as_one_argument() {
    let home = home();
    created(&home, "b0");
    home.pairflow(&["open", "b0"]).ends(1).says("pairflow start b0");
    let editor = home.root().join("my editor");
    write_program(&editor, "#!/bin/sh\nprintf '%s|' \"$@\" > \"$TMPDIR/opened\"\n");
    let toml = format!("open_command = \"'{}' -n {{{{worktree_path}}}}\"\n", editor.display());
    home.configure(&toml);
    started(&home, "b1");
    home.pairflow(&["open", "b1"]).ok().says("Opened bubble b1 with");
    let worktree = home.status("b1")["worktree"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(home.root().join("tmp/opened")).unwrap(), format!("-n|{worktree}|"));
}

#[test]
fn a_missing_editor_is_named() {
    let home = home();
    home.configure("open_command = \"no-such-editor {{worktree_path}}\"\n");
    started(&home, "b1");
    home.pairflow(&["open", "b1"]).ends(3).says("no-such-editor");
}

#[test]
fn the_watchdog_asks_only_when_the_time_is_up() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["watchdog", "b1"]).ok().says("codex has the turn; you are asked in 4 min ");
    let watched = home.pairflow(&["watchdog", "b1", "--json"]).ok().json();
    assert_eq!((&watched["escalated"], &watched["active_agent"]), (&json!(false), &json!("codex")));
    assert_eq!(home.status("b1")["state"], "RUNNING");
    created(&home, "b2");
    home.pairflow(&["watchdog", "b2"]).ok().says("No timeout is running");
    home.pairflow(&["pause", "b1"]).ok();
    home.pairflow(&["watchdog", "b1"]).ok().says("bubble b1 is paused").says("next: pairflow resume b1");
    let watched = home.pairflow(&["watchdog", "b1", "--json"]).ok().json();
    assert_eq!((&watched["paused"], &watched["watchdog_left_secs"]), (&json!(true), &json!(null)));
    home.pairflow(&["resume", "b1"]).ok();
    home.pairflow(&["supervisor", "stop"]).ok();
    let uncounted = "timeouts are paused: no supervisor is running";
    home.pairflow(&["watchdog", "b1"]).ok().says(uncounted).says("next: pairflow supervise");
    let status = home.pairflow(&["status", "b1"]).ok().stdout;
    assert!(status.contains(&format!("codex: hand over ({uncounted})")), "{status}");
    let view = home.pairflow(&["view", "b1", "--once"]).ok().stdout;
    assert!(view.contains(&format!("Watchdog  {uncounted}\n")), "{view}");
}

#[test]
fn what_is_over_is_listed_as_such_and_not_as_paused() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["pause", "b1"]).ok();
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    let listed = home.pairflow(&["list"]).ok().stdout;
    assert!(listed.contains("CANCELLED") && !listed.contains("paused"), "{listed}");
    assert_eq!(home.status("b1")["paused"], false);
}

#[test]
fn open_uses_the_editor_that_the_persons_file_names_now() {
    let home = home();
    let editor = |name: &str| {
        let path = home.root().join(name);
        write_program(&path, &format!("#!/bin/sh\necho {name} > \"$TMPDIR/opened\"\n"));
        format!("{} {{{{worktree_path}}}}", path.display())
    };
    let opened = || std::fs::read_to_string(home.root().join("tmp/opened")).unwrap();
    home.configure("open_command = \"no-such-editor {{worktree_path}}\"\n");
    started(&home, "b1");
    home.pairflow(&["open", "b1"]).ends(3).says("no-such-editor");
    home.configure(&format!("open_command = \"{}\"\n", editor("second")));
    home.pairflow(&["open", "b1"]).ok();
    assert_eq!(opened(), "second\n");
    // What was chosen for this bubble alone counts more.
    home.pairflow(&["config", "set", "b1", &format!("open_command={}", editor("third"))]).ok();
    home.pairflow(&["open", "b1"]).ok();
    assert_eq!(opened(), "third\n");
}

#[test]
fn a_deleted_bubble_comes_back_with_its_log_its_branch_and_its_files() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    codex.write("half.txt", "not handed over\n");
    for _ in 0..2 {
        home.pairflow(&["delete", "b1", "--yes"]).ok().says("To restore it: pairflow restore b1");
        assert!(!codex.worktree.exists());
        home.pairflow(&["status", "b1"]).ends(1);
        let back = home.pairflow(&["restore", "b1"]).ok().says("Restored bubble b1 (CANCELLED)");
        assert!(!back.stderr.contains("warning"), "{back:?}");
        let status = home.status("b1");
        assert_eq!((&status["foreign"], &status["worktree_gone"]), (&json!(null), &json!(false)));
        for file in ["done.txt", "half.txt"] {
            assert!(codex.worktree.join(file).is_file(), "{file}");
        }
        home.pairflow(&["verify", "b1"]).ok();
        assert_eq!(home.git(&["branch", "--list", "--format=%(refname:short)", "bubble/b1"]), "bubble/b1");
        assert_eq!(home.git(&["for-each-ref", "refs/pairflow/archive"]), "");
    }
    home.pairflow(&["restore", "b1"]).ends(1).says("there is no archive of a bubble 'b1'");
    done(&home, "b2");
    home.pairflow(&["delete", "b2", "--yes"]).ok();
    home.pairflow(&["restore", "b2"]).ok().says("(DONE)");
    home.pairflow(&["merge", "b2", "--here", "--yes"]).ok().says("Merged bubble b2");
}

#[test]
fn nothing_is_restored_over_another_bubble_nor_from_an_archive_that_came_from_elsewhere() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["delete", "b1", "--yes"]).ok();
    created(&home, "b1");
    home.pairflow(&["restore", "b1"]).ends(1).says("a bubble 'b1' already exists");
    started(&home, "b2");
    home.pairflow(&["delete", "b2", "--yes"]).ok();
    home.git(&["branch", "bubble/b2"]);
    home.commit("more.txt", "x\n", "main moves on");
    home.git(&["branch", "--force", "bubble/b2", "main"]);
    home.pairflow(&["restore", "b2"]).ends(3).says("branch bubble/b2 already exists");
    home.git(&["branch", "--quiet", "-D", "bubble/b2"]);
    // The same archive on a machine that has never seen its bubble.
    let other = crate::support::bubbles::home();
    let (from, to) = (home.repo.join(".pairflow/archive"), other.repo.join(".pairflow/archive"));
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let mut copy = std::process::Command::new("cp");
    copy.arg("-r").arg(&from).arg(&to);
    home.finish(copy).ok();
    let foreign = other.pairflow(&["restore", "b2"]).ends(1).says("is not the archive of a bubble that you deleted");
    assert!(foreign.stderr.contains("pairflow adopt b2"), "{foreign:?}");
    assert!(!other.repo.join(".pairflow/bubbles/b2").exists());
    home.pairflow(&["restore", "b2"]).ok();
}
