//! What a person reads of a foreign bubble: that it is foreign and why, its record, and only steps that work.

use std::path::{Path, PathBuf};
use std::process::Command;

use pairflow_testkit::home::{Home, Ran};

use super::support::{copy, log_of};
use crate::support::bubbles::{created, home, program, quiet, ready, started};

/// What must not be said of a bubble for which nothing is done.
const ACTIONS: [&str; 9] = [
    "hand over",
    "pairflow resume",
    "pairflow pause",
    "pairflow approve",
    "pairflow ok",
    "asks you in",
    "supervise",
    "Turn ",
    "b1 waits for you",
];

/// Copies the log of a bubble into another repository, in which it is foreign then.
#[track_caller]
fn planted(home: &Home, id: &str) -> PathBuf {
    quiet(home);
    let copied = home.root().canonicalize().unwrap().join("other place");
    home.git(&["clone", "--quiet", ".", copied.to_str().unwrap()]);
    copy(&home.repo.join(".pairflow"), &copied.join(".pairflow"));
    assert!(log_of(&copied, id).exists());
    copied
}

/// Returns the command lines that `status` names behind `label`.
fn lines(status: &Ran, label: &str) -> Vec<String> {
    let from = status.stdout.lines().skip_while(|line| !line.starts_with(label));
    let blank = " ".repeat(13);
    let own = from.enumerate().take_while(|(at, line)| *at == 0 || line.starts_with(&blank));
    own.map(|(_, line)| line[13..].to_owned()).collect()
}

/// Runs a line of shell.
#[track_caller]
fn sh(line: &str, dir: &Path) {
    let ran = Command::new("sh").args(["-ec", line]).current_dir(dir).output().unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[track_caller]
fn shows_a_record_only(ran: &Ran) {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let found: Vec<_> = ACTIONS.iter().filter(|action| said.contains(**action)).collect();
    assert!(found.is_empty(), "{found:?} in:\n{said}");
}

#[test]
fn a_foreign_bubble_is_shown_as_a_record_without_anything_to_do_but_adopt_or_remove_it() {
    let home = home();
    started(&home, "b1");
    let copied = planted(&home, "b1");
    let run = |args: &[&str]| home.pairflow_in(&copied, args).ok();
    let status = run(&["status", "b1"]);
    shows_a_record_only(&status);
    assert!(status.stdout.starts_with("Foreign      it is a copy of the bubble in "), "{}", status.stdout);
    let status = status.says("It ends in state RUNNING, in round 1; codex had the turn");
    assert_eq!(lines(&status, "Next"), ["pairflow adopt b1"]);
    for size in [["--width", "80"], ["--width", "160"]] {
        let view = run(&[&["view", "b1", "--once", "--height", "30"], &size[..]].concat());
        shows_a_record_only(&view);
        assert!(view.stdout.starts_with("b1 is foreign: it is a copy of "), "{}", view.stdout);
        view.says("codex had the turn").says("pairflow adopt b1").says("rm -r ");
    }
    for args in [&["list"][..], &[]] {
        let row = run(args).stdout.lines().find(|line| line.starts_with("b1 ")).unwrap().to_owned();
        assert!(row.contains("RUNNING, foreign") && !row.contains("codex"), "{row}");
    }
    shows_a_record_only(&run(&["inbox", "b1"]));
    run(&["next"]).says("Nothing waits for you.");
    // `delete` leaves it alone, and says how it is removed.
    let remove = lines(&status, "Remove").join(" && ");
    home.pairflow_in(&copied, &["delete", "b1", "--yes"]).ends(1).says(&remove);
    sh(&remove, home.root());
    run(&["list"]).says("There is no bubble in");
    assert!(log_of(&home.repo, "b1").exists());
}

#[test]
fn questions_of_a_foreign_bubble_are_not_offered_for_an_answer() {
    let home = home();
    started(&home, "b1");
    home.agent("b1", "codex").pairflow(&["ask-human", "--question", "Which colour?"]).ok();
    let copied = planted(&home, "b1");
    for args in [&["status", "b1"][..], &["view", "b1", "--once"], &["inbox"], &["inbox", "b1"], &["next"], &[]] {
        let shown = home.pairflow_in(&copied, args).ok();
        shows_a_record_only(&shown);
        assert!(!shown.stdout.contains("pairflow reply"), "{}", shown.stdout);
    }
    home.pairflow_in(&copied, &["status", "b1"]).ok().says("codex asked: Which colour?");
}

#[test]
fn a_foreign_bubble_that_git_tracks_is_removed_together_with_its_tracking() {
    let home = home();
    created(&home, "b1");
    let copied = planted(&home, "b1");
    home.git_in(&copied, &["add", "--force", ".pairflow"]);
    home.git_in(&copied, &["commit", "--quiet", "-m", "logs"]);
    let remove = lines(&home.pairflow_in(&copied, &["status", "b1"]).ok(), "Remove");
    assert_eq!(remove.len(), 2, "{remove:?}");
    sh(&remove.join(" && "), home.root());
    let listed = home.pairflow_in(&copied, &["list"]).ok().says("There is no bubble in");
    assert!(!listed.stderr.contains("tracked"), "{}", listed.stderr);
    home.git_in(&copied, &["commit", "--quiet", "-m", "without logs"]);
    assert_eq!(home.git_in(&copied, &["ls-files", ".pairflow"]), "");
}

#[test]
fn what_is_wrong_with_a_rolled_back_bubble_is_shown_with_steps_that_work() {
    let home = home();
    started(&home, "b1");
    quiet(&home);
    let log = log_of(&home.repo, "b1");
    let text = std::fs::read_to_string(&log).unwrap();
    let cut: String = text.split_inclusive('\n').take(text.lines().count() - 2).collect();
    std::fs::write(&log, cut).unwrap();
    std::fs::remove_file(log.with_file_name("state.json")).unwrap();
    let status = home.pairflow(&["status", "b1"]).ok();
    shows_a_record_only(&status);
    let verified = home.pairflow(&["verify", "b1"]).ends(5).says("rolled back");
    assert!(!verified.stdout.contains("Everything holds"), "{}", verified.stdout);
    let remove = lines(&status, "Remove");
    assert_eq!(remove, ["pairflow adopt b1", "pairflow delete b1"]);
    for line in remove {
        let words: Vec<_> = line.split(' ').skip(1).chain(["--yes"]).collect();
        home.pairflow(&words).ok();
    }
    home.pairflow(&["list"]).ok().says("There is no bubble in");
}

#[test]
fn verify_ends_with_the_weakest_of_its_rows() {
    let home = home();
    ready(&home, "b1");
    let last = |ran: &Ran| ran.stdout.lines().last().unwrap_or_default().to_owned();
    assert!(last(&home.pairflow(&["verify", "b1"]).ok()).starts_with("Everything holds"));
    quiet(&home);
    let other = Home::new(program());
    copy(&home.repo.join(".pairflow"), &other.repo.join(".pairflow"));
    for why in ["no key", "another key"] {
        let verified = other.pairflow(&["verify", "b1"]);
        let json = other.pairflow(&["verify", "b1", "--json"]).json();
        // The snapshots did not come along.
        assert_eq!((verified.code, json["answer"].as_str()), (5, Some("wrong")), "{}", verified.stdout);
        other.git(&["fetch", "--quiet", home.repo.to_str().unwrap(), "+refs/pairflow/*:refs/pairflow/*"]);
        let verified = other.pairflow(&["verify", "b1"]).ends(1).says(why);
        assert!(
            last(&verified).ends_with("but the rows marked unknown cannot be checked here."),
            "{}",
            verified.stdout
        );
        let json = other.pairflow(&["verify", "b1", "--json"]).ends(1).json();
        assert_eq!((&json["answer"], &json["holds"]), (&"unchecked".into(), &false.into()), "{json}");
        other.git(&["for-each-ref", "--format=%(refname)", "refs/pairflow/"]).lines().for_each(|name| {
            other.git(&["update-ref", "-d", name]);
        });
        // The first bubble of one's own makes a key.
        if why == "no key" {
            created(&other, "own");
        }
    }
}
