//! Bad input to the verbs: each a sentence that names the thing, the way on, and an exit code; nothing changes.

use serde_json::json;

use crate::support::bubbles::{created, handed_over, home, ready, started};
use crate::support::log::{lines, lines_of};

#[test]
fn a_wrong_id_is_a_usage_error() {
    let home = home();
    created(&home, "b1");
    for verb in ["status", "start", "inbox", "approve", "commit", "log", "verify", "resume", "diff"] {
        home.pairflow(&[verb, "NOT AN ID"]).ends(2).says("'NOT AN ID' is not a bubble id");
    }
}

#[test]
fn an_unknown_bubble_is_refused_and_a_near_one_is_suggested() {
    let home = home();
    created(&home, "login-race");
    for verb in ["status", "start", "inbox", "approve", "commit", "log", "verify", "resume", "diff"] {
        home.pairflow(&[verb, "logn-race"]).ends(1).says("there is no bubble 'logn-race'").says("login-race");
    }
    let mut agent = home.command(&["pass", "--summary", "x"]);
    agent.env("PAIRFLOW_BUBBLE", "nope").env("PAIRFLOW_AGENT", "codex").env("PAIRFLOW_TOKEN", "x");
    home.finish(agent).ends(1).says("there is no bubble 'nope'");
    let error = home.pairflow(&["status", "nope", "--json"]).ends(1).json();
    assert_eq!((&error["schema"], &error["error"]["code"]), (&json!("pairflow.error/1"), &json!(1)));
}

#[test]
fn a_verb_in_the_wrong_state_names_the_state_and_the_way_on() {
    let home = home();
    created(&home, "new");
    ready(&home, "ready");
    let cases: [(&[&str], &str, &str); 9] = [
        (&["approve", "new"], "CREATED", "pairflow start new"),
        (&["commit", "new"], "CREATED", "pairflow start new"),
        (&["resume", "new"], "CREATED", "pairflow start new"),
        (&["merge", "new"], "CREATED", "pairflow start new"),
        (&["request-rework", "new", "--message", "x"], "CREATED", "pairflow start new"),
        (&["start", "ready"], "READY_FOR_APPROVAL", "pairflow ok ready"),
        (&["commit", "ready"], "READY_FOR_APPROVAL", "pairflow ok ready"),
        (&["pause", "ready"], "READY_FOR_APPROVAL", "pairflow ok ready"),
        (&["resume", "ready"], "READY_FOR_APPROVAL", "pairflow ok ready"),
    ];
    for (args, state, next) in cases {
        home.pairflow(args).ends(1).says(state).says(next);
    }
    home.pairflow(&["reply", "ready", "--message", "x"]).ends(1).says("no question is open");
    assert_eq!(
        (home.status("new")["state"].clone(), home.status("ready")["state"].clone()),
        (json!("CREATED"), json!("READY_FOR_APPROVAL"))
    );
}

#[test]
fn agent_verbs_in_the_wrong_state_are_refused() {
    let home = home();
    let (codex, claude) = ready(&home, "b1");
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ends(1).says("READY_FOR_APPROVAL");
    codex.pairflow(&["converged", "--summary", "x"]).ends(1).says("READY_FOR_APPROVAL");
    codex.pairflow(&["ask-human", "--question", "x"]).ends(1).says("READY_FOR_APPROVAL");
}

#[test]
fn the_wrong_seat_is_refused_and_logged() {
    let home = home();
    started(&home, "b1");
    let claude = home.agent("b1", "claude");
    claude
        .pairflow(&["pass", "--summary", "x", "--no-findings"])
        .ends(1)
        .says("codex's turn")
        .says("next: pairflow wait b1 --for turn");
    let warning = &lines_of(&home, "b1", "PROTOCOL_WARNING")[0];
    assert_eq!((&warning["payload"]["command"], &warning["recipient"]), (&json!("pass"), &json!("claude")));
}

#[test]
fn empty_texts_are_usage_errors() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    for empty in ["", " ", "\n\t"] {
        codex.pairflow(&["pass", "--summary", empty]).ends(2).says("the text is empty");
        codex.pairflow(&["converged", "--summary", empty]).ends(2);
        codex.pairflow(&["ask-human", "--question", empty]).ends(2);
        home.pairflow(&["reply", "b1", "--message", empty]).ends(2);
        home.pairflow(&["request-rework", "b1", "--message", empty]).ends(2);
        home.pairflow(&["commit", "b1", "--message", empty, "--yes"]).ends(2);
        home.pairflow(&["create", "--id", "b2", "--task", empty, "--test", "true"]).ends(2);
    }
    codex.pairflow(&["pass"]).ends(2).says("--summary");
    // From stdin there is nothing to read.
    codex.pairflow(&["pass", "--summary", "-"]).ends(2).says("stdin is empty");
}

#[test]
fn a_reviewer_that_declares_nothing_and_an_implementer_with_findings_are_refused() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["pass", "--summary", "x", "--finding", "P1:x"]).ends(1).says("not findings");
    codex.pairflow(&["pass", "--summary", "x", "--no-findings"]).ends(1).says("not findings");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    let claude = home.agent("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x"]).ends(1).says("says what it found").says("--no-findings");
    for finding in ["P4:x", "x", "P1:", "P1: ", ":x", "p1:x"] {
        claude.pairflow(&["pass", "--summary", "x", "--finding", finding]).ends(2).says("SEVERITY:TITLE");
    }
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P1:x", "--no-findings"]).ends(2);
    assert_eq!(lines_of(&home, "b1", "PASS").len(), 1);
}

#[test]
fn converged_by_the_implementer_is_refused_and_logged() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["converged", "--summary", "done"]).ends(1).says("only the reviewer may declare convergence");
    let warnings = lines_of(&home, "b1", "PROTOCOL_WARNING");
    assert_eq!((warnings.len(), &warnings[0]["payload"]["command"]), (1, &json!("converged")));
    codex.pairflow(&["converged", "--summary", "done"]).ends(1);
    assert_eq!(lines_of(&home, "b1", "PROTOCOL_WARNING").len(), 1, "the same again says nothing new");
}

#[test]
fn converged_without_evidence_is_refused_and_logged_with_every_unmet_criterion() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    for n in 1..=3 {
        codex.write("draft.txt", &format!("{n}\n"));
        codex.pairflow(&["pass", "--summary", &format!("without the file that the check wants, {n}")]).ok();
        home.wait_for_turn("b1", "codex");
    }
    codex.write("draft.txt", "4\n");
    // What goes back too often is reviewed all the same.
    codex.pairflow(&["pass", "--summary", "without the file that the check wants"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.write("stray.txt", "the reviewer's own\n");
    let said = claude.pairflow(&["converged", "--summary", "done"]).ends(1).stderr;
    let warning = lines_of(&home, "b1", "PROTOCOL_WARNING").pop().unwrap();
    let unmet: Vec<_> =
        warning["payload"]["unmet"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    let wanted =
        ["the check 'test' fails", "a second clean review", "has not alternated", "an explanation", "stray.txt"];
    for part in wanted {
        assert!(unmet.iter().any(|criterion| criterion.contains(part)), "{part} is missing in {unmet:?}");
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    assert_eq!(unmet.len(), wanted.len(), "{unmet:?}");
    assert_eq!(home.status("b1")["state"], "RUNNING");
    assert!(lines_of(&home, "b1", "CONVERGENCE").is_empty());
}

#[test]
fn answers_to_nothing_are_refused() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.pairflow(&["reply", "b1", "--message", "x"]).ends(1).says("no question is open");
    codex.pairflow(&["ask-human", "--question", "why?"]).ok();
    home.pairflow(&["reply", "b1", "--message", "x", "--question", "msg_1"])
        .ends(1)
        .says("msg_1 is not an open question");
    home.pairflow(&["reply", "b1", "--decision", "accept"]).ends(1).says("does not take that decision");
    home.pairflow(&["resume", "b1"]).ends(1).says("why?").says("pairflow inbox b1");
    home.pairflow(&["request-rework", "b1", "--message", "x", "--finding", "F9"]).ends(1);
    home.pairflow(&["reply", "b1", "--message", "because"]).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn rework_of_a_finding_that_is_not_open_is_refused() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["request-rework", "b1", "--message", "x", "--finding", "F9"])
        .ends(1)
        .says("F9 is not an open finding");
    home.pairflow(&["request-rework", "b1", "--message", "x", "--finding", "nine"]).ends(2);
}

#[test]
fn a_refused_person_leaves_no_trace_and_a_refused_agent_one_warning() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    let before = lines(&home, "b1").len();
    home.pairflow(&["approve", "b1", "--yes"]).ends(1);
    home.pairflow(&["commit", "b1", "--yes"]).ends(1);
    assert_eq!(lines(&home, "b1").len(), before);
    codex.pairflow(&["pass", "--summary", "not mine"]).ends(1);
    assert_eq!(lines(&home, "b1").len(), before + 1);
}
