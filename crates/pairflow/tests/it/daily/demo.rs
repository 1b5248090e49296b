//! `pairflow demo`: the whole journey, honest when it fails, and nothing left behind, however it ends.

use std::path::Path;
use std::process::Stdio;

use pairflow_testkit::home::Home;
use pairflow_testkit::home::processes_in;
use pairflow_testkit::wait::wait_until;

use crate::support::bubbles::home;
use crate::support::terminal::{bin_with, shell};

/// Replaces what differs from run to run: times, hashes and the demo's directory.
fn redacted(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n', '/', '.']).map(|word| {
        let bare = word.trim_end_matches([' ', '\n', '/', '.', ',', ':']);
        let rest = &word[bare.len()..];
        let hash = bare.len() >= 12 && bare.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
        if hash {
            format!("<hash>{rest}")
        } else if bare.starts_with("pairflow-demo-") {
            format!("<demo>{rest}")
        } else {
            word.to_owned()
        }
    });
    let text: String = words.collect();
    let lines = text.lines().map(|line| {
        let timed = line.trim_start().split_once(" s  ").filter(|(time, _)| time.parse::<f64>().is_ok());
        let line = timed.map_or_else(|| line.to_owned(), |(_, rest)| format!("  #.## s  {rest}"));
        match line.split_once("passed in ") {
            Some((before, _)) => format!("{before}passed in # s"),
            None => line,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn tmp(home: &Home) -> std::path::PathBuf {
    home.root().join("tmp")
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn the_demo_shows_the_whole_journey_and_leaves_nothing() {
    let home = home();
    let ran = home.pairflow(&["demo"]).ok();
    assert_eq!(ran.stderr, "");
    let tmp_path = tmp(&home).canonicalize().unwrap();
    insta::assert_snapshot!(redacted(&ran.stdout.replace(&tmp_path.display().to_string(), "<tmp>")));
    assert!(is_empty(&tmp(&home)));
    // The last of its processes may still be on its way out.
    wait_until("the end of every process of the demo", || {
        processes_in(&tmp_path).iter().all(|line| line.ends_with(": "))
    });
}

#[test]
fn a_thorough_demo_shows_tests_independent_looks_and_a_judge() {
    let home = home();
    let ran = home.pairflow(&["demo", "--thorough"]).ok();
    for shown in [
        "claude    writes acceptance tests (F1)",
        "sends the work back to codex before a review: the reproducer of F1 still fails",
        "reproducer of F2 failed",
        "(F4)",
        "F3 disputed",
        "test of the fix of F4 fails without it and passes with it",
        "F3 reopened",
        "opens the turn of claude, judge",
        "reviewed clean by claude and codex",
        "lines of the log are valid.",
    ] {
        assert!(ran.stdout.contains(shown), "{shown}:\n{}", ran.stdout);
    }
    assert!(is_empty(&tmp(&home)));
}

#[test]
fn the_demo_touches_nothing_of_the_person() {
    let home = home();
    std::fs::remove_dir_all(home.root().join("config/pairflow")).unwrap();
    home.pairflow(&["demo"]).ok();
    for dir in ["run", "state", "config"] {
        assert!(is_empty(&home.root().join(dir)), "{dir}");
    }
    assert_eq!(home.git(&["status", "--porcelain"]), "");
    assert!(!home.repo.join(".pairflow").exists());
}

#[test]
fn a_kept_demo_can_be_looked_at_with_the_printed_lines() {
    let home = home();
    let ran = home.pairflow(&["demo", "--keep"]).ok().says("Kept in ");
    let kept: Vec<_> = std::fs::read_dir(tmp(&home)).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    let lines: Vec<_> = ran.stdout.lines().skip_while(|line| !line.starts_with("Kept in ")).collect();
    let exports: Vec<_> = lines.iter().filter(|line| line.starts_with("  export ")).collect();
    assert_eq!(exports.len(), 4, "{lines:?}");
    let wanted = ["  cd ", "  pairflow log ", "  pairflow verify ", "  git log --stat ", "  pairflow merge "];
    let script: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("  export ") || wanted.iter().any(|start| line.starts_with(start)))
        .map(|line| line.trim().replace("pairflow ", &format!("{} ", env!("CARGO_BIN_EXE_pairflow"))))
        .collect();
    let shell = shell(&home, &script.join("\n"));
    home.finish(shell).ok().says("convergence on tree").says("2 files changed").says("Merged bubble");
    let place = kept[0].path().canonicalize().unwrap();
    wait_until("the end of the supervisor", || processes_in(&place).iter().all(|line| line.ends_with(": ")));
}

#[test]
fn a_demo_that_is_killed_is_cleared_away() {
    let mut home = home();
    home.set_limits("idle_supervisor=3000");
    let mut command = home.command(&["demo", "--slow"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let place = tmp(&home).canonicalize().unwrap();
    let supervised = || processes_in(&place).iter().any(|line| line.contains("supervise --detached"));
    wait_until("the supervisor of the demo", supervised);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of every process", || processes_in(&place).iter().all(|line| line.ends_with(": ")));
    wait_until("an empty directory", || is_empty(&place));
}

#[test]
fn without_git_the_demo_says_so_and_leaves_nothing() {
    let home = home();
    let bin = bin_with(&home, &["sh"]);
    let mut command = home.command(&["demo"]);
    command.env("PATH", &bin);
    home.finish(command).ends(3).says("git").says("next: pairflow doctor");
    assert!(is_empty(&tmp(&home)));
}

#[test]
fn a_demo_in_which_an_agent_fails_ends_with_3_and_shows_its_log() {
    let home = home();
    // The agents run tests that need more than this.
    let bin = bin_with(&home, &["sh", "git", "rm"]);
    let mut command = home.command(&["demo"]);
    command.env("PATH", &bin);
    let ran = home.finish(command).ends(3).says("the demo stopped at a question: codex").says("codex.log");
    assert!(ran.stderr.contains("mktemp"), "the agent's own words: {}", ran.stderr);
    assert!(is_empty(&tmp(&home)));
}

#[test]
fn an_agent_cannot_play_the_demo() {
    let home = home();
    let mut command = home.command(&["demo"]);
    command.env("PAIRFLOW_AGENT", "codex");
    home.finish(command).ends(77).says("'demo' is for people");
    assert!(is_empty(&tmp(&home)));
}
