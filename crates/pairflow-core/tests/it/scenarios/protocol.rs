//! The envelopes: types, intents, findings, recipients, retry keys.

use std::collections::BTreeSet;

use pairflow_core::bubble::{BubbleState, WARNINGS_KEPT, evolve};
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Event, MessageKind, Warning};
use pairflow_testkit::script::{ScriptRun, check, play};

fn last(play: &ScriptRun, kind: MessageKind) -> &Event {
    let newest = play.log.iter().rev().find(|one| one.event.body.kind() == kind);
    &newest.expect("the script brings a message of this type").event
}

#[test]
fn the_task_goes_out_at_the_start_with_criteria_and_scope() {
    let play = play(
        "given task 'Fix the race'
         given criterion 'two logins get two tokens'
         given deny secrets/**
         start",
    );
    let task = last(&play, MessageKind::Task);
    assert_eq!(
        (task.sender.clone(), task.recipient.to_string(), task.round),
        (Party::Orchestrator, "codex".to_owned(), 1)
    );
    assert_eq!(
        task.body.to_json(),
        r#"{"task":"Fix the race","acceptance_criteria":["two logins get two tokens"],"scope":{"deny":["secrets/**"]}}"#
    );
}

#[test]
fn a_pass_goes_to_the_other_seat_with_summary_and_refs() {
    let play = play("start\ncodex: pass 'first cut' ref artifact://a.txt ref artifact://b.txt");
    let pass = last(&play, MessageKind::Pass);
    assert_eq!((pass.sender.to_string(), pass.recipient.to_string(), pass.round), ("codex".into(), "claude".into(), 1));
    assert_eq!(pass.refs, ["artifact://a.txt", "artifact://b.txt"]);
    assert_eq!(pass.body.to_json(), r#"{"summary":"first cut","pass_intent":"review"}"#);
}

#[test]
fn the_intent_follows_from_the_seat_unless_it_is_given() {
    let intent = |script: &str| match &last(&play(script), MessageKind::Pass).body {
        Body::Pass(pass) => serde_json::to_string(&pass.pass_intent).unwrap(),
        _ => unreachable!(),
    };
    assert_eq!(intent("start\ncodex: pass"), "\"review\"");
    assert_eq!(intent("start\ncodex: pass\nclaude: pass clean"), "\"fix_request\"");
    assert_eq!(intent("start\ncodex: pass intent task"), "\"task\"");
    assert_eq!(intent("start\ncodex: pass intent fix_request"), "\"fix_request\"");
    assert_eq!(intent("start\ncodex: pass\nclaude: pass clean intent review"), "\"review\"");
}

#[test]
fn a_reviewer_must_declare_its_findings() {
    check(
        "start
         codex: pass
         claude: pass 'looks fine'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         refused: a reviewer says what it found: give --finding 'P1:title' for each finding, or --no-findings",
    );
}

#[test]
fn the_declaration_is_kept_as_findings_and_is_empty_for_none() {
    let findings = |line: &str| {
        let play = play(&format!("start\ncodex: pass\n{line}"));
        let json: serde_json::Value = serde_json::from_str(&last(&play, MessageKind::Pass).body.to_json()).unwrap();
        json["findings"].to_string()
    };
    assert_eq!(findings("claude: pass clean"), "[]");
    assert_eq!(
        findings("claude: pass P0 'a' P3 'b'"),
        r#"[{"id":"F1","severity":"P0","title":"a"},{"id":"F2","severity":"P3","title":"b"}]"#
    );
}

#[test]
fn findings_get_names_that_are_never_given_twice() {
    let play = play(
        "start
         codex: pass
         claude: pass P1 'a' P1 'b'
         codex edits a.rs
         codex: pass
         claude: pass P1 'c'",
    );
    assert_eq!(play.state.ledger.open().map(|row| row.id.to_string()).collect::<Vec<_>>(), ["F1", "F2", "F3"]);
}

#[test]
fn an_implementer_gives_no_findings() {
    check(
        "start
         codex: pass P1 'someone should look'
         codex: pass clean
         codex: pass",
        "#1 RUNNING codex implementer round 1
         refused: an implementer hands over work, not findings: leave out --finding and --no-findings
         refused: an implementer hands over work, not findings: leave out --finding and --no-findings
         #2 RUNNING claude reviewer round 1",
    );
    let play = play("start\ncodex: pass 'x'");
    assert!(!last(&play, MessageKind::Pass).body.to_json().contains("findings"));
}

#[test]
fn an_empty_summary_is_refused() {
    check(
        "start
         codex: pass ' '
         codex: pass
         claude: pass '' clean",
        "#1 RUNNING codex implementer round 1
         refused: the summary must not be empty
         #2 RUNNING claude reviewer round 1
         refused: the summary must not be empty",
    );
}

#[test]
fn each_agent_verb_always_brings_its_own_type() {
    let kinds = |script: &str| {
        let before =
            play(&script.lines().rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n"));
        let after = play(script);
        after.log[before.log.len()].event.body.kind()
    };
    assert_eq!(kinds("start\ncodex: pass"), MessageKind::Pass);
    assert_eq!(kinds("start\ncodex: asks 'what?'"), MessageKind::HumanQuestion);
    assert_eq!(kinds("start\ncodex: asks 'what?'\nhuman: reply 'that'"), MessageKind::HumanReply);
    assert_eq!(kinds("start\ncodex: pass\nclaude: pass clean\ncodex: converged 'x'"), MessageKind::Convergence);
}

#[test]
fn a_refused_verb_writes_no_envelope_of_the_protocol() {
    let play = play("start\nclaude: pass clean\ncodex: converged\ncodex: pass ' '");
    let own = [MessageKind::Lifecycle, MessageKind::Task, MessageKind::Evidence];
    assert!(play.log.iter().all(|one| own.contains(&one.event.body.kind())));
}

#[test]
fn the_approval_request_names_tree_message_and_package() {
    let play = play("start\ncodex edits a.rs\ncodex: pass 'x'\nclaude: pass clean\ncodex: pass clean");
    let request = last(&play, MessageKind::ApprovalRequest);
    assert_eq!((request.sender.clone(), request.recipient.clone()), (Party::Orchestrator, Party::Human));
    let Body::ApprovalRequest(body) = &request.body else { panic!() };
    assert_eq!((body.tree.0.as_str(), body.package.as_str()), ("tree1", "done-package.md"));
    assert_eq!(body.package_sha256, pairflow_core::hash::sha256(play.package().as_bytes()));
    assert_eq!(request.refs, ["artifact://done-package.md"]);
}

#[test]
fn a_retried_agent_verb_is_the_same_record() {
    check(
        "start
         codex: pass 'first cut'
         codex: pass 'first cut'
         claude: asks 'why?'
         claude: asks 'why?'
         human: reply 'because'
         claude: pass 'ok' clean
         claude: pass 'ok' clean
         codex: converged 'done'
         codex: converged 'done'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         same record as #2
         #3 WAITING_HUMAN claude reviewer round 1 asks: claude: why?
         same record as #3
         #4 RUNNING claude reviewer round 1
         #5 RUNNING codex reviewer round 1 clean: claude
         same record as #5
         #6 READY_FOR_APPROVAL round 1 tree1
         same record as #6",
    );
}

#[test]
fn the_same_words_in_a_later_turn_are_a_new_record() {
    check(
        "
         start
         codex: pass 'x'
         claude: pass 'y' P1 'no rollback'
         codex: pass 'x'
         claude: pass 'y' P1 'no rollback'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback
         #5 RUNNING codex implementer round 3 open: F1 P1 no rollback",
    );
}

#[test]
fn a_given_key_makes_any_retry_the_same_record() {
    check(
        "start
         codex: asks 'which database?' key k1
         codex: asks 'which data base?' key k1
         human: reply 'sqlite' key k2
         human: reply 'sqlite' key k2
         codex: pass key k3
         claude: pass clean
         codex: pass clean
         human: approve key k4
         human: approve key k4
         human: rework 'no' key k5
         human: rework 'no' key k5",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         same record as #2
         #3 RUNNING codex implementer round 1
         same record as #3
         #4 RUNNING claude reviewer round 1
         #5 RUNNING codex reviewer round 1 clean: claude
         #6 READY_FOR_APPROVAL round 1 tree1
         #7 APPROVED_FOR_COMMIT tree1
         same record as #7
         #8 RUNNING codex implementer round 2
         same record as #8",
    );
}

#[test]
fn a_retry_key_survives_a_crash() {
    check(
        "start
         codex: pass 'first cut'
         crash
         codex: pass 'first cut'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         same record as #2",
    );
}

fn warned(play: &ScriptRun, agent: &str, reason: &str, later: u64) -> BubbleState {
    let warning = Warning { command: "pass".to_owned(), reason: reason.to_owned(), unmet: Vec::new() };
    let mut envelope = play.log.last().unwrap().clone();
    envelope.event = Event::own(1, Body::ProtocolWarning(warning));
    envelope.event.recipient = Party::Agent(agent.parse().unwrap());
    envelope.at.up += later;
    evolve(play.state.clone(), &envelope)
}

#[test]
fn a_warning_is_remembered_for_the_one_who_was_refused() {
    let play = play("start");
    let after = warned(&play, "claude", "not your turn", 0);
    let (party, warning) = after.warnings.front().unwrap();
    assert_eq!((party.to_string().as_str(), warning.reason.as_str()), ("claude", "not your turn"));
    assert_eq!((after.phase, after.last_command_at), (play.state.phase, play.state.last_command_at));
}

#[test]
fn a_refused_command_of_the_turns_holder_is_a_sign_of_life() {
    let play = play("start");
    let heard = |state: &BubbleState| state.phase.turn().unwrap().heard.up;
    let before = heard(&play.state);
    assert_eq!(heard(&warned(&play, "codex", "the summary must not be empty", 90_000)), before + 90_000);
    assert_eq!(heard(&warned(&play, "claude", "not your turn", 90_000)), before, "it is not claude's turn");
}

#[test]
fn several_warnings_are_remembered_until_something_happens() {
    let mut play = play("start");
    for n in 0..20 {
        play.state = warned(&play, "codex", &format!("reason {}", n % 3), 0);
    }
    assert_eq!(play.state.warnings.len(), WARNINGS_KEPT);
    let reasons: BTreeSet<_> = play.state.warnings.iter().map(|(_, warning)| warning.reason.clone()).collect();
    assert_eq!(reasons.len(), 3);
    play.line("codex: pass");
    assert!(play.state.warnings.is_empty());
}
