//! What an adoption is bound to, what it leaves behind, and repositories that were moved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Bubble, Denial, Engine, UserDirs};
use pairflow_engine::store::RealDisk;
use pairflow_testkit::home::Home;
use serde_json::Value;

use super::support::{copy, log_of};
use crate::support::bubbles::{created, home, program, quiet, started};

/// The engine of the person whose home this is.
fn engine(home: &Home) -> Engine {
    let root = home.root().canonicalize().unwrap();
    let dir = |name: &str| {
        let below = match name {
            "HOME" => "home",
            "XDG_RUNTIME_DIR" => "run",
            "XDG_STATE_HOME" => "state",
            _ => "config",
        };
        Some(root.join(below).into_os_string())
    };
    Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), UserDirs::find(dir).unwrap())
}

fn bubble(home: &Home, repo: &Path, id: &str) -> Bubble {
    engine(home).look_at(&repo.canonicalize().unwrap(), &id.parse().unwrap()).unwrap()
}

/// Why `status` calls a bubble foreign; empty if it is the person's own.
#[track_caller]
fn why(home: &Home, repo: &Path, id: &str) -> String {
    let status = home.pairflow_in(repo, &["status", id, "--json"]).ok().json();
    status["foreign"].as_str().unwrap_or_default().to_owned()
}

fn worktree(home: &Home, repo: &Path, id: &str) -> PathBuf {
    PathBuf::from(home.pairflow_in(repo, &["status", id, "--json"]).ok().json()["worktree"].as_str().unwrap())
}

/// Makes another repository of the same person, with one commit.
fn repository(home: &Home, name: &str) -> PathBuf {
    let path = home.root().canonicalize().unwrap().join("work").join(name);
    std::fs::create_dir_all(&path).unwrap();
    home.git_in(&path, &["init", "--quiet", "-b", "main"]);
    std::fs::write(path.join("README.md"), name).unwrap();
    home.git_in(&path, &["add", "."]);
    home.git_in(&path, &["commit", "--quiet", "-m", name]);
    path
}

#[track_caller]
fn create_in(home: &Home, repo: &Path, id: &str) {
    home.pairflow_in(repo, &["create", "--id", id, "--task", "Write done.txt", "--test", "true"]).ok();
}

/// Starts a bubble, and leaves a file of half-done work in its worktree.
#[track_caller]
fn start_in(home: &Home, repo: &Path, id: &str) {
    create_in(home, repo, id);
    home.pairflow_in(repo, &["start", id]).ok();
    std::fs::write(worktree(home, repo, id).join("half.txt"), "half done\n").unwrap();
    quiet(home);
}

/// Puts bubbles into the repository that somebody else has created with this setup command.
fn present(home: &Home, setup: &str, ids: &[&str]) {
    let other = Home::new(program());
    other.configure(&format!("[commands]\ntest = \"true\"\nsetup = {}\n", Value::from(setup)));
    for id in ids {
        other.pairflow(&["create", "--id", id, "--task", "x"]).ok();
        copy(&log_of(&other.repo, id), &log_of(&home.repo, id));
    }
}

/// Breaks the second line of a log.
fn damage(repo: &Path, id: &str) {
    let log = log_of(repo, id);
    let mut bytes = std::fs::read(&log).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[second + 40] ^= 1;
    std::fs::write(log, bytes).unwrap();
}

#[test]
fn a_log_that_was_exchanged_after_it_was_shown_is_not_adopted() {
    let home = home();
    present(&home, "true", &["b1"]);
    let bubble = bubble(&home, &home.repo, "b1");
    let shown = bubble.examine().unwrap().expect("it is foreign");
    assert_eq!(shown.state.rules.setup.as_deref(), Some("true"));
    present_again(&home, "touch canary");
    let before = std::fs::read(log_of(&home.repo, "b1")).unwrap();
    let denial = Denial::from(&bubble.adopt(&shown).unwrap_err());
    assert_eq!((denial.exit, denial.next.as_deref()), (4, Some("pairflow adopt b1")), "{}", denial.message);
    assert!(denial.message.contains("has changed since it was shown"), "{}", denial.message);
    assert_eq!(std::fs::read(log_of(&home.repo, "b1")).unwrap(), before, "a log was written that nobody has seen");
    assert!(why(&home, &home.repo, "b1").contains("not created by you"));
    home.pairflow(&["adopt", "b1"]).ends(1).says("touch canary");
}

/// Exchanges the log of b1 for one with another setup command.
fn present_again(home: &Home, setup: &str) {
    let log = log_of(&home.repo, "b1");
    // The new file may get the number of the old one; then a state that is left would call it damaged.
    let _ = std::fs::remove_file(log.with_file_name("state.json"));
    std::fs::remove_file(log).unwrap();
    present(home, setup, &["b1"]);
}

#[test]
fn a_state_file_that_came_along_is_not_what_is_shown() {
    let home = home();
    present(&home, "touch canary", &["b1"]);
    // A state that fits the log's file, as only its writer can make it, but tells something else.
    let log = log_of(&home.repo, "b1");
    let state = log.with_file_name("state.json");
    home.pairflow(&["adopt", "b1", "--yes"]).ok();
    let text = std::fs::read_to_string(&state).unwrap().replace("touch canary", "echo harmless");
    let (body, _) = text.rsplit_once(",\"crc\":\"").unwrap();
    std::fs::write(&state, format!("{body},\"crc\":\"{:08x}\"}}\n", super::ownership::crc(body.as_bytes()))).unwrap();
    std::fs::remove_dir_all(home.root().join("state/pairflow/bubbles")).unwrap();
    let shown = home.pairflow(&["adopt", "b1"]).ends(1);
    shown.says("Setup runs: touch canary");
}

#[test]
fn a_moved_log_that_was_exchanged_after_it_was_shown_is_not_registered() {
    let mut home = home();
    created(&home, "b1");
    let old = home.repo.clone();
    home.repo = home.root().join("work/elsewhere");
    std::fs::rename(&old, &home.repo).unwrap();
    let bubble = bubble(&home, &home.repo, "b1");
    let shown = bubble.examine().unwrap().expect("it was moved");
    present_again(&home, "touch canary");
    assert_eq!(Denial::from(&bubble.adopt(&shown).unwrap_err()).exit, 4);
    assert!(!why(&home, &home.repo, "b1").is_empty());
}

#[test]
fn a_bubble_that_is_foreign_and_damaged_is_repaired_first_and_adopted_then() {
    let home = home();
    started(&home, "b1");
    created(&home, "b2");
    quiet(&home);
    std::fs::remove_dir_all(home.root().join("state/pairflow/bubbles")).unwrap();
    let _ = std::fs::remove_file(log_of(&home.repo, "b1").with_file_name("state.json"));
    damage(&home.repo, "b1");
    home.pairflow(&["adopt", "b1", "--yes"]).ends(5).says("pairflow doctor --repair");
    let all = home.pairflow(&["adopt", "--all", "--yes"]).ends(5);
    all.says("Adopted bubble b2").says("bubble b1 was skipped").says("pairflow doctor --repair");
    home.pairflow(&["doctor", "--repair", "--yes"]).says("pairflow adopt b1");
    assert!(why(&home, &home.repo, "b1").contains("not created by you"), "a repair made a foreign bubble one's own");
    let adopted = home.pairflow(&["adopt", "--all", "--yes", "--json"]).ok().json();
    assert_eq!(
        (&adopted["bubbles"][0]["bubble_id"], &adopted["left_out"]),
        (&Value::from("b1"), &Value::from(vec![0; 0]))
    );
    assert_eq!(why(&home, &home.repo, "b1"), "");
}

#[test]
fn a_program_is_not_asked_and_foreign_text_shows_as_it_is() {
    let home = home();
    present(&home, "true\n  Check test runs: harmless\u{1b}[2K", &["b1"]);
    let shown = home.pairflow(&["adopt", "b1", "--json"]).ends(1);
    let shown = shown.says("--json never asks; add --yes").says("| ").says("Check test runs: harmless^[[2K");
    assert!(!shown.stderr.contains('\u{1b}'), "{:?}", shown.stderr);
    assert!(!shown.stderr.lines().any(|line| line.starts_with("  Check test runs: harmless")), "{}", shown.stderr);
}

#[test]
fn a_repository_in_the_place_of_another_is_moved_and_the_others_record_stays() {
    let home = home();
    let (a, b, c) = (repository(&home, "a"), repository(&home, "b"), home.root().join("work/c"));
    create_in(&home, &a, "b1");
    create_in(&home, &b, "b1");
    std::fs::rename(&b, &c).unwrap();
    std::fs::rename(&a, &b).unwrap();
    let moved = "was probably moved";
    assert!(why(&home, &b, "b1").contains(moved) && why(&home, &b, "b1").contains(&a.display().to_string()));
    assert!(why(&home, &c, "b1").contains(moved), "{}", why(&home, &c, "b1"));
    home.pairflow_in(&b, &["adopt", "b1", "--yes"]).ok().says("is registered at its new place");
    assert!(why(&home, &c, "b1").contains(moved), "the record of another bubble was lost: {}", why(&home, &c, "b1"));
    home.pairflow_in(&c, &["adopt", "b1", "--yes"]).ok().says("is registered at its new place");
    assert_eq!((why(&home, &b, "b1"), why(&home, &c, "b1")), (String::new(), String::new()));
    // And back again, each to its old place.
    std::fs::rename(&b, &a).unwrap();
    std::fs::rename(&c, &b).unwrap();
    for repo in [&b, &a] {
        assert!(why(&home, repo, "b1").contains(moved), "{}", why(&home, repo, "b1"));
        home.pairflow_in(repo, &["adopt", "b1", "--yes"]).ok().says("is registered at its new place");
    }
    assert_eq!((why(&home, &a, "b1"), why(&home, &b, "b1")), (String::new(), String::new()));
}

#[test]
fn an_original_that_is_moved_after_its_copy_was_adopted_is_not_called_a_copy() {
    let home = home();
    let (a, copied, moved) = (repository(&home, "a"), home.root().join("work/copied"), home.root().join("work/moved"));
    create_in(&home, &a, "b1");
    copy(&a, &copied);
    assert!(why(&home, &copied, "b1").contains("copy of the bubble"));
    home.pairflow_in(&copied, &["adopt", "b1", "--yes"]).ok();
    std::fs::rename(&a, &moved).unwrap();
    assert!(why(&home, &moved, "b1").contains("was probably moved"), "{}", why(&home, &moved, "b1"));
    home.pairflow_in(&moved, &["adopt", "b1", "--yes"]).ok().says("is registered at its new place");
    assert_eq!((why(&home, &copied, "b1"), why(&home, &moved, "b1")), (String::new(), String::new()));
}

#[test]
fn a_log_in_the_place_of_another_bubble_of_unknown_origin_is_foreign() {
    let home = home();
    created(&home, "b1");
    present_again(&home, "touch canary");
    assert!(why(&home, &home.repo, "b1").contains("its log was replaced"));
}

#[test]
fn a_clone_is_moved_along_only_if_it_is_the_bubbles_own() {
    let home = home();
    let (a, moved) = (repository(&home, "a"), home.root().canonicalize().unwrap().join("work/moved"));
    let task = ["create", "--id", "b1", "--task", "x", "--test", "true", "--work-mode", "clone"];
    home.pairflow_in(&a, &task).ok();
    home.pairflow_in(&a, &["start", "b1"]).ok();
    let clone = worktree(&home, &a, "b1");
    std::fs::write(clone.join("half.txt"), "half done\n").unwrap();
    quiet(&home);
    std::fs::rename(&a, &moved).unwrap();
    home.git_in(&clone, &["config", "remote.origin.url", "/elsewhere"]);
    home.pairflow_in(&moved, &["adopt", "b1", "--yes"]).ends(3).says("it is not a clone of the repository");
    assert!(clone.join("half.txt").exists(), "a foreign clone was moved");
    home.git_in(&clone, &["config", "remote.origin.url", &a.display().to_string()]);
    home.pairflow_in(&moved, &["adopt", "b1", "--yes"]).ok();
    let status = home.pairflow_in(&moved, &["status", "b1", "--json"]).ok().json();
    assert_eq!((&status["worktree_problem"], &status["worktree_gone"]), (&Value::Null, &Value::Bool(false)));
    assert!(worktree(&home, &moved, "b1").join("half.txt").exists());
}

#[test]
fn a_repository_with_its_git_directory_elsewhere_can_be_moved() {
    let home = home();
    let (a, moved) = (repository(&home, "a"), home.root().canonicalize().unwrap().join("work/moved"));
    let git_dir = home.root().join("work/a.git");
    home.git_in(&a, &["init", "--quiet", "--separate-git-dir", &git_dir.display().to_string()]);
    start_in(&home, &a, "b1");
    std::fs::rename(&a, &moved).unwrap();
    home.pairflow_in(&moved, &["adopt", "b1", "--yes"]).ok().says("is registered at its new place");
    let status = home.pairflow_in(&moved, &["status", "b1", "--json"]).ok().json();
    assert_eq!((&status["worktree_problem"], &status["worktree_gone"]), (&Value::Null, &Value::Bool(false)));
    assert!(worktree(&home, &moved, "b1").join("half.txt").exists());
}

#[test]
fn a_worktree_that_git_has_recorded_elsewhere_is_not_replaced_by_another() {
    let home = home();
    let (a, moved) = (repository(&home, "a"), home.root().canonicalize().unwrap().join("work/moved"));
    start_in(&home, &a, "b1");
    let (own, elsewhere) = (worktree(&home, &a, "b1"), home.root().canonicalize().unwrap().join("work/by-hand"));
    copy(&own, &home.root().join("kept"));
    home.git_in(&a, &["worktree", "move", &own.display().to_string(), &elsewhere.display().to_string()]);
    copy(&home.root().join("kept"), &own);
    let recorded = |repo: &Path| std::fs::read_to_string(repo.join(".git/worktrees/b1/gitdir")).unwrap();
    let before = recorded(&a);
    home.pairflow_in(&a, &["resume", "b1"]).ends(3).says("by-hand");
    assert_eq!(recorded(&a), before, "the record of a living worktree was taken");
    quiet(&home);
    std::fs::rename(&a, &moved).unwrap();
    home.pairflow_in(&moved, &["adopt", "b1", "--yes"]).ends(3).says("by-hand");
    assert_eq!(recorded(&moved), before, "the record of a living worktree was taken");
    assert!(own.join("half.txt").exists() && elsewhere.join("half.txt").exists());
}
