//! Verbs that change a bubble, for programs: each prints one object, and it says where the bubble stands then.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod verbs_support;

use pairflow_testkit::home::Home;
use serde_json::{Value, json};
use verbs_support::{created, done, handed_over, home, ready};

/// Runs a verb that prints the status, and returns it.
#[track_caller]
fn status(home: &Home, line: &[&str]) -> Value {
    let said = home.pairflow(&[line, &["--json"]].concat()).ok().json();
    assert_eq!((&said["schema"], &said["bubble_id"]), (&json!("pairflow.status/1"), &json!("b1")), "{said}");
    said
}

#[test]
fn interruptions_and_answers_say_where_the_bubble_stands() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    assert_eq!(status(&home, &["pause", "b1"])["paused"], true);
    let resumed = status(&home, &["resume", "b1"]);
    assert_eq!((&resumed["paused"], &resumed["active_agent"]), (&json!(false), &json!("claude")));
    claude.pairflow(&["pass", "--summary", "read it", "--finding", "P1:done.txt is empty"]).ok();
    home.wait_for_turn("b1", "codex");
    assert_eq!(status(&home, &["waive", "--id", "b1", "F1", "--reason", "as wanted"])["state"], "RUNNING");
    home.agent("b1", "codex").pairflow(&["ask-human", "--question", "which way?"]).ok();
    let answered = status(&home, &["reply", "b1", "--message", "the old one"]);
    assert_eq!((&answered["state"], &answered["questions"]), (&json!("RUNNING"), &json!([])));
    assert_eq!(status(&home, &["stop", "b1", "--yes"])["state"], "CANCELLED");
    assert_eq!(home.pairflow(&["pause", "b1", "--json"]).ends(1).json()["schema"], "pairflow.error/1");
    let deleted = home.pairflow(&["delete", "b1", "--yes", "--json"]).ok().json();
    assert_eq!((&deleted["schema"], &deleted["bubble_id"]), (&json!("pairflow.deleted/1"), &json!("b1")));
    assert!(
        std::path::Path::new(deleted["archive"].as_str().unwrap()).join("transcript.ndjson").is_file(),
        "{deleted}"
    );
    assert!(deleted["ref"].as_str().unwrap().starts_with("refs/pairflow/"), "{deleted}");
    assert_eq!(deleted["branch_checked_out_at"], Value::Null);
}

#[test]
fn the_way_from_approval_to_the_base_branch_says_where_the_bubble_stands() {
    let home = home();
    ready(&home, "b1");
    let again = status(&home, &["request-rework", "b1", "--message", "say it louder"]);
    assert_eq!((&again["state"], &again["active_role"]), (&json!("RUNNING"), &json!("implementer")));
    home.commit("other.txt", "other\n", "the base moves");
    let worktree = std::path::PathBuf::from(again["worktree"].as_str().unwrap());
    home.pairflow(&["pause", "b1"]).ok();
    for _ in ["merged", "nothing left to merge"] {
        assert_eq!(status(&home, &["update", "b1"])["state"], "RUNNING");
        assert!(worktree.join("other.txt").is_file());
    }
}

#[test]
fn a_merge_that_only_a_person_can_do_is_an_error_that_holds_the_line() {
    let home = home();
    ready(&home, "b1");
    assert_eq!(status(&home, &["approve", "b1"])["state"], "APPROVED_FOR_COMMIT");
    assert_eq!(status(&home, &["commit", "b1"])["state"], "DONE");
    let error = home.pairflow(&["merge", "b1", "--json"]).ends(1).json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("git "), "{error}");
    assert_eq!(error["hint"], "pairflow merge b1 --here");
    let merged = status(&home, &["merge", "b1", "--here"]);
    assert_eq!(merged["merged"], json!(home.git(&["rev-parse", "main"])));
}

#[test]
fn an_update_of_what_is_done_prints_the_bubble_that_follows() {
    let home = home();
    done(&home, "b1");
    home.commit("other.txt", "other\n", "the base moves");
    let next = home.pairflow(&["update", "b1", "--json"]).ok().json();
    assert_eq!((&next["schema"], &next["state"]), (&json!("pairflow.status/1"), &json!("CREATED")));
    assert_ne!(next["bubble_id"], "b1");
    created(&home, "b3");
    assert_eq!(home.pairflow(&["stop", "b3", "--yes", "--json"]).ok().json()["state"], "CANCELLED");
}
