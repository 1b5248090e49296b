//! What two commands do to one another, and what is left when a file goes: the real binary in a home of its own.

use std::fs::{self, File};
use std::path::PathBuf;

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::wait_until;

use crate::support::bubbles::{created, handed_over, home, ready, started};

fn dir(home: &Home, id: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(id)
}

fn warnings(home: &Home, id: &str) -> usize {
    let log = fs::read_to_string(dir(home, id).join("transcript.ndjson")).unwrap();
    log.lines().filter(|line| line.contains("\"PROTOCOL_WARNING\"")).count()
}

#[test]
fn whoever_creates_a_bubble_too_late_loses_the_race_and_leaves_the_winners_files_alone() {
    let home = home();
    let (dir, locks) = (dir(&home, "b1"), home.repo.join(".pairflow/locks"));
    fs::create_dir_all(&locks).unwrap();
    let lock = File::create(locks.join("b1.lock")).unwrap();
    lock.lock().unwrap();
    let loser = ["create", "--id", "b1", "--task", "the loser's", "--test", "false"];
    let loser = home.command(&loser).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    // It has looked whether there is a bubble, and waits for the lock.
    wait_until("the creation", || dir.join("artifacts").is_dir());
    assert!(!dir.join("bubble.toml").exists(), "nothing is written before the lock is held");
    fs::write(dir.join("bubble.toml"), "# the winner's\n").unwrap();
    fs::write(dir.join("transcript.ndjson"), "the winner's\n").unwrap();
    drop(lock);
    let lost = Ran::of(&loser.unwrap().wait_with_output().unwrap()).ends(4).says("already exists");
    assert!(lost.stderr.contains("pairflow status b1"), "{}", lost.stderr);
    assert_eq!(fs::read_to_string(dir.join("bubble.toml")).unwrap(), "# the winner's\n");
    assert_eq!(fs::read_to_string(dir.join("transcript.ndjson")).unwrap(), "the winner's\n");
}

#[test]
fn a_bubble_that_is_there_already_is_a_refusal_and_no_race() {
    let home = home();
    created(&home, "b1");
    let task = ["create", "--id", "b1", "--task", "again", "--test", "true"];
    home.pairflow(&task).ends(1).says("already exists");
}

#[test]
fn the_answer_stands_in_the_brief_of_the_turn_that_goes_on() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let brief = || fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    codex.pairflow(&["ask-human", "--question", "which database?"]).ok();
    assert!(!brief().contains("sqlite"));
    home.pairflow(&["reply", "b1", "--message", "sqlite"]).ok();
    assert!(brief().contains("> which database? -> sqlite"), "{}", brief());
    let messages = fs::read_dir(dir(&home, "b1").join("artifacts/messages")).unwrap();
    let names: Vec<_> = messages.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with("-human-reply.md")), "{names:?}");
    let again = codex.pairflow(&["ask-human", "--question", "which database?"]).ok();
    assert!(!again.stdout.contains("Already"), "{}", again.stdout);
    home.wait_for_state("b1", "WAITING_HUMAN");
}

#[test]
fn a_deleted_package_is_made_again_byte_for_byte() {
    let home = home();
    ready(&home, "b1");
    let package = dir(&home, "b1").join("artifacts/done-package.md");
    let before = fs::read_to_string(&package).unwrap();
    fs::remove_file(&package).unwrap();
    home.pairflow(&["verify", "b1"]).ok();
    assert_eq!(fs::read_to_string(&package).unwrap(), before);
    fs::remove_file(&package).unwrap();
    home.pairflow(&["ok", "b1", "--yes"]).ok().says("Package of bubble b1\n");
    assert_eq!(fs::read_to_string(&package).unwrap(), before);
    fs::remove_file(&package).unwrap();
    home.pairflow(&["verify", "b1"]).ok();
    assert_eq!(fs::read_to_string(&package).unwrap(), before);
}

#[test]
fn a_package_that_somebody_rewrote_is_never_shown() {
    let home = home();
    ready(&home, "b1");
    let package = dir(&home, "b1").join("artifacts/done-package.md");
    fs::write(&package, "# Package of bubble b1\n\nNothing to see.\n").unwrap();
    let shown = home.pairflow(&["ok", "b1", "--yes"]).ok();
    assert!(!shown.stdout.contains("Nothing to see"), "{}", shown.stdout);
    assert!(shown.stdout.contains("\nSuggested commit message\n"), "{}", shown.stdout);
}

#[test]
fn the_package_is_there_when_the_bubble_is_done() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    let package = dir(&home, "b1").join("artifacts/done-package.md");
    fs::remove_file(&package).unwrap();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    home.wait_for_state("b1", "DONE");
    assert!(package.is_file());
}

#[test]
fn a_few_refusals_that_alternate_do_not_fill_the_log() {
    let home = home();
    let (codex, _claude) = handed_over(&home, "b1");
    for _ in 0..4 {
        codex.pairflow(&["pass", "--summary", "more"]).ends(1);
        codex.pairflow(&["converged", "--summary", "more"]).ends(1);
    }
    assert_eq!(warnings(&home, "b1"), 2);
}

#[test]
fn an_agent_that_is_refused_is_never_sent_to_a_verb_of_the_person() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    let next = |ran: Ran, line: &str| assert!(ran.stderr.contains(line), "{line:?} is missing in {}", ran.stderr);
    next(codex.pairflow(&["pass", "--summary", "more"]).ends(1), "pairflow wait b1 --for turn");
    home.pairflow(&["pause", "b1"]).ok();
    let paused = claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ends(1);
    assert!(!paused.stderr.contains("pairflow resume"), "{}", paused.stderr);
    next(paused, "pairflow wait b1 --for turn");
    home.pairflow(&["resume", "b1"]).ok();
    claude.pairflow(&["ask-human", "--question", "which?"]).ok();
    let asked = claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ends(1);
    assert!(!asked.stderr.contains("pairflow inbox"), "{}", asked.stderr);
    next(asked, "pairflow wait b1 --for turn");
}
