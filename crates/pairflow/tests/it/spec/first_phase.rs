//! What the specification accepts its first phase by, point by point: one bubble, from the command line.

use std::sync::Arc;

use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::support::bubbles::{created, handed_over, home, quiet, ready, started};
use crate::support::faults::{Surroundings, run_in_world};
use crate::support::log::{bytes, file, lines, lines_of};

#[test]
fn a_bubble_runs_end_to_end_with_a_review_loop() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "not yet", "--finding", "P1:no newline at the end"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("done.txt", "done, really\n");
    codex.pairflow(&["pass", "--summary", "corrected"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("nothing left").ok();
    let status = home.wait_for_state("b1", "READY_FOR_APPROVAL");
    let history = json!([
        {"round": 1, "implementer": "codex", "reviewer": "claude"},
        {"round": 2, "implementer": "codex", "reviewer": "claude"},
        {"round": 2, "implementer": "claude", "reviewer": "codex"},
    ]);
    assert_eq!(status["round_role_history"], history);
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(home.status("b1")["state"], "DONE");
    assert_eq!(home.git(&["show", "bubble/b1:done.txt"]), "done, really");
    assert_eq!(home.git(&["rev-list", "--count", "main..bubble/b1"]), "1");
    home.pairflow(&["verify", "b1"]).ok();
    let kinds: Vec<_> = lines(&home, "b1").iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    for kind in ["TASK", "PASS", "CONVERGENCE", "APPROVAL_REQUEST", "APPROVAL_DECISION", "DONE_PACKAGE"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind} is missing in {kinds:?}");
    }
}

#[test]
fn a_human_answers_a_blocking_question_and_the_loop_continues() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["ask-human", "--question", "Which format?"]).ok();
    let status = home.status("b1");
    assert_eq!((&status["state"], &status["active_agent"]), (&json!("WAITING_HUMAN"), &json!("codex")));
    codex.pairflow(&["pass", "--summary", "guessed"]).ends(1).says("a person is asked first: Which format?");
    home.pairflow(&["inbox", "b1"]).ok().says("Which format?");
    home.pairflow(&["reply", "b1", "--message", "the old one"]).ok();
    home.wait_for_turn("b1", "codex");
    let brief = std::fs::read_to_string(file(&home, "b1", "artifacts/brief-codex.md")).unwrap();
    assert!(brief.contains("the old one"), "the answer reaches the agent:\n{brief}");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "in the old format"]).ok();
    home.wait_for_turn("b1", "claude");
    let claude = home.agent("b1", "claude");
    claude.pairflow(&["ask-human", "--question", "How strict?"]).ok();
    let refused = claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ends(1);
    assert!(refused.stderr.contains("a person is asked first: How strict?"), "{refused:?}");
    assert_eq!(home.status("b1")["state"], "WAITING_HUMAN");
}

#[test]
fn a_commit_is_impossible_without_an_explicit_approval() {
    let home = home();
    let tip = || home.git(&["rev-parse", "main"]);
    created(&home, "b0");
    home.pairflow(&["commit", "b0", "--yes"]).ends(1);
    let (codex, _) = ready(&home, "b1");
    home.pairflow(&["commit", "b1", "--yes"]).ends(1).says("pairflow ok b1");
    codex.pairflow(&["commit", "b1", "--yes"]).ends(77);
    home.pairflow(&["commit", "b1", "--override-scope", "--reason", "I want to", "--yes"]).ends(1);
    assert_eq!(home.git(&["rev-parse", "bubble/b1"]), tip(), "Nothing was committed");
    // An approval is withdrawn by rework.
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["request-rework", "b1", "--message", "once more"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ends(1);
    assert_eq!(home.git(&["rev-parse", "bubble/b1"]), tip());
    home.commit("pairflow.toml", "commit_requires_approval = false\n", "no gate, please");
    home.pairflow(&["create", "--id", "b2", "--task", "x", "--test", "true"]).ends(2).says("commit_requires_approval");
}

/// Insists that an envelope has every field of the specification, in its shape, and returns its payload.
#[track_caller]
fn envelope(line: &Value, kind: &str, sender: &str, recipient: &str) -> Value {
    let id = line["id"].as_str().unwrap();
    let (day, number) = id.strip_prefix("msg_").and_then(|rest| rest.split_once('_')).unwrap();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    assert!(day.len() == 8 && digits(day) && number.len() >= 3 && digits(number), "{id}");
    let ts = line["ts"].as_str().unwrap();
    assert!(ts.ends_with('Z') && ts.as_bytes()[10] == b'T' && ts[..10].replace('-', "") == day, "{ts} and {id}");
    assert_eq!(line["bubble_id"], "b1");
    assert_eq!((&line["sender"], &line["recipient"]), (&json!(sender), &json!(recipient)));
    assert_eq!(line["type"], kind);
    assert!(line["round"].is_u64() && line["refs"].is_array() && line["payload"].is_object(), "{line}");
    line["payload"].clone()
}

#[test]
fn pass_ask_human_and_converged_write_exact_envelopes() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["ask-human", "--question", "Which format?", "--ref", "done.txt"]).ok();
    home.pairflow(&["reply", "b1", "--message", "the old one"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["pass", "--summary", "first cut", "--ref", "done.txt"]).ok();
    home.wait_for_turn("b1", "claude");
    claude
        .pairflow(&["pass", "--summary", "hm", "--finding", "P2:a typo", "--finding", "P1:a hole", "--intent", "task"])
        .ok();
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["pass", "--summary", "corrected", "--fixed", "F1"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("nothing left").ok();

    let log = lines(&home, "b1");
    for (line, seq) in log.iter().zip(1u64..) {
        assert_eq!(line["seq"], seq, "without a gap");
        assert!(line["prev"].is_string() && line["crc"].is_string(), "chained and checked: {line}");
        assert!(line["id"].as_str().unwrap().ends_with(&format!("{seq:03}")), "{line}");
    }
    assert!(bytes(&home, "b1").ends_with(b"\n"));
    let only = |kind: &str, n: usize| lines_of(&home, "b1", kind)[n].clone();

    let asked = only("HUMAN_QUESTION", 0);
    let question = envelope(&asked, "HUMAN_QUESTION", "codex", "human");
    assert_eq!(question, json!({"question": "Which format?", "kind": "question"}));
    assert_eq!((&asked["refs"], &asked["round"]), (&json!(["done.txt"]), &json!(1)));
    let replied = only("HUMAN_REPLY", 0);
    assert_eq!(envelope(&replied, "HUMAN_REPLY", "human", "codex"), json!({"message": "the old one"}));
    assert_eq!(replied["in_reply_to"], asked["id"]);

    let passed = only("PASS", 0);
    let expected = json!({"summary": "first cut", "pass_intent": "review"});
    assert_eq!(envelope(&passed, "PASS", "codex", "claude"), expected, "an implementer's has no findings");
    assert_eq!((&passed["refs"], &passed["round"]), (&json!(["done.txt"]), &json!(1)));
    let findings = json!([
        {"id": "F1", "severity": "P2", "title": "a typo"},
        {"id": "F2", "severity": "P1", "title": "a hole"},
    ]);
    let expected = json!({"summary": "hm", "pass_intent": "task", "findings": findings});
    assert_eq!(envelope(&only("PASS", 1), "PASS", "claude", "codex"), expected);
    let expected = json!({"summary": "clean", "pass_intent": "fix_request", "findings": []});
    assert_eq!(envelope(&only("PASS", 3), "PASS", "claude", "codex"), expected, "possibly empty, and never absent");

    let converged = only("CONVERGENCE", 0);
    let claim = envelope(&converged, "CONVERGENCE", "codex", "orchestrator");
    assert_eq!(claim["summary"], "nothing left");
    let reviewers: Vec<_> =
        claim["certificate"]["reviews"].as_array().unwrap().iter().map(|review| review["agent"].clone()).collect();
    assert_eq!(reviewers, ["claude", "codex"]);
    let request = envelope(&only("APPROVAL_REQUEST", 0), "APPROVAL_REQUEST", "orchestrator", "human");
    assert_eq!(request["package"], "done-package.md");
    let task = envelope(&only("TASK", 0), "TASK", "orchestrator", "codex");
    assert_eq!(task["acceptance_criteria"], json!(["done.txt says done"]));
}

/// The machine's clock, so many minutes fast.
struct Later(u32);

impl Clock for Later {
    fn now(&self) -> Moment {
        let now = SystemClock.now();
        let ahead = self.0 * 60_000;
        Moment { ts: Timestamp::from_millis(now.ts.millis() + i64::from(ahead)), up: now.up + u64::from(ahead) }
    }
}

#[test]
fn the_watchdog_escalates_when_the_active_agent_is_idle_beyond_the_timeout() {
    let home = home();
    home.commit("pairflow.toml", "watchdog_timeout_minutes = 30\n", "configuration");
    let (_, claude) = handed_over(&home, "b1");
    quiet(&home);
    let watchdog = |minutes| {
        let around = Surroundings { clock: Arc::new(Later(minutes)), ..Surroundings::default() };
        run_in_world(&home, around, &["watchdog", "b1"])
    };
    let (code, out, _) = watchdog(29);
    assert_eq!(code, 0);
    assert!(out.contains("claude has"), "{out}");
    assert_eq!(home.status("b1")["state"], "RUNNING");
    let (code, out, said) = watchdog(31);
    assert_eq!(code, 0, "{said}");
    assert!(out.contains("claude has been silent for too long"), "{out}");
    let status = home.status("b1");
    assert_eq!((&status["state"], &status["questions"][0]["kind"]), (&json!("WAITING_HUMAN"), &json!("watchdog")));
    let question = lines_of(&home, "b1", "HUMAN_QUESTION").pop().unwrap();
    let payload = envelope(&question, "HUMAN_QUESTION", "orchestrator", "human");
    assert!(payload["question"].as_str().unwrap().contains("for 30 minutes"), "{payload}");
    watchdog(90);
    assert_eq!(lines_of(&home, "b1", "HUMAN_QUESTION").len(), 1, "it is asked once");
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "here I am", "--no-findings"]).ok();
}

#[test]
fn converged_is_rejected_without_alternation_and_editing_the_history_in_state_json_neither_helps_nor_harms() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    let refused = claude.pairflow(&["converged", "--summary", "done"]).ends(1);
    assert!(refused.stderr.contains("has not alternated yet (round_role_history)"), "{refused:?}");
    let warning = lines_of(&home, "b1", "PROTOCOL_WARNING").pop().unwrap();
    assert!(warning["payload"]["unmet"].to_string().contains("round_role_history"), "{warning}");

    // A made-up history does not help …
    let state = file(&home, "b1", "state.json");
    let edit = |history: Value| {
        let mut edited: Value = serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
        edited["round_role_history"] = history;
        std::fs::write(&state, edited.to_string()).unwrap();
    };
    edit(json!([
        {"round": 1, "implementer": "codex", "reviewer": "claude"},
        {"round": 1, "implementer": "claude", "reviewer": "codex"},
    ]));
    claude.pairflow(&["converged", "--summary", "done"]).ends(1).says("has not alternated yet");
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    // … and an empty one does not harm: the log knows who reviewed.
    edit(json!([]));
    codex.converged("done").ok();
    let status = home.wait_for_state("b1", "READY_FOR_APPROVAL");
    assert_eq!(status["round_role_history"].as_array().unwrap().len(), 2);
    home.pairflow(&["verify", "b1"]).ok();
}
