//! Verbs that change a bubble, for programs: each prints one object, and it says where the bubble stands then.

use pairflow::{CommandGroup, TABLE};
use pairflow_testkit::home::Home;
use serde_json::{Value, json};

use crate::support::bubbles::{created, done, handed_over, home, ready};
use crate::support::terminal::{on_terminal, shell};

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
    assert_eq!(status(&home, &["approve", "b1", "--yes"])["state"], "APPROVED_FOR_COMMIT");
    assert_eq!(status(&home, &["commit", "b1", "--yes"])["state"], "DONE");
    let error = home.pairflow(&["merge", "b1", "--json", "--yes"]).ends(1).json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("git "), "{error}");
    assert_eq!(error["hint"], "pairflow merge b1 --here");
    let merged = status(&home, &["merge", "b1", "--here", "--yes"]);
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

#[test]
fn a_bubble_that_is_made_and_started_at_once_is_printed_as_create_prints_it() {
    let home = home();
    let made = home.pairflow(&["new", "Fix the race", "--test", "true", "--json"]).ok();
    let object = made.json();
    assert_eq!((&object["schema"], &object["bubble_id"]), (&json!("pairflow.created/1"), &json!("fix-the-race")));
    assert_eq!((&object["state"], &object["confirmed"]), (&json!("RUNNING"), &json!("explicit")));
    let line = ["create", "--id", "b2", "--task", "x", "--test", "true", "--start", "--json"];
    let created = home.pairflow(&line).ok().json();
    let fields = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&object), fields(&created));
    let failed = home.pairflow(&["new", "do it", "--test", "true", "--setup", "exit 7", "--json"]).ends(3).json();
    assert_eq!(
        (&failed["schema"], &failed["error"]["hint"]),
        (&json!("pairflow.error/1"), &json!("pairflow start do-it"))
    );
}

#[test]
fn an_ok_prints_where_the_bubble_stands_then() {
    let home = home();
    ready(&home, "b1");
    let error = home.pairflow(&["ok", "b1", "--json"]).ends(1).json()["error"].clone();
    assert_eq!(error["hint"], "pairflow ok b1 --json --yes", "{error}");
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL");
    let done = status(&home, &["ok", "b1", "--yes"]);
    assert_eq!((&done["state"], &done["merged"]), (&json!("DONE"), &Value::Null));
    let error = home.pairflow(&["ok", "b1", "--merge", "--yes", "--json"]).ends(1).json()["error"].clone();
    assert_eq!(error["hint"], "pairflow merge b1 --here", "{error}");
    let merged = status(&home, &["ok", "b1", "--merge", "--here", "--yes"]);
    assert_eq!(merged["merged"], json!(home.git(&["rev-parse", "main"])));
}

#[test]
fn a_person_who_is_asked_reads_the_package_beside_the_json() {
    let home = home();
    ready(&home, "b1");
    let result = home.root().join("result.json");
    // Everything but the result is on the terminal.
    let line = format!("'{}' ok b1 --json >'{}'", env!("CARGO_BIN_EXE_pairflow"), result.display());
    let mut command = shell(&home, &line);
    command.current_dir(&home.repo);
    let (code, text) = on_terminal(command, &[("Package of bubble b1", ""), ("and commit it? [y/N]", "y\n")]);
    assert_eq!(code, 0, "{text}");
    let said: Value = serde_json::from_str(&std::fs::read_to_string(result).unwrap()).unwrap();
    assert_eq!((&said["schema"], &said["state"]), (&json!("pairflow.status/1"), &json!("DONE")));
}

#[test]
fn whatever_has_no_json_is_named_as_an_exception() {
    let about_bubbles = |group| group == CommandGroup::Agents || CommandGroup::is_about_bubbles(group);
    let without = TABLE.iter().filter(|entry| !entry.is_hidden() && about_bubbles(entry.group));
    let without = without.filter(|entry| !entry.build().get_arguments().any(|arg| arg.get_id() == "json"));
    let mut names: Vec<_> = without.map(|entry| entry.name).collect();
    // These two are about a repository, and about none.
    names.retain(|name| !["init", "demo"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["attach", "brief", "export", "open", "view"]);
    let docs = include_str!("../../../../../docs/json.md");
    let exceptions = docs.split_once("except").and_then(|(_, rest)| rest.split_once("What it prints")).unwrap().0;
    assert!(names.iter().all(|name| exceptions.contains(&format!("`{name}`"))), "{exceptions}");
}
