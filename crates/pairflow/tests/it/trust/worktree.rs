//! The worktree of a bubble: what is not it is left alone, and what was damaged is repaired without losing work.

use std::path::PathBuf;

use pairflow_testkit::home::Home;

use crate::support::bubbles::{home, quiet, started};

fn worktree(home: &Home) -> PathBuf {
    PathBuf::from(home.status("b1")["worktree"].as_str().unwrap())
}

#[test]
fn a_worktree_that_git_has_forgotten_is_named_and_repaired_with_its_work() {
    let home = home();
    started(&home, "b1");
    let worktree = worktree(&home);
    std::fs::write(worktree.join("half.txt"), "half done\n").unwrap();
    std::fs::remove_dir_all(home.repo.join(".git/worktrees/b1")).unwrap();
    home.pairflow(&["doctor"]).ends(3).says("no longer point to each other").says("pairflow resume b1");
    let status = home.status("b1");
    assert!(status["worktree_problem"].as_str().unwrap().contains("no longer point to each other"), "{status:#}");
    assert_eq!(status["next"][0], "pairflow resume b1");
    home.pairflow(&["resume", "b1"]).ok();
    assert_eq!(std::fs::read_to_string(worktree.join("half.txt")).unwrap(), "half done\n");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    home.pairflow(&["diff", "b1"]).ok().says("half done");
    assert_eq!(home.git_in(&worktree, &["branch", "--show-current"]), home.status("b1")["branch"].as_str().unwrap());
}

#[test]
fn what_only_lies_in_the_place_of_a_worktree_is_not_removed() {
    let home = home();
    started(&home, "b1");
    quiet(&home);
    let worktree = worktree(&home);
    let own = home.root().join("own");
    std::fs::rename(&worktree, &own).unwrap();
    let refused = |what: &str| {
        home.pairflow(&["delete", "b1", "--yes"]).ends(3).says("is not the worktree of this bubble");
        assert!(worktree.join("precious.txt").exists(), "{what} was removed");
        assert_eq!(home.status("b1")["state"], "RUNNING", "it was stopped, though it cannot be deleted");
    };
    // A repository of its own.
    std::fs::create_dir_all(&worktree).unwrap();
    std::fs::write(worktree.join("precious.txt"), "mine\n").unwrap();
    home.git_in(&worktree, &["init", "--quiet"]);
    refused("another repository");
    // The worktree itself, but through a link above it.
    std::fs::remove_dir_all(&worktree).unwrap();
    let (parent, away) = (worktree.parent().unwrap(), home.root().join("away"));
    std::fs::rename(parent, &away).unwrap();
    std::fs::rename(&own, away.join("b1")).unwrap();
    std::fs::write(away.join("b1/precious.txt"), "mine\n").unwrap();
    std::os::unix::fs::symlink(&away, parent).unwrap();
    refused("what a link leads to");
}

#[test]
fn files_of_another_directory_never_get_into_a_snapshot() {
    let home = home();
    started(&home, "b1");
    let worktree = worktree(&home);
    let secret = home.root().join("secret");
    std::fs::create_dir_all(&secret).unwrap();
    std::fs::write(secret.join("id_rsa"), "private\n").unwrap();
    let codex = home.agent("b1", "codex");
    std::fs::rename(&worktree, home.root().join("aside")).unwrap();
    std::os::unix::fs::symlink(&secret, &worktree).unwrap();
    let mut pass = codex.command(&["pass", "--summary", "first cut"]);
    pass.current_dir(home.root());
    home.finish(pass);
    quiet(&home);
    home.pairflow(&["supervise", "--once"]);
    let objects = home.git(&["rev-list", "--objects", "--all"]);
    assert!(!objects.contains("id_rsa"), "a foreign file is in a snapshot:\n{objects}");
    let status = home.status("b1");
    assert!(status["worktree_problem"].as_str().unwrap().contains("not the worktree of this bubble"), "{status:#}");
    home.pairflow(&["delete", "b1", "--yes"]).ends(3).says("is not the worktree of this bubble");
    assert_eq!(std::fs::read_to_string(secret.join("id_rsa")).unwrap(), "private\n");
}

#[test]
fn another_repository_in_the_place_of_the_worktree_is_neither_read_nor_run_in() {
    let home = home();
    started(&home, "b1");
    let worktree = worktree(&home);
    let codex = home.agent("b1", "codex");
    std::fs::rename(&worktree, home.root().join("aside")).unwrap();
    // A clone of the same repository has every commit that a snapshot needs.
    home.git(&["clone", "--quiet", &home.repo.display().to_string(), &worktree.display().to_string()]);
    std::fs::write(worktree.join("done.txt"), "private\n").unwrap();
    let branch = home.status("b1")["branch"].as_str().unwrap().to_owned();
    home.git_in(&worktree, &["switch", "--quiet", "-c", &branch]);
    let not_ours = "is not the worktree of this bubble";
    codex.pairflow(&["pass", "--summary", "first cut"]).ends(3).says(not_ours);
    home.pairflow(&["diff", "b1"]).ends(3).says(not_ours);
    home.pairflow(&["open", "b1"]).ends(3).says(not_ours);
    home.pairflow(&["supervise", "--once"]);
    let refs = home.git(&["for-each-ref", "--format=%(refname)", "refs/pairflow"]);
    assert_eq!(refs, "", "no snapshot was taken");
    // With the worktree back in its place the work goes on.
    std::fs::remove_dir_all(&worktree).unwrap();
    std::fs::rename(home.root().join("aside"), &worktree).unwrap();
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    home.pairflow(&["diff", "b1"]).ok().says("+done");
}
