//! Another person adopts a bubble: what only the person before has said does not count.

use pairflow_core::bubble::{StateName, owed};
use pairflow_testkit::script::{check, play};

#[test]
fn a_waiver_by_the_person_before_does_not_count() {
    check(
        "given checks test, lint
         lint fails
         start
         codex edits a.rs
         codex: pass
         human: waive lint 'the linter is broken'
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         adopted
         human: resume
         codex edits a.rs
         codex: pass",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: lint
         #3 RUNNING codex implementer round 1 waived: lint
         #4 RUNNING claude reviewer round 1 waived: lint
         #5 RUNNING codex implementer round 2 waived: lint open: F1 P1 no rollback
         #6 RUNNING codex implementer round 2 waived: lint
         #7 RUNNING codex implementer round 2 paused unchecked: test, lint open: F1 P1 no rollback [reopened]
         #8 RUNNING codex implementer round 2 unchecked: test, lint open: F1 P1 no rollback [reopened]
         #9 RUNNING codex implementer round 2 failing: lint open: F1 P1 no rollback [reopened]",
    );
}

#[test]
fn a_question_to_the_person_before_is_not_open_any_more() {
    check(
        "start
         codex: asks 'which colour?'
         adopted
         human: reply 'blue'
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which colour?
         #3 RUNNING codex implementer round 1 paused
         refused: no question is open
         #4 RUNNING codex implementer round 1",
    );
}

#[test]
fn a_review_under_way_begins_with_the_checks() {
    check(
        "start
         codex edits a.rs
         codex: pass
         adopted
         test fails
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 opening paused unchecked: test
         #4 RUNNING codex implementer round 1 failing: test",
    );
}

#[test]
fn a_clean_review_and_an_approval_from_before_do_not_count() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         adopted
         human: resume
         codex: pass clean
         claude: pass clean
         human: approve
         adopted",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 opening paused unchecked: test
         #5 RUNNING codex reviewer round 1
         #6 RUNNING claude reviewer round 1 clean: codex
         #7 READY_FOR_APPROVAL round 1 tree1
         #8 APPROVED_FOR_COMMIT tree1
         #9 RUNNING codex implementer round 2 opening paused unchecked: test",
    );
}

const APPROVED: &str = "start
    codex edits a.rs
    codex: pass
    claude: pass clean
    codex: pass clean
    human: approve";

#[test]
fn a_commit_that_was_asked_for_or_made_is_not_completed() {
    let under_way = ["human: commit (hold)", "human: commit (hold)\nstep"];
    for (lines, state) in under_way.iter().zip([StateName::ApprovedForCommit, StateName::Committed]) {
        let mut play = play(&format!("{APPROVED}\n{lines}"));
        assert_eq!(play.state.phase.name(), state);
        play.line("adopted (hold)");
        assert_eq!((play.state.phase.name(), play.state.paused), (StateName::Running, true), "{lines}");
        assert_eq!(owed(&play.state), [], "{lines}");
    }
}

#[test]
fn a_bubble_that_is_over_stays_over() {
    for (lines, state) in [("human: commit", StateName::Done), ("human: stop", StateName::Cancelled)] {
        let mut play = play(&format!("{APPROVED}\n{lines}"));
        let before = play.state.phase.clone();
        play.line("adopted");
        assert_eq!((before.name(), &play.state.phase, play.state.paused), (state, &before, false));
    }
}

#[test]
fn a_reproducer_is_run_again() {
    let mut play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './rollback'",
    );
    assert_eq!(play.state.facts().to_reproduce().count(), 0);
    play.line("adopted (hold)");
    assert_eq!(play.state.facts().to_reproduce().count(), 1);
}
