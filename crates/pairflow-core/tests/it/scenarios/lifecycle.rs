//! From nothing to a running loop, and the ways in which a bubble ends.

use pairflow_core::bubble::{Command, Effect, Refusal, RefusedCaller, StateName, owed};
use pairflow_core::facts::Severity;
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Lifecycle, MAX_ESCAPED, MessageKind};
use pairflow_core::respond::handle;
use pairflow_core::time::Moment;
use pairflow_core::view::timeline::timeline;
use pairflow_testkit::script::{check, play};

#[test]
fn a_stopped_bubble_asks_nothing_although_a_check_differs_in_a_fresh_checkout() {
    let play = play("start\ncodex: pass\nclaude: pass clean (hold)\ntest fails afresh\nsettle\nhuman: stop");
    assert!(play.lines.iter().any(|line| line.contains("fails in a fresh checkout")), "{:?}", play.lines);
    assert!(play.state.phase.is_final() && play.state.gate.questions.is_empty());
}

#[test]
fn a_start_prepares_the_workspace_and_gives_the_implementer_the_first_turn() {
    check("start", "#1 RUNNING codex implementer round 1");
}

#[test]
fn the_states_of_a_start_follow_one_another() {
    check(
        "start (hold)
         crash
         settle",
        "#1 PREPARING_WORKSPACE
         #2 RUNNING codex implementer round 1",
    );
}

#[test]
fn a_crash_while_the_workspace_is_prepared_is_repeated_safely() {
    let mut play = play("start (hold)\ncrash");
    assert_eq!(owed(&play.state), [Effect::PrepareWorkspace]);
    play.line("settle");
    assert_eq!(play.state.phase.name(), StateName::Running);
}

#[test]
fn a_failed_start_leaves_the_bubble_startable_again() {
    check(
        "workspace fails 'no space left'
         start
         start",
        "#1 CREATED
         #2 RUNNING codex implementer round 1",
    );
}

#[test]
fn a_second_start_is_refused_and_says_whose_turn_it_is() {
    check(
        "start (hold)
         start (hold)
         settle
         start",
        "#1 PREPARING_WORKSPACE
         refused: cannot start: the bubble is PREPARING_WORKSPACE; its workspace is being prepared
         #2 RUNNING codex implementer round 1
         refused: cannot start: the bubble is RUNNING; round 1, codex has the turn as implementer",
    );
}

#[test]
fn a_start_without_anything_to_check_is_refused() {
    check(
        "given no checks
         start",
        "refused: nothing would be checked: give a test command, or --no-tests with at least one --manual-check",
    );
}

#[test]
fn a_start_with_a_manual_check_alone_is_accepted() {
    check(
        "given no checks
         given manual 'log in twice at once'
         start",
        "#1 RUNNING codex implementer round 1",
    );
}

#[test]
fn the_whole_way_from_task_to_done() {
    check(
        "start
         codex edits src/lib.rs
         codex: pass 'first cut'
         claude: pass P1 'no rollback'
         codex edits src/lib.rs
         codex: pass 'rolls back'
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit
         human: merge",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback
         #5 RUNNING codex reviewer round 2 clean: claude
         #6 READY_FOR_APPROVAL round 2 tree2
         #7 APPROVED_FOR_COMMIT tree2
         #8 DONE commit1 tree2
         #9 DONE commit1 tree2",
    );
}

#[test]
fn every_state_that_is_not_final_can_be_stopped() {
    let ready = "start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean";
    let scripts = [
        (StateName::Created, "wait 1s".to_owned()),
        (StateName::PreparingWorkspace, "start (hold)".to_owned()),
        (StateName::Running, "start".to_owned()),
        (StateName::WaitingHuman, "start\ncodex: asks 'what?'".to_owned()),
        (StateName::ReadyForApproval, ready.to_owned()),
        (StateName::ApprovedForCommit, format!("{ready}\nhuman: approve")),
        (StateName::Committed, format!("{ready}\nhuman: approve\nhuman: commit (hold)\nraw commit-made (hold)")),
    ];
    for (state, script) in scripts {
        let mut play = play(&script);
        assert_eq!(play.state.phase.name(), state, "{script}");
        play.line("human: stop 'changed my mind'");
        assert_eq!(play.state.phase.name(), StateName::Cancelled, "{script}");
        let Body::Lifecycle(Lifecycle::Cancelled { reason }) = &play.log.last().unwrap().event.body else { panic!() };
        assert_eq!(reason, "changed my mind");
    }
}

#[test]
fn every_active_state_fails_on_an_unrecoverable_error() {
    let ready = "start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean";
    let scripts = [
        "start (hold)".to_owned(),
        "start".to_owned(),
        "start\ncodex: asks 'what?'".to_owned(),
        ready.to_owned(),
        format!("{ready}\nhuman: approve"),
        format!("{ready}\nhuman: approve\nhuman: commit (hold)\nraw commit-made (hold)"),
    ];
    for script in scripts {
        let mut play = play(&script);
        play.line("lost 'the repository is gone'");
        assert_eq!(play.lines.last().unwrap().split_once(' ').unwrap().1, "FAILED  the repository is gone", "{script}");
    }
    check("lost 'the repository is gone'", "refused: this is no longer owed");
}

#[test]
fn nothing_follows_a_final_state() {
    check(
        "start
         human: stop
         start
         codex: pass 'late'
         codex: asks 'still there?'
         human: reply 'no'
         human: resume
         human: pause
         human: approve
         human: rework 'again'
         human: commit
         human: update
         human: stop
         human: merge
         env codex
         lost 'too'
         wait 6m",
        "#1 RUNNING codex implementer round 1
         #2 CANCELLED
         refused: cannot start: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot pass: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot ask-human: the bubble is CANCELLED; a person stopped it, and that is final
         refused: no question is open
         refused: cannot resume: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot pause: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot approve: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot request-rework: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot commit: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot update: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot stop: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot merged: the bubble is CANCELLED; a person stopped it, and that is final
         refused: cannot env: the bubble is CANCELLED; a person stopped it, and that is final
         refused: this is no longer owed
         nothing happens",
    );
}

#[test]
fn a_stopped_bubble_that_had_a_commit_keeps_it_on_the_log() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit (hold)
         raw commit-made (hold)
         human: stop",
    );
    assert_eq!(play.state.phase.name(), StateName::Cancelled);
    let committed = |body: &Body| matches!(body, Body::Lifecycle(Lifecycle::Committed { .. }));
    assert!(play.log.iter().any(|envelope| committed(&envelope.event.body)));
}

#[test]
fn a_crash_between_commit_and_done_package_is_healed() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit (hold)
         raw commit-made (hold)
         crash
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 APPROVED_FOR_COMMIT tree1 committing
         #7 COMMITTED c0ffee tree1
         #8 DONE c0ffee tree1",
    );
}

#[test]
fn a_token_is_minted_for_an_agent_of_the_bubble_only() {
    check(
        "start
         env codex
         env gemini",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1
         refused: gemini has no seat in this bubble; its agents are codex, claude",
    );
    let play = play("start\nenv codex 'old'\nenv codex 'new'");
    assert_eq!(play.state.presence.tokens.values().collect::<Vec<_>>(), ["new"]);
}

/// A bubble that is done.
const DONE: &str = "start
    codex edits a.rs
    codex: pass
    claude: pass clean
    codex: pass clean
    human: approve
    human: commit";

#[test]
fn a_defect_found_later_is_recorded_once_and_done_stays_final() {
    let mut play = play(DONE);
    let (before, lines) = (play.state.clone(), play.log.len());
    play.line("human: escaped P0 'tokens leak'");
    play.line("human: escaped P0 '  tokens leak '");
    assert_eq!(play.log.len(), lines + 1, "{:?}", play.lines);
    let event = &play.log.last().unwrap().event;
    assert_eq!((&event.sender, event.body.kind()), (&Party::Human, MessageKind::Lifecycle));
    let [found] = &play.state.gate.escaped[..] else { panic!("{:?}", play.state.gate.escaped) };
    assert_eq!((found.severity, found.text.as_str()), (Severity::P0, "tokens leak"));
    assert_eq!((&play.state.phase, owed(&play.state)), (&before.phase, Vec::new()));
    let row = timeline(play.log.last().unwrap()).unwrap();
    assert_eq!((row.who.as_str(), row.what.as_str()), ("human", "reports a defect found later, P0: tokens leak"));
}

#[test]
fn a_recorded_defect_keeps_its_severity_and_there_are_not_too_many() {
    let mut play = play(DONE);
    play.line("human: escaped 'tokens leak'");
    assert_eq!(play.state.gate.escaped[0].severity, Severity::P1);
    play.line("human: escaped P0 'tokens leak'");
    let refused = "refused: this defect is already recorded as P1; a recorded severity does not change";
    assert_eq!(play.lines.last().unwrap(), refused);
    (1..=MAX_ESCAPED).for_each(|n| play.line(&format!("human: escaped 'defect {n}'")));
    assert_eq!(
        play.lines.last().unwrap(),
        "refused: 50 escaped defects are recorded for this bubble, which is the limit"
    );
    assert_eq!(play.state.gate.escaped.len(), MAX_ESCAPED);
    // One that was recorded long ago, and whose retry key is forgotten, is still the same one.
    let lines = play.log.len();
    play.state.keys.clear();
    play.line("human: escaped 'tokens leak'");
    assert_eq!(play.log.len(), lines);
}

#[test]
fn only_finished_work_has_let_a_defect_escape() {
    let refusal = |script: &str| {
        let mut play = play(script);
        play.line("human: escaped 'tokens leak'");
        assert!(play.state.gate.escaped.is_empty());
        play.lines.last().unwrap().clone()
    };
    let only = |state| {
        format!(
            "refused: cannot record an escaped defect: the bubble is {state}, and only one that is DONE has let a defect \
             escape"
        )
    };
    assert_eq!(refusal("start"), only("RUNNING"));
    assert_eq!(refusal("start\nhuman: stop"), only("CANCELLED"));
    let next = |state| Refusal::NotDone { state }.next(&"b1".parse().unwrap(), RefusedCaller::Person);
    assert_eq!(next(StateName::Cancelled).as_deref(), Some("pairflow log b1"));
    assert_eq!(next(StateName::ApprovedForCommit).as_deref(), Some("pairflow commit b1"));
}

#[test]
fn the_text_of_a_defect_is_neither_empty_nor_long() {
    let refusal = |text: &str| {
        let play = play(DONE);
        let command = Command::Escaped { severity: Severity::P1, text: text.to_owned() };
        handle(&play.state, &command, Moment::default()).unwrap_err().to_string()
    };
    assert_eq!(refusal(" "), "the defect must not be empty");
    assert!(refusal(&"x".repeat(501)).starts_with("the defect is 501 bytes; the limit is 500"));
    assert!(refusal("…").contains("placeholder"));
}
