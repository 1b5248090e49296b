//! The files of a bubble: where they lie, what they are called, and what stands in them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::bubbles::home;
use crate::support::log::{dir, lines, lines_of};
use crate::support::spec_story::{created, running, to_done, to_package};

const STATES: [&str; 10] = [
    "CREATED",
    "PREPARING_WORKSPACE",
    "RUNNING",
    "WAITING_HUMAN",
    "READY_FOR_APPROVAL",
    "APPROVED_FOR_COMMIT",
    "COMMITTED",
    "DONE",
    "FAILED",
    "CANCELLED",
];

fn names(dir: &Path) -> BTreeSet<String> {
    std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn state_json(home: &pairflow_testkit::home::Home, id: &str) -> Value {
    serde_json::from_str(&read(dir(home, id).join("state.json"))).unwrap()
}

#[test]
fn a_created_bubble_has_its_configuration_and_its_task_and_nothing_else_yet() {
    let home = home();
    created(&home, "b1", &[]);
    let config = read(dir(&home, "b1").join("bubble.toml"));
    assert!(config.contains("id = \"b1\"") && config.contains("base_branch = \"main\""), "{config}");
    assert_eq!(lines(&home, "b1").len(), 1);
    assert_eq!(lines(&home, "b1")[0]["payload"]["task"], crate::support::spec_story::TASK);
    assert_eq!(state_json(&home, "b1")["state"], "CREATED");
    assert_eq!(names(&dir(&home, "b1").join("artifacts")), BTreeSet::new());
    assert_eq!(home.git(&["branch", "--list", "bubble/*"]), "");
    assert!(!home.root().join("work/.pairflow-worktrees").exists());
    assert!(!home.repo.join(".pairflow/runtime").exists());
}

#[test]
fn every_file_lies_where_the_specification_says() {
    let home = home();
    created(&home, "b1", &[]);
    to_done(&home, "b1");
    let dir = dir(&home, "b1");
    let files = ["artifacts", "bubble.toml", "inbox.ndjson", "state.json", "transcript.ndjson"];
    let seen: BTreeSet<_> = names(&dir).into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(seen, files.map(str::to_owned).into());
    let artifacts = names(&dir.join("artifacts"));
    for name in ["done-package.md", "messages", "round-001.diff", "round-001.tests.txt", "round-002.diff"] {
        assert!(artifacts.contains(name), "{name} is missing: {artifacts:?}");
    }
    assert!(home.repo.join(".pairflow/locks/b1.lock").is_file());
    let worktree = home.root().canonicalize().unwrap().join("work/.pairflow-worktrees/repo/b1");
    assert_eq!(home.status("b1")["worktree"], worktree.to_str().unwrap());
    assert!(worktree.join("done.txt").is_file());
    assert!(worktree.join(".git").is_file(), "a worktree, not a clone");
}

#[test]
fn every_message_is_a_file_named_by_number_sender_and_kind() {
    let home = home();
    created(&home, "b1", &[]);
    to_done(&home, "b1");
    let kinds = [
        ("orchestrator", "task"),
        ("codex", "question"),
        ("human", "reply"),
        ("codex", "pass"),
        ("claude", "review"),
        ("codex", "pass"),
        ("claude", "review"),
        ("codex", "convergence"),
        ("orchestrator", "approval-request"),
        ("human", "approval-decision"),
        ("orchestrator", "done"),
    ];
    let private = ["LIFECYCLE", "EVIDENCE", "VERDICT", "CONTROL", "DELIVERY", "PROTOCOL_WARNING"];
    let public = lines(&home, "b1").into_iter().filter(|line| !private.contains(&line["type"].as_str().unwrap()));
    let numbers: Vec<u64> = public.map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len(), kinds.len());
    let expected = numbers.iter().zip(kinds).map(|(number, (sender, kind))| format!("{number:03}-{sender}-{kind}.md"));
    let messages = dir(&home, "b1").join("artifacts/messages");
    assert_eq!(names(&messages), expected.collect());
    let review = names(&messages).into_iter().find(|name| name.ends_with("-claude-review.md")).unwrap();
    let review = read(messages.join(review));
    assert!(review.contains("a typo") && review.contains("it says dome"), "{review}");
}

#[test]
fn message_files_that_were_deleted_come_back_and_nothing_is_lost() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    let messages = dir(&home, "b1").join("artifacts/messages");
    let before = names(&messages);
    let claude = home.agent("b1", "claude");
    std::fs::remove_dir_all(&messages).unwrap();
    home.pairflow(&["verify", "b1"]).ok();
    claude.pairflow(&["pass", "--summary", "more", "--finding", "P1:more"]).ok();
    home.wait_for_turn("b1", "codex");
    assert!(names(&messages).is_superset(&before), "{:?} lacks some of {before:?}", names(&messages));
}

#[test]
fn state_json_has_its_fields_in_every_state() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    let running = state_json(&home, "b1");
    assert_eq!((&running["state"], &running["active_agent"]), (&json!("RUNNING"), &json!("codex")));
    assert_eq!((&running["active_role"], &running["round"]), (&json!("implementer"), &json!(1)));
    assert_eq!(running["round_role_history"], json!([{"round": 1, "implementer": "codex", "reviewer": "claude"}]));
    let opened = lines(&home, "b1").into_iter().find(|line| line["payload"]["event"] == "turn_opened").unwrap();
    assert_eq!(running["active_since"], opened["ts"]);
    codex.pairflow(&["ask-human", "--question", "May I?"]).ok();
    let waiting = state_json(&home, "b1");
    assert_eq!(waiting["state"], "WAITING_HUMAN");
    assert_eq!(waiting["last_command_at"], lines(&home, "b1").last().unwrap()["ts"]);
    codex.pairflow(&["pass", "--summary", "anyway"]).ends(1);
    assert_eq!(state_json(&home, "b1")["last_command_at"], waiting["last_command_at"], "a refused one does not count");
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    let stopped = state_json(&home, "b1");
    assert_eq!(stopped["state"], "CANCELLED");
    for field in ["active_agent", "active_since", "active_role"] {
        assert_eq!((field, &stopped[field]), (field, &Value::Null));
    }
    for state in [running, waiting, stopped] {
        assert!(STATES.contains(&state["state"].as_str().unwrap()), "{state}");
    }
}

#[test]
fn a_missing_stale_or_foreign_state_json_changes_no_answer() {
    let home = home();
    created(&home, "b1", &[]);
    created(&home, "b2", &[]);
    let (file, foreign) = (dir(&home, "b1").join("state.json"), read(dir(&home, "b2").join("state.json")));
    let stale = read(&file);
    to_package(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let expected = home.pairflow(&["status", "b1", "--json"]).ok().stdout;
    let good = read(&file);
    for wrong in [stale, foreign, "{}".to_owned(), String::new(), good.replace("READY_FOR_APPROVAL", "DONE")] {
        std::fs::write(&file, &wrong).unwrap();
        assert_eq!(home.pairflow(&["status", "b1", "--json"]).ok().stdout, expected, "with {wrong}");
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!(home.pairflow(&["status", "b1", "--json"]).ok().stdout, expected);
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    assert_eq!(state_json(&home, "b1")["state"], "APPROVED_FOR_COMMIT");
}

#[test]
fn inbox_ndjson_is_what_the_log_says_and_comes_back() {
    let home = home();
    let (codex, claude) = running(&home, "b1");
    let file = dir(&home, "b1").join("inbox.ndjson");
    let questions = || -> Vec<Value> {
        let items = read(&file).lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
        items.into_iter().map(|item| item["id"].clone()).collect()
    };
    codex.pairflow(&["ask-human", "--question", "May I?"]).ok();
    std::fs::remove_file(&file).unwrap();
    claude.pairflow(&["ask-human", "--question", "Shall I?"]).ok();
    let asked: Vec<_> = lines_of(&home, "b1", "HUMAN_QUESTION").into_iter().map(|line| line["id"].clone()).collect();
    assert_eq!(questions(), asked);
    home.pairflow(&["reply", "b1", "--question", asked[0].as_str().unwrap(), "--message", "yes"]).ok();
    assert_eq!(questions(), asked[1..]);
    home.pairflow(&["reply", "b1", "--message", "yes"]).ok();
    assert_eq!(read(&file), "");
}

#[test]
fn each_round_has_its_diff_and_its_test_output() {
    let home = home();
    created(&home, "b1", &[]);
    let (codex, _) = to_package(&home, "b1");
    let artifacts = dir(&home, "b1").join("artifacts");
    for round in ["1", "2"] {
        let told = home.pairflow(&["diff", "b1", "--round", round]).ok().stdout;
        assert_eq!(read(artifacts.join(format!("round-00{round}.diff"))), told, "round {round}");
    }
    let second = read(artifacts.join("round-002.diff"));
    assert!(second.contains("-dome") && second.contains("+done") && second.contains("notes/plan.md"), "{second}");
    let receipts = lines_of(&home, "b1", "EVIDENCE").into_iter().map(|line| line["payload"]["receipt"].clone());
    for (round, receipt) in ["1", "2"].iter().zip(receipts.filter(|receipt| receipt["place"] == "checkout")) {
        let tests = read(artifacts.join(format!("round-00{round}.tests.txt")));
        for part in ["test: passed", "grep -c . done.txt", receipt["tree"].as_str().unwrap(), "\n1\n"] {
            assert!(tests.contains(part), "{part} is missing in:\n{tests}");
        }
    }
    assert!(codex.worktree.join("done.txt").exists());
}

#[test]
fn a_persons_edit_is_part_of_the_diff_of_its_round() {
    let home = home();
    let (codex, claude) = running(&home, "b1");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    home.pairflow(&["supervisor", "stop"]).ok();
    claude.pairflow(&["pass", "--summary", "more", "--finding", "P1:more"]).ok();
    home.pairflow(&["pause", "b1"]).ok();
    let snapshots =
        || lines_of(&home, "b1", "EVIDENCE").iter().filter(|line| line["payload"]["kind"] == "snapshot").count();
    home.wait_for("b1", |_| snapshots() == 2);
    codex.write("by-hand.txt", "mine\n");
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("more.txt", "more\n");
    codex.pairflow(&["pass", "--summary", "more"]).ok();
    home.wait_for_turn("b1", "claude");
    let authors: Vec<_> =
        lines_of(&home, "b1", "EVIDENCE").iter().map(|line| line["payload"]["snapshot"]["author"].clone()).collect();
    assert!(authors.contains(&json!("human")), "{authors:?}");
    let diff = read(dir(&home, "b1").join("artifacts/round-002.diff"));
    assert!(diff.contains("+more") && diff.contains("+mine") && !diff.contains("+done"), "{diff}");
    assert_eq!(diff, home.pairflow(&["diff", "b1", "--round", "2"]).ok().stdout);
}

#[test]
fn the_package_is_on_disk_before_the_approval_is_asked_for() {
    let home = home();
    created(&home, "b1", &[]);
    to_package(&home, "b1");
    let package = read(dir(&home, "b1").join("artifacts/done-package.md"));
    let request = lines_of(&home, "b1", "APPROVAL_REQUEST").remove(0);
    assert_eq!(request["refs"], json!(["artifact://done-package.md"]));
    assert_eq!(request["payload"]["package_sha256"], pairflow_core::hash::sha256(package.as_bytes()));
    assert!(package.contains("## Suggested commit message"), "{package}");
}

#[test]
fn a_lock_file_that_lies_around_blocks_nobody() {
    let home = home();
    created(&home, "b1", &[]);
    let lock = home.repo.join(".pairflow/locks/b1.lock");
    std::fs::write(&lock, "999999\n").unwrap();
    home.pairflow(&["start", "b1"]).ok();
    std::fs::remove_file(&lock).unwrap();
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    assert!(lock.exists());
}
