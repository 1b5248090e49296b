//! The loop: hand-overs, reviews, swaps, checks, and who changed which files.

use pairflow_core::facts::{CheckPlace, Outcome};
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Evidence};
use pairflow_testkit::script::{check, play};

#[test]
fn the_reviewer_gets_the_turn_when_the_implementer_passes() {
    check(
        "start
         codex edits src/lib.rs
         codex: pass 'first cut'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1",
    );
}

#[test]
fn reviewer_findings_send_the_work_back() {
    check(
        "start
         codex edits src/lib.rs
         codex: pass 'first cut'
         claude: pass P1 'no rollback' P2 'naming'
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P2 naming
         refused: round 2 is codex's turn, as implementer; claude has nothing to hand over",
    );
}

#[test]
fn p0_keeps_the_loop_going() {
    check(
        "start
         codex: pass
         claude: pass P0 'deletes the database'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P0 deletes the database",
    );
}

#[test]
fn a_finding_that_the_next_review_does_not_mention_stays_open_until_one_finds_nothing() {
    check(
        "
         start
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass
         claude: pass P1 'leaks'
         codex edits a.rs
         codex: pass
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback
         #5 RUNNING codex implementer round 3 open: F1 P1 no rollback, F2 P1 leaks
         #6 RUNNING claude reviewer round 3 open: F1 P1 no rollback, F2 P1 leaks
         #7 RUNNING codex reviewer round 3 clean: claude",
    );
}

#[test]
fn the_implementer_may_pass_an_unchanged_tree() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass 'there is a rollback, look again'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback",
    );
}

#[test]
fn after_the_first_clean_review_the_seats_swap_and_the_same_tree_is_reviewed_at_once() {
    check(
        "start
         codex edits src/lib.rs
         codex: pass 'first cut'
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude",
    );
}

#[test]
fn a_second_review_that_finds_something_makes_the_new_implementer_fix_and_the_finder_review() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P1 'no rollback'
         claude edits a.rs
         claude: pass 'rolls back'
         codex: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING claude implementer round 2 clean: claude open: F1 P1 no rollback
         #5 RUNNING codex reviewer round 2 open: F1 P1 no rollback
         #6 RUNNING claude reviewer round 2 clean: codex
         #7 READY_FOR_APPROVAL round 2 tree2",
    );
}

#[test]
fn a_review_with_p3_only_is_clean_and_so_is_one_with_p2_after_the_first_two_looks() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P2 'slow' P3 'naming'
         codex: pass fixes F1
         claude: pass P2 'slower' confirms F1
         codex: pass
         claude: pass P2 'slowest'
         codex: pass P3 'naming'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P2 slow, F2 P3 naming
         #4 RUNNING claude reviewer round 2 open: F1 P2 slow [fixed], F2 P3 naming
         #5 RUNNING codex implementer round 3 open: F2 P3 naming, F3 P2 slower
         #6 RUNNING claude reviewer round 3 open: F2 P3 naming, F3 P2 slower
         #7 RUNNING codex reviewer round 3 clean: claude open: F2 P3 naming, F3 P2 slower, F4 P2 slowest
         #8 READY_FOR_APPROVAL round 3 tree1",
    );
}

#[test]
fn a_failing_check_makes_a_clean_review_not_clean_and_the_implementer_is_next() {
    check(
        "start
         codex edits a.rs
         codex: pass (hold)
         step
         step
         human edits b.rs
         test fails
         settle
         claude: pass clean
         test passes
         codex edits a.rs
         codex: pass
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         #3 RUNNING claude reviewer round 1 opening unchecked: test
         #4 RUNNING claude reviewer round 1 opening
         #5 RUNNING claude reviewer round 1 failing: test
         #6 RUNNING codex implementer round 2 failing: test
         #7 RUNNING claude reviewer round 2
         #8 RUNNING codex reviewer round 2 clean: claude",
    );
}

#[test]
fn a_failed_check_runs_again_when_the_implementer_passes_the_same_tree() {
    let play = play(
        "start
         test fails
         codex edits a.rs
         codex: pass
         test passes
         codex: pass 'that was the network'",
    );
    let outcomes = play.log.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Evidence(Evidence::Receipt { receipt }) if receipt.place != CheckPlace::Base => {
            Some(receipt.outcome.clone())
        }
        _ => None,
    });
    let outcomes = outcomes.collect::<Vec<_>>();
    assert_eq!(outcomes, [Outcome::Failed { exit: Some(1), timed_out: false }, Outcome::Passed]);
    assert!(play.state.facts().checks_not_passed().next().is_none());
}

#[test]
fn a_passing_receipt_is_reused_for_the_same_tree() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass 'look again'
         claude: pass clean
         codex: pass clean",
    );
    let places = play.log.iter().filter_map(|one| match &one.event.body {
        Body::Evidence(Evidence::Receipt { receipt }) => Some(receipt.place),
        _ => None,
    });
    assert_eq!(places.collect::<Vec<_>>(), [CheckPlace::Base, CheckPlace::Checkout, CheckPlace::Fresh]);
}

#[test]
fn every_changed_tree_is_checked_before_the_next_turn_opens() {
    check(
        "given checks test, lint
         start
         lint fails
         codex edits a.rs
         codex: pass (hold)
         claude: pass clean (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         refused: claude's turn is still opening: the tree that codex left is not recorded yet
         #3 RUNNING codex implementer round 1 failing: lint",
    );
}

#[test]
fn a_reviewer_that_edits_files_and_claims_clean_reviews_again() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude edits b.rs
         claude: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1
         #4 RUNNING codex reviewer round 1 clean: claude",
    );
}

#[test]
fn a_second_reviewer_that_edits_files_reviews_again_and_the_streak_begins_anew() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex edits b.rs
         codex: pass clean
         codex: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1
         #5 RUNNING claude reviewer round 1 clean: codex
         #6 READY_FOR_APPROVAL round 1 tree2",
    );
}

#[test]
fn the_findings_of_a_reviewer_that_edits_files_count() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude edits b.rs
         claude: pass P1 'no rollback'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback",
    );
}

#[test]
fn edits_of_a_person_between_turns_are_the_persons_and_are_checked() {
    let mut play = play(
        "start
         codex edits a.rs
         codex: pass (hold)
         step
         step
         human: pause
         human edits b.rs
         test fails
         human: resume",
    );
    let authors = play.log.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Evidence(Evidence::Snapshot { snapshot }) => Some(snapshot.author.clone()),
        _ => None,
    });
    assert_eq!(authors.collect::<Vec<_>>().last(), Some(&Some(Party::Human)));
    assert_eq!(play.state.facts().checks_not_passed().collect::<Vec<_>>(), ["test"]);
    play.line("claude: pass clean");
    assert!(play.lines.last().unwrap().contains("codex implementer round 2"), "{:?}", play.lines);
}

#[test]
fn edits_of_a_person_between_turns_clear_the_streak() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean (hold)
         step
         human edits b.rs
         settle
         codex: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 closing
         #4 RUNNING codex reviewer round 1 opening clean: claude
         #5 RUNNING codex reviewer round 1
         #6 RUNNING claude reviewer round 1 clean: codex
         #7 READY_FOR_APPROVAL round 1 tree2",
    );
}

#[test]
fn who_wrote_the_files_and_reviews_them_too_is_labelled() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean",
    );
    let own_work = |review: &pairflow_core::facts::CleanReview| (review.agent.to_string(), review.own_work);
    let reviews: Vec<_> = play.state.gate.certificate.unwrap().reviews.iter().map(own_work).collect();
    assert_eq!(reviews, [("claude".to_owned(), false), ("codex".to_owned(), true)]);
}

#[test]
fn a_third_agent_takes_the_second_review_and_the_seats_stay() {
    check(
        "given agents codex, claude, gemini
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         gemini: pass P1 'no rollback' by './repro'
         codex edits a.rs
         F1 reproducer passes
         codex: pass
         gemini: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING gemini reviewer round 1 clean: claude
         #4 RUNNING codex implementer round 2 clean: claude open: F1 P1 no rollback
         #5 RUNNING gemini reviewer round 2
         #6 RUNNING claude reviewer round 2 clean: gemini
         #7 READY_FOR_APPROVAL round 2 tree2",
    );
}

#[test]
fn one_agent_in_both_seats_reviews_twice_and_the_certificate_says_so() {
    check(
        "given agents claude, claude
         start
         claude edits a.rs
         claude: pass 'work'
         claude: pass clean
         claude: pass clean",
        "#1 RUNNING claude implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
    let play = play(
        "given agents claude, claude
         start
         claude: pass 'work'
         claude: pass clean
         claude: pass clean",
    );
    let notes = play.state.gate.certificate.unwrap().notes;
    assert_eq!(
        notes,
        [
            "same model: both seats were held by the same agent",
            "external agents: pairflow cannot vouch that each review began with a fresh context",
        ]
    );
}

#[test]
fn a_turn_that_is_still_opening_is_refused_with_what_is_owed() {
    check(
        "start (hold)
         settle
         codex edits a.rs
         codex: pass (hold)
         claude: pass clean (hold)
         step
         claude: pass clean (hold)
         step
         claude: pass clean (hold)
         settle
         claude: pass clean",
        "#1 PREPARING_WORKSPACE
         #2 RUNNING codex implementer round 1
         #3 RUNNING claude reviewer round 1 closing
         refused: claude's turn is still opening: the tree that codex left is not recorded yet
         #4 RUNNING claude reviewer round 1 opening unchecked: test
         refused: claude's turn is still opening: the check 'test' has not finished
         #5 RUNNING claude reviewer round 1 opening
         refused: claude's turn is still opening: the notice is not out yet
         #6 RUNNING claude reviewer round 1
         #7 RUNNING codex reviewer round 1 clean: claude",
    );
}

#[test]
fn a_verb_out_of_turn_is_refused_and_names_whose_turn_it_is() {
    check(
        "start
         claude: pass clean
         claude: converged
         codex: pass
         codex: pass 'more'
         gemini: pass clean
         gemini: asks 'may I?'",
        "#1 RUNNING codex implementer round 1
         refused: round 1 is codex's turn, as implementer; claude has nothing to hand over
         refused: round 1 is codex's turn, as implementer; claude has nothing to hand over
         #2 RUNNING claude reviewer round 1
         refused: round 1 is claude's turn, as reviewer; codex has nothing to hand over
         refused: gemini has no seat in this bubble; its agents are codex, claude
         refused: gemini has no seat in this bubble; its agents are codex, claude",
    );
}

#[test]
fn a_pass_on_another_branch_or_without_a_worktree_is_refused() {
    check(
        "start
         head on main
         codex: pass
         head detached
         codex: pass
         head missing
         codex: pass
         head back
         codex: pass",
        "#1 RUNNING codex implementer round 1
         refused: the worktree is on branch main instead of on branch bubble/demo
         refused: the worktree is on a detached HEAD instead of on branch bubble/demo
         refused: the worktree /work/demo is gone
         #2 RUNNING claude reviewer round 1",
    );
}

#[test]
fn a_turn_that_is_opening_names_the_check_that_is_still_running_not_the_one_that_failed() {
    check(
        "given checks test, lint
         start
         test fails
         codex edits a.rs
         codex: pass (hold)
         step
         step
         claude: pass clean (hold)
         step
         claude: pass clean (hold)",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         #3 RUNNING claude reviewer round 1 opening unchecked: test, lint
         #4 RUNNING claude reviewer round 1 opening failing: test unchecked: lint
         refused: claude's turn is still opening: the check 'lint' has not finished
         #5 RUNNING codex implementer round 1 opening failing: test
         refused: round 1 is codex's turn, as implementer; claude has nothing to hand over",
    );
}

#[test]
fn a_snapshot_of_the_expected_tree_is_nobodys_change() {
    check(
        "start
         codex edits a.rs
         codex: pass (hold)
         step
         raw snapshot-taken (hold)
         settle
         raw found-snapshot-taken",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         #3 RUNNING claude reviewer round 1 opening unchecked: test
         refused: this is no longer owed
         #4 RUNNING claude reviewer round 1
         refused: this is no longer owed",
    );
}
