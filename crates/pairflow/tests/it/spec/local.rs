//! Local first: nothing but the machine, its git and one program; and nothing leaves it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pairflow_testkit::home::{Home, write_program};
use serde_json::json;

use crate::support::bubbles::home;
use crate::support::spec_story::{created, joined, running, to_done, to_package};

/// The inodes of all sockets that a process holds.
fn sockets(pid: u64) -> BTreeSet<String> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = open.filter_map(|fd| fd.path().read_link().ok()).map(|path| path.display().to_string());
    links.filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect()
}

/// The inodes of all sockets of this machine that can reach beyond it.
fn internet_sockets() -> BTreeSet<String> {
    let tables = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"].map(|name| format!("/proc/net/{name}"));
    let rows = tables.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let inode = |row: &str| row.split_whitespace().nth(9).map(str::to_owned);
    rows.flat_map(|text| text.lines().skip(1).filter_map(inode).collect::<Vec<_>>()).collect()
}

fn reaches_out(home: &Home) -> BTreeSet<String> {
    let pid = home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    let held = sockets(pid);
    assert!(!held.is_empty(), "the supervisor listens on a socket in the file system");
    held.intersection(&internet_sockets()).cloned().collect()
}

/// Puts a git before the real one that writes down what it is asked for, and returns the PATH and the file.
fn listening_git(home: &Home) -> (String, PathBuf) {
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap();
    let (bin, heard) = (home.root().join("bin"), home.root().join("heard"));
    std::fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec '{}' \"$@\"\n", heard.display(), real.display());
    write_program(&bin.join("git"), &script);
    (format!("{}:{path}", bin.display()), heard)
}

#[test]
fn the_whole_way_needs_no_network_and_no_service() {
    let home = home();
    created(&home, "b1", &[]);
    to_package(&home, "b1");
    assert_eq!(reaches_out(&home), BTreeSet::new());
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    home.pairflow(&["merge", "b1", "--here", "--yes"]).ok();
    let runtime: Vec<_> = std::fs::read_dir(home.root().join("run/pairflow")).unwrap().flatten().collect();
    let names: BTreeSet<_> = runtime.iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["supervisor.lock", "supervisor.sock"].map(str::to_owned).into());
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
}

#[test]
fn nothing_is_ever_pushed() {
    let home = home();
    let remote = home.root().join("remote.git");
    home.git(&["clone", "--quiet", "--bare", ".", remote.to_str().unwrap()]);
    home.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    home.git(&["fetch", "--quiet", "origin"]);
    home.git(&["branch", "--quiet", "--set-upstream-to=origin/main", "main"]);
    home.git(&["config", "push.default", "current"]);
    let before = home.git_in(&remote, &["for-each-ref"]);
    let (path, heard) = listening_git(&home);
    let mut supervise = home.command(&["supervise"]);
    supervise.env("PATH", &path);
    home.finish(supervise).ok();
    for (id, mode) in [("w1", "worktree"), ("c1", "clone")] {
        std::fs::write(home.repo.join("pairflow.toml"), format!("work_mode = \"{mode}\"\n")).unwrap();
        created(&home, id, &[]);
        std::fs::remove_file(home.repo.join("pairflow.toml")).unwrap();
        let (codex, _) = to_done(&home, id);
        assert_eq!(codex.worktree.join(".git").is_dir(), mode == "clone");
        let mut merge = home.command(&["merge", id, "--here", "--yes"]);
        merge.env("PATH", &path);
        home.finish(merge).ok();
        // The next bubble does the same work.
        home.git(&["rm", "--quiet", "done.txt"]);
        home.git(&["commit", "--quiet", "-m", "once more"]);
    }
    assert_eq!(home.git_in(&remote, &["for-each-ref"]), before);
    let heard = std::fs::read_to_string(heard).unwrap();
    assert!(heard.contains("worktree add") && heard.contains("commit-tree"), "the canary sings:\n{heard}");
    for word in ["push", "send-pack", "http-push", "send-email", "ls-remote"] {
        let said = heard.lines().find(|line| line.split_whitespace().any(|part| part == word));
        assert_eq!(said, None, "git was asked for {word}");
    }
}

#[test]
fn every_command_names_the_bubble_that_it_acted_on() {
    let home = home();
    running(&home, "other");
    created(&home, "login-race", &[]);
    let named = |args: &[&str]| {
        home.pairflow(args).ok().says("login-race");
    };
    named(&["start", "login"]);
    home.wait_for_turn("login-race", "codex");
    let (codex, claude) = (home.agent("login-race", "codex"), home.agent("login-race", "claude"));
    named(&["pause", "login"]);
    named(&["resume", "login"]);
    named(&["watchdog", "login"]);
    codex.pairflow(&["ask-human", "--question", "May I?"]).ok().says("login-race");
    named(&["inbox", "login"]);
    named(&["reply", "login", "--message", "yes"]);
    codex.write("done.txt", "done\n");
    home.wait_for_turn("login-race", "codex");
    let passed = codex.pairflow(&["pass", "--summary", "x", "--json"]).ok().json();
    assert_eq!(passed["bubble_id"], "login-race");
    home.wait_for_turn("login-race", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ok();
    home.wait_for_turn("login-race", "codex");
    codex.converged("x").ok().says("login-race");
    named(&["request-rework", "login", "--message", "once more"]);
    named(&["status", "login", "--json"]);
    named(&["log", "login"]);
    named(&["verify", "login"]);
    named(&["stop", "login", "--yes"]);
    home.pairflow(&["delete", "login", "--yes"]).ends(1).says("type its full id");
    named(&["delete", "login-race", "--yes"]);
    assert_eq!(home.status("other")["state"], "RUNNING");
}

#[test]
fn an_agent_in_the_worktree_of_another_bubble_is_refused() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    let (other, _) = running(&home, "b2");
    let mut strayed = codex.command(&["pass", "--summary", "x"]);
    strayed.current_dir(&other.worktree);
    let ran = home.finish(strayed).ends(1).says("works in bubble b1").says("belongs to bubble b2");
    assert!(ran.stderr.contains(codex.worktree.to_str().unwrap()), "{ran:?}");
    codex.pairflow(&["pass", "--summary", "x", "--id", "b2"]).ends(1).says("works in bubble b1");
    let mut elsewhere = codex.command(&["pass", "--summary", "x"]);
    elsewhere.current_dir(codex.worktree.join(".."));
    home.finish(elsewhere).ok();
    assert_eq!(home.status("b2")["active_agent"], json!("codex"));
    home.pairflow(&["status", "b1", "--repo", home.root().to_str().unwrap()]).ends(1);
}

#[test]
fn the_product_is_one_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let shipped = manifest.lines().find(|line| line.starts_with("default-members")).unwrap();
    assert_eq!(shipped, "default-members = [\"crates/pairflow\"]", "what `cargo build` builds and ships");
    let own = root.join("crates/pairflow");
    assert!(own.join("src/main.rs").is_file() && !own.join("src/bin").exists());
    assert!(!std::fs::read_to_string(own.join("Cargo.toml")).unwrap().contains("[[bin]]"));
    // It plays supervisor, scripted agent and alias itself: alone in its directory it does the whole journey.
    let home = home();
    let alone = home.root().join("alone");
    std::fs::create_dir(&alone).unwrap();
    // `cp` makes the copy: a file that this process has open for writing may be held by what other tests start.
    let mut copy = std::process::Command::new("cp");
    assert!(copy.arg(env!("CARGO_BIN_EXE_pairflow")).arg(&alone).status().unwrap().success());
    let home = Home::new(alone.join("pairflow"));
    home.pairflow(&["demo"]).ok().says("asks for approval");
}

#[test]
fn a_bubble_works_without_any_configuration_of_the_person() {
    let home = home();
    std::fs::remove_dir_all(home.root().join("config/pairflow")).unwrap();
    created(&home, "b1", &["--driver", "external"]);
    joined(&home, "b1");
    assert_eq!(home.status("b1")["state"], "RUNNING");
    assert!(std::fs::read_dir(home.root().join("config")).unwrap().next().is_none(), "and none is made behind them");
}
