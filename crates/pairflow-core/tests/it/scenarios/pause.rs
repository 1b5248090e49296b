//! A pause keeps state and turn; only the person ends it.

use pairflow_core::bubble::{next_deadline, owed};
use pairflow_testkit::script::{check, play};

#[test]
fn a_pause_keeps_state_and_turn_and_agents_wait() {
    check(
        "start
         human: pause 'lunch'
         codex: pass
         codex: converged
         claude: pass clean
         human: pause
         human: resume
         codex: pass",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 paused
         refused: the bubble is paused, so 'pass' has to wait
         refused: only the reviewer may declare convergence; codex is the implementer of round 1
         refused: the bubble is paused, so 'pass' has to wait
         refused: cannot pause: the bubble is RUNNING; it is already paused
         #3 RUNNING codex implementer round 1
         #4 RUNNING claude reviewer round 1",
    );
}

#[test]
fn a_question_is_accepted_during_a_pause() {
    check(
        "start
         human: pause
         codex: asks 'which database?'
         codex: pass
         human: reply 'sqlite'
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 paused
         #3 WAITING_HUMAN codex implementer round 1 paused asks: codex: which database?
         refused: the bubble is paused, so 'pass' has to wait
         #4 RUNNING codex implementer round 1 paused
         #5 RUNNING codex implementer round 1",
    );
}

#[test]
fn no_deadline_runs_during_a_pause_and_the_silence_counts_from_the_resume() {
    check(
        "start
         wait 4m
         human: pause
         wait 1h
         human: resume
         wait 4m
         wait 2m",
        "#1 RUNNING codex implementer round 1
         nothing happens
         #2 RUNNING codex implementer round 1 paused
         nothing happens
         #3 RUNNING codex implementer round 1
         nothing happens
         #4 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.",
    );
    assert_eq!(next_deadline(&play("start\nhuman: pause").state, None), None);
}

#[test]
fn a_hand_over_that_was_made_before_the_pause_is_still_recorded() {
    check(
        "start
         codex edits a.rs
         codex: pass (hold)
         human: pause
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         #3 RUNNING claude reviewer round 1 opening paused unchecked: test
         #4 RUNNING claude reviewer round 1",
    );
    let play = play("start\ncodex edits a.rs\ncodex: pass (hold)\nhuman: pause");
    assert!(play.state.evidence.snapshot.is_some() && owed(&play.state).is_empty());
}

#[test]
fn resume_without_a_pause_is_refused() {
    check(
        "human: resume
         human: pause
         start
         human: resume",
        "refused: cannot resume: the bubble is CREATED; it has not been started
         refused: cannot pause: the bubble is CREATED; it has not been started
         #1 RUNNING codex implementer round 1
         refused: cannot resume: the bubble is RUNNING; it is not paused; codex has the turn as implementer",
    );
}

#[test]
fn resume_ends_a_pause_and_the_watchdogs_question_together() {
    check(
        "start
         wait 6m
         human: pause
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.
         #3 WAITING_HUMAN codex implementer round 1 paused asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.
         #4 RUNNING codex implementer round 1",
    );
}

#[test]
fn a_tie_break_accepted_during_a_pause_leaves_no_pause_behind() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: pause
         human: reply accept
         human: rework 'roll back'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #4 WAITING_HUMAN codex implementer round 1 opening paused open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #5 READY_FOR_APPROVAL round 1 tree1
         #6 RUNNING codex implementer round 2 open: F1 P1 no rollback",
    );
}
