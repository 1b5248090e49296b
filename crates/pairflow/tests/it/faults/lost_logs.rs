//! A log that is lost, a state that is not the log's, and how `verify` and `doctor` speak of them.

use std::path::PathBuf;

use pairflow_testkit::home::Home;

use crate::support::bubbles::{created, handed_over, home, started};

fn file(home: &Home, bubble: &str, name: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(bubble).join(name)
}

#[test]
fn verify_tells_a_state_that_is_not_the_logs_and_status_mends_it() {
    let home = home();
    created(&home, "b1");
    created(&home, "b2");
    let state = file(&home, "b1", "state.json");
    let sound = std::fs::read_to_string(&state).unwrap();
    home.pairflow(&["verify", "b1"]).ok().says("state.json agrees with the log").says("1 line of bubble b1");
    let foreign = std::fs::read_to_string(file(&home, "b2", "state.json")).unwrap();
    let edited = sound.replacen("CREATED", "DONE", 1);
    for wrong in ["{", "", &foreign, &edited] {
        std::fs::write(&state, wrong).unwrap();
        let ran = home.pairflow(&["verify", "b1"]).ends(5).says("wrong    state: state.json");
        assert!(ran.stdout.contains("pairflow status b1"), "{ran:?}");
        assert_eq!(std::fs::read_to_string(&state).unwrap(), wrong, "verify only reads");
        home.pairflow(&["status", "b1"]).ok();
        home.pairflow(&["verify", "b1"]).ok();
    }
    std::fs::remove_file(&state).unwrap();
    home.pairflow(&["verify", "b1"]).ok().says("state.json is not there; it is rebuilt from the log");
    assert!(!state.exists(), "verify only reads");
}

#[test]
fn verify_takes_a_state_that_is_older_than_the_log() {
    let home = home();
    created(&home, "b1");
    let state = file(&home, "b1", "state.json");
    let old = std::fs::read_to_string(&state).unwrap();
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    // Who looks at the bubble as a writer, as the supervisor that was woken by this may do any moment, writes it anew.
    home.pairflow(&["supervisor", "stop"]).ok();
    std::fs::write(&state, old).unwrap();
    home.pairflow(&["verify", "b1"]).ok().says("state.json is older than the log");
}

#[test]
fn a_bubble_that_has_lost_its_log_is_seen_and_told_of() {
    let home = home();
    created(&home, "b1");
    created(&home, "b2");
    let log = file(&home, "b1", "transcript.ndjson");
    let kept = std::fs::read(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    home.pairflow(&["list"]).ok().says("UNREADABLE").says("the log of bubble b1 is missing").says("b2");
    home.pairflow(&[]).ok().says("UNREADABLE").says("b2");
    for verb in ["status", "log", "verify", "start", "inbox"] {
        home.pairflow(&[verb, "b1"]).ends(5).says("the log of bubble b1 is missing").says("next: pairflow doctor");
    }
    home.pairflow(&["create", "--id", "b1", "--task", "t", "--test", "true"]).ends(5).says("is missing");
    home.pairflow(&["doctor"]).ends(5).says("log of b1").says("restore transcript.ndjson");
    std::fs::write(&log, kept).unwrap();
    home.pairflow(&["status", "b1"]).ok();
    home.pairflow(&["doctor"]).ok();
}

#[test]
fn the_doctor_names_what_lies_among_the_bubbles_and_is_none() {
    let home = home();
    created(&home, "b1");
    let stray = home.repo.join(".pairflow/bubbles/Not A Bubble");
    std::fs::create_dir(&stray).unwrap();
    let half = home.repo.join(".pairflow/bubbles/half");
    std::fs::create_dir(&half).unwrap();
    std::fs::write(half.join("bubble.toml"), "").unwrap();
    let ran = home.pairflow(&["doctor"]).ok();
    for dir in [&stray, &half] {
        assert!(ran.stdout.contains(&format!("{} is not a bubble", dir.display())), "{ran:?}");
    }
    let list = home.pairflow(&["list"]).ok();
    assert!(!list.stdout.contains("half"), "{list:?}");
}

#[test]
fn a_deleted_bubble_leaves_nothing_among_the_bubbles() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["delete", "b1", "--yes"]).ok();
    assert_eq!(std::fs::read_dir(home.repo.join(".pairflow/bubbles")).unwrap().count(), 0);
}

#[test]
fn one_bad_file_of_the_repository_is_one_problem() {
    let home = home();
    created(&home, "b1");
    created(&home, "b2");
    std::fs::write(home.repo.join("pairflow.toml"), "max_rounds = \"many\"\n").unwrap();
    home.pairflow(&["doctor"]).ends(3).says("1 problem,");
}

#[test]
fn work_that_a_person_accepted_without_a_clean_review_is_told_as_that() {
    let home = home();
    std::fs::write(home.repo.join("pairflow.toml"), "max_rounds = 1\n").unwrap();
    let (_, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:wrong"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["reply", "b1", "--decision", "accept"]).ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    let verified = home.pairflow(&["verify", "b1"]).ok().says("accepted by a person at a tie-break");
    assert!(verified.stdout.contains("two clean reviews") && !verified.stdout.contains("by ."), "{verified:?}");
    let package = home.pairflow(&["ok", "b1"]).ends(1);
    assert!(package.stdout.contains("two clean reviews"), "{package:?}");
    assert!(!package.stdout.contains("a second clean review"), "{package:?}");
}
