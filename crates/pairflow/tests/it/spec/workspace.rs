//! One bubble, one workspace: where it lies, what it is cut from, and what it cannot reach.

use std::path::Path;
use std::process::Stdio;

use pairflow_testkit::home::Home;
use serde_json::{Value, json};

use crate::support::bubbles::home;
use crate::support::log::{bytes, dir, lines, lines_of};
use crate::support::spec_story::{created, joined, running, to_done, to_package};

/// What two agents do who know the name of their bubble and tell it everywhere.
const TALKATIVE: &str = "
agents:
  codex:
    - - write: {path: ID.txt, text: \"ID\\n\"}
      - ask_human: \"a question of ID\"
      - pass: {summary: work of ID}
  claude:
    - - pass: {summary: review of ID, no_findings: true}
";

fn worktree(home: &Home, id: &str) -> std::path::PathBuf {
    home.status(id)["worktree"].as_str().unwrap().into()
}

/// Everything beneath a directory, as text.
fn all_text(dir: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text.push_str(&all_text(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    text
}

#[test]
fn a_bubble_has_one_worktree_and_one_branch_cut_from_its_base() {
    let home = home();
    home.git(&["branch", "release"]);
    home.commit("later.txt", "later\n", "main moves on");
    created(&home, "b1", &["--base", "release"]);
    joined(&home, "b1");
    assert_eq!(home.git(&["rev-parse", "bubble/b1"]), home.git(&["rev-parse", "release"]));
    assert_ne!(home.git(&["rev-parse", "bubble/b1"]), home.git(&["rev-parse", "main"]));
    let worktree = worktree(&home, "b1");
    assert!(!worktree.join("later.txt").exists());
    assert_eq!(home.git_in(&worktree, &["branch", "--show-current"]), "bubble/b1");
    let listed = home.git(&["worktree", "list"]);
    // The checkout for the checks is not on a branch.
    assert_eq!(listed.lines().filter(|line| !line.ends_with("(detached HEAD)")).count(), 2, "{listed}");
    assert_eq!(home.git(&["branch", "--list", "--format=%(refname:short)"]), "bubble/b1\nmain\nrelease");
}

#[test]
fn no_two_bubbles_share_a_branch_or_a_worktree() {
    let home = home();
    running(&home, "b1");
    let tip = home.git(&["rev-parse", "bubble/b1"]);
    created(&home, "b2", &[]);
    let file = dir(&home, "b2").join("bubble.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"bubble/b2\"", "\"bubble/b1\"")).unwrap();
    home.pairflow(&["config", "apply", "b2", "--yes"]).ok();
    home.pairflow(&["start", "b2"]).ends(3).says("bubble/b1");
    assert_eq!((&home.status("b2")["state"], home.git(&["rev-parse", "bubble/b1"])), (&json!("CREATED"), tip));
    std::fs::write(&file, text).unwrap();
    home.pairflow(&["config", "apply", "b2", "--yes"]).ok();
    home.pairflow(&["start", "b2"]).ok();
    assert_ne!(worktree(&home, "b1"), worktree(&home, "b2"));
    assert_ne!(home.status("b1")["branch"], home.status("b2")["branch"]);
}

#[test]
fn a_worktree_shares_the_objects_of_its_repository() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    let common = home.git_in(&codex.worktree, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    assert_eq!(Path::new(&common), home.repo.join(".git").canonicalize().unwrap());
    assert!(codex.worktree.join(".git").is_file(), "no repository of its own");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    let tree = home.status("b1")["snapshot"]["tree"].as_str().unwrap().to_owned();
    assert_eq!(home.git(&["show", &format!("{tree}:done.txt")]), "done");
}

#[test]
fn the_path_of_a_bubble_follows_from_its_id() {
    let home = home();
    let other = home.root().join("work/an other");
    std::fs::create_dir(&other).unwrap();
    home.git_in(&other, &["init", "--quiet", "--initial-branch=main"]);
    home.git_in(&other, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    running(&home, "b1");
    home.pairflow_in(&other, &["create", "--id", "b1", "--task", "x", "--test", "true", "--start"]).ok();
    let beside = home.root().canonicalize().unwrap().join("work/.pairflow-worktrees");
    assert!(beside.join("repo/b1/README.md").is_file());
    assert!(beside.join("an other/b1/.git").is_file());
}

#[test]
fn a_clone_goes_the_whole_way_too() {
    let home = home();
    home.commit("pairflow.toml", "work_mode = \"clone\"\n", "configuration");
    created(&home, "c1", &[]);
    let (codex, _) = to_done(&home, "c1");
    assert!(codex.worktree.join(".git/objects").is_dir(), "a repository of its own");
    assert_eq!(codex.worktree, home.root().canonicalize().unwrap().join("work/.pairflow-worktrees/repo/c1"));
    assert_eq!(home.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(home.git(&["show", "bubble/c1:done.txt"]), "done");
    assert_eq!(home.git(&["log", "--format=%s", "main..bubble/c1"]), "Write done.txt");
    home.pairflow(&["verify", "c1"]).ok().says("reviewed by claude and codex");
    home.pairflow(&["merge", "c1", "--here", "--yes"]).ok();
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
    home.pairflow(&["delete", "c1", "--yes"]).ok();
    assert!(!codex.worktree.exists());
}

#[test]
fn several_bubbles_start_at_the_same_time_and_see_nothing_of_each_other() {
    let home = home();
    let ids = ["t1", "t2", "t3", "t4", "t5"];
    ids.iter().for_each(|id| created(&home, id, &[]));
    let starts = ids.map(|id| {
        let mut command = home.command(&["bubble", "start", "--id", id]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    assert_eq!(starts.map(|mut start| start.wait().unwrap().code()), [Some(0); 5]);
    let agents = ids.map(|id| {
        home.wait_for_turn(id, "codex");
        home.agent(id, "codex")
    });
    for (agent, id) in agents.iter().zip(ids) {
        agent.write(format!("{id}.txt"), id);
        agent.write("README.md", id);
        agent.write("done.txt", "done\n");
    }
    for (agent, id) in agents.iter().zip(ids) {
        agent.pairflow(&["pass", "--summary", id]).ok();
    }
    for (agent, id) in agents.iter().zip(ids) {
        home.wait_for_turn(id, "claude");
        let files = home.pairflow(&["diff", id, "--json"]).ok().json()["files"].clone();
        let paths: Vec<_> = files.as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
        assert_eq!(paths, [json!("README.md"), json!("done.txt"), json!(format!("{id}.txt"))]);
        assert_eq!(std::fs::read_to_string(agent.worktree.join("README.md")).unwrap(), id);
    }
    assert_eq!(home.git(&["status", "--porcelain"]), "", "and the person's checkout is as it was");
}

#[test]
fn a_bubble_is_started_once_however_many_try() {
    let home = home();
    created(&home, "b1", &[]);
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let mut command = home.command(&["start", "b1"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut codes: Vec<_> = starts.into_iter().map(|mut start| start.wait().unwrap().code().unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes[0], 0);
    assert!(codes[1..].iter().all(|code| [1, 4].contains(code)), "{codes:?}");
    for event in ["start_requested", "workspace_ready"] {
        let times = lines(&home, "b1").iter().filter(|line| line["payload"]["event"] == event).count();
        assert_eq!((event, times), (event, 1));
    }
    assert_eq!(lines_of(&home, "b1", "TASK").len(), 1);
    let before = home.wait_for_turn("b1", "codex");
    let log = bytes(&home, "b1");
    home.pairflow(&["start", "b1"]).ends(1).says("RUNNING");
    assert_eq!(bytes(&home, "b1"), log);
    assert_eq!(home.status("b1")["active_since"], before["active_since"]);
}

#[test]
fn only_the_bubbles_own_worktree_gets_into_its_snapshots_and_its_commit() {
    let home = home();
    let (other, _) = running(&home, "b2");
    created(&home, "b1", &[]);
    std::fs::write(home.repo.join("README.md"), "the person's own edit\n").unwrap();
    std::fs::write(home.repo.join("untracked.txt"), "the person's own file\n").unwrap();
    other.write("other.txt", "of another bubble\n");
    let (codex, _) = to_package(&home, "b1");
    std::os::unix::fs::symlink(home.repo.join("untracked.txt"), codex.worktree.join("link")).unwrap();
    home.pairflow(&["approve", "b1", "--yes"]).ends(1).says("link");
    std::fs::remove_file(codex.worktree.join("link")).unwrap();
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(home.git(&["diff", "--name-only", "main", "bubble/b1"]), "done.txt");
    for line in lines_of(&home, "b1", "EVIDENCE") {
        let Some(tree) = line["payload"]["snapshot"]["tree"].as_str() else { continue };
        let files = home.git(&["ls-tree", "-r", "--name-only", tree]);
        assert!(!files.contains("untracked.txt") && !files.contains("other.txt"), "{files}");
        assert_eq!(home.git(&["show", &format!("{tree}:README.md")]), "# Repository");
    }
    assert_eq!(home.git(&["status", "--porcelain"]), " M README.md\n?? untracked.txt");
    assert_eq!(home.git_in(&other.worktree, &["status", "--porcelain"]), "?? other.txt");
}

#[test]
fn ids_that_begin_alike_and_equal_ids_in_two_repositories_are_kept_apart() {
    let home = home();
    for id in ["b", "b1", "b1-2"] {
        running(&home, id);
    }
    let other = home.root().join("work/other");
    std::fs::create_dir(&other).unwrap();
    home.git_in(&other, &["init", "--quiet", "--initial-branch=main"]);
    home.git_in(&other, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    home.pairflow_in(&other, &["create", "--id", "b1", "--task", "another b1", "--test", "true", "--start"]).ok();
    home.pairflow(&["pause", "b"]).ok();
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    let state = |id: &str| (home.status(id)["state"].clone(), home.status(id)["paused"].clone());
    assert_eq!(state("b"), (json!("RUNNING"), json!(true)));
    assert_eq!(state("b1"), (json!("CANCELLED"), json!(false)));
    assert_eq!(state("b1-2"), (json!("RUNNING"), json!(false)));
    let twin: Value = home.pairflow_in(&other, &["status", "b1", "--json"]).ok().json();
    assert_eq!((&twin["state"], &twin["task_title"]), (&json!("RUNNING"), &json!("another b1")));
    for id in ["b", "b1", "b1-2"] {
        assert!(home.repo.join(format!(".pairflow/locks/{id}.lock")).is_file(), "{id}");
    }
}

#[test]
fn nothing_of_one_bubble_is_found_in_another() {
    let home = home();
    let ids = ["alpha", "beta", "gamma", "delta"];
    for id in ids {
        let script = home.root().join(format!("{id}.yaml"));
        std::fs::write(&script, TALKATIVE.replace("ID", id)).unwrap();
        home.pairflow(&["create", "--id", id, "--task", &format!("task of {id}"), "--test", "true"]).ok();
        home.pairflow(&["start", id, "--driver", "script", "--script", script.to_str().unwrap()]).ok();
    }
    for id in ids {
        home.wait_for_state(id, "WAITING_HUMAN");
        home.pairflow(&["reply", id, "--message", &format!("answer to {id}")]).ok();
    }
    for id in ids {
        home.wait_for(id, |status| {
            status["looks_used"] == 1 && status["active_role"] == "reviewer" && status["active_agent"] == "codex"
        });
    }
    home.pairflow(&["supervisor", "stop"]).ok();
    for id in ids {
        assert!(lines(&home, id).iter().all(|line| line["bubble_id"] == id));
        let runtime = home.repo.join(".pairflow/runtime").join(id);
        assert!(runtime.join("codex.log").is_file() && runtime.join("claude.log").is_file(), "{runtime:?}");
        let everything = all_text(&dir(&home, id)) + &all_text(&runtime);
        assert!(everything.contains(&format!("review of {id}")));
        for other in ids.iter().filter(|other| **other != id) {
            assert!(!everything.contains(other), "{other} is mentioned in {id}");
        }
    }
}
