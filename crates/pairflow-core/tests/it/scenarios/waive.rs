//! What a person lives with: a finding or a check, with a reason, and everyone can see it.

use pairflow_core::ids::Party;
use pairflow_core::log::MessageKind;
use pairflow_core::view::timeline::timeline;
use pairflow_testkit::script::{check, play};

#[test]
fn a_waived_finding_keeps_nothing_from_being_accepted() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         codex: pass
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2
         #5 RUNNING claude reviewer round 2
         #6 RUNNING codex reviewer round 2 clean: claude
         #7 READY_FOR_APPROVAL round 2 tree1",
    );
}

#[test]
fn a_waived_check_keeps_nothing_from_being_accepted_and_stays_waived_on_later_trees() {
    check(
        "given checks test, lint
         lint fails
         start
         codex edits a.rs
         codex: pass
         human: waive lint 'the linter is broken'
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: lint
         #3 RUNNING codex implementer round 1 waived: lint
         #4 RUNNING claude reviewer round 1 waived: lint
         #5 RUNNING codex implementer round 2 waived: lint open: F1 P1 no rollback
         #6 RUNNING claude reviewer round 2 waived: lint open: F1 P1 no rollback [fixed]
         #7 RUNNING codex reviewer round 2 clean: claude waived: lint
         #8 READY_FOR_APPROVAL round 2 tree2",
    );
}

#[test]
fn a_waiver_needs_a_reason_and_something_that_is_there() {
    check(
        "given checks test, lint, typecheck
         start
         lint fails
         human: waive lint 'it is broken'
         human: waive lint 'again'
         codex edits a.rs
         codex: pass
         human: waive typecheck 'it passes'
         claude: pass P1 'no rollback'
         human: waive F1
         human: waive F1 ' '
         human: waive F2 'gone'
         human: waive coverage 'low'
         human: waive F1 'we roll forward'
         human: waive F1 'again'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1
         refused: the check 'lint' is already waived
         #3 RUNNING claude reviewer round 1 waived: lint
         refused: the check 'typecheck' passes on this tree, so there is nothing to waive
         #4 RUNNING codex implementer round 2 waived: lint open: F1 P1 no rollback
         refused: the reason of the waiver must not be empty
         refused: the reason of the waiver must not be empty
         refused: F2 is not an open finding
         refused: there is no check 'coverage'; there are test, lint, typecheck
         #5 RUNNING codex implementer round 2 waived: lint
         refused: the finding F1 is already waived",
    );
}

#[test]
fn a_waiver_has_its_place_in_the_loop_only() {
    check(
        "human: waive F1 'x'
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P3 'naming'
         human: waive F1 'x'",
        "refused: cannot waive: the bubble is CREATED; it has not been started
         #1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         refused: cannot waive: the bubble is READY_FOR_APPROVAL; the package waits for a person's decision",
    );
}

#[test]
fn certificate_package_and_log_say_what_was_waived_by_whom_and_why() {
    let play = play(
        "given checks test, lint
         lint fails
         start
         human: waive lint 'the linter is broken'
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         codex: pass
         claude: pass clean
         codex: pass clean",
    );
    let certificate = play.state.gate.certificate.as_ref().unwrap();
    let lint = certificate.checks.iter().find(|check| check.check == "lint").unwrap();
    assert_eq!(lint.stand, "waived: the linter is broken");
    assert!(certificate.notes.contains(&"waived by the person: F1 P1 no rollback".to_owned()), "{certificate:?}");
    let package = play.package();
    assert!(package.contains("waived by the person: F1 P1 no rollback"), "{package}");
    assert!(package.contains("check 'lint': waived: the linter is broken"), "{package}");
    let waivers: Vec<_> = play.log.iter().filter(|one| one.event.body.kind() == MessageKind::Control).collect();
    assert!(waivers.len() == 2 && waivers.iter().all(|one| one.event.sender == Party::Human));
    assert!(waivers[1].event.body.to_json().contains("we roll forward"));
}

#[test]
fn a_waiver_of_a_finding_can_be_taken_back_and_the_row_is_open_again() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 withdraw
         human: waive F1 'we roll forward'
         human: waive F1 withdraw 'we do not'
         human: waive F1 withdraw
         codex: pass fixes F1
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         refused: the finding F1 is not waived
         #4 RUNNING codex implementer round 2
         #5 RUNNING codex implementer round 2 open: F1 P1 no rollback [reopened]
         refused: the finding F1 is not waived
         #6 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #7 RUNNING codex reviewer round 2 clean: claude
         #8 READY_FOR_APPROVAL round 2 tree1",
    );
}

#[test]
fn a_waiver_of_a_check_that_is_taken_back_lets_the_check_run_again() {
    check(
        "given checks test, lint
         lint fails
         start
         human: waive lint 'the linter is broken'
         codex edits a.rs
         codex: pass
         human: waive lint withdraw 'it is needed'
         lint passes
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1
         #3 RUNNING claude reviewer round 1 waived: lint
         #4 RUNNING codex implementer round 1 failing: lint
         #5 RUNNING claude reviewer round 1
         #6 RUNNING codex reviewer round 1 clean: claude
         #7 READY_FOR_APPROVAL round 1 tree2",
    );
}

#[test]
fn what_a_check_said_of_this_tree_before_its_waiver_counts_again() {
    check(
        "given checks test, lint
         start
         lint fails
         codex edits a.rs
         codex: pass
         human: waive lint 'slow'
         lint passes
         human: waive lint withdraw",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: lint
         #3 RUNNING codex implementer round 1 waived: lint
         #4 RUNNING codex implementer round 1 failing: lint",
    );
}

#[test]
fn reviews_that_were_clean_thanks_to_a_waiver_do_not_count_without_it() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P3 'naming'
         human: waive F1 'we roll forward'
         human: waive F2 'so what'
         codex: pass
         claude: pass clean
         human: waive F2 withdraw
         human: waive F1 withdraw",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P3 naming
         #4 RUNNING codex implementer round 2 open: F2 P3 naming
         #5 RUNNING codex implementer round 2
         #6 RUNNING claude reviewer round 2
         #7 RUNNING codex reviewer round 2 clean: claude
         #8 RUNNING codex reviewer round 2 clean: claude open: F2 P3 naming [reopened]
         #9 RUNNING codex reviewer round 2 open: F1 P1 no rollback [reopened], F2 P3 naming [reopened]",
    );
}

#[test]
fn a_waiver_that_is_taken_back_while_a_clean_review_is_recorded_sends_the_work_back() {
    check(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         codex: pass
         claude: pass clean (hold)
         human: waive F1 withdraw (hold)
         settle
         human: waive F1 'after all'
         codex: pass
         claude: pass clean
         codex: pass clean (hold)
         human: waive F1 withdraw (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2
         #5 RUNNING claude reviewer round 2
         #6 RUNNING claude reviewer round 2 closing
         #7 RUNNING claude reviewer round 2 closing open: F1 P1 no rollback [reopened]
         #8 RUNNING codex implementer round 3 open: F1 P1 no rollback [reopened]
         #9 RUNNING codex implementer round 3
         #10 RUNNING claude reviewer round 3
         #11 RUNNING codex reviewer round 3 clean: claude
         #12 RUNNING codex reviewer round 3 closing clean: claude
         #13 RUNNING codex reviewer round 3 closing open: F1 P1 no rollback [reopened]
         #14 RUNNING claude implementer round 4 open: F1 P1 no rollback [reopened]",
    );
}

#[test]
fn a_review_that_asked_for_changes_is_not_clean_by_a_waiver_before_its_snapshot() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P1 'no rollback' unexplained (hold)
         human: waive F1 'we roll forward' (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 closing clean: claude open: F1 P1 no rollback
         #5 RUNNING codex reviewer round 1 closing clean: claude
         #6 RUNNING claude implementer round 2 clean: claude",
    );
}

#[test]
fn a_clean_review_stays_clean_if_a_minor_finding_is_waived_before_its_snapshot() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P3 'a comma' (hold)
         human: waive F1 'we like commas' (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 closing clean: claude open: F1 P3 a comma
         #5 RUNNING codex reviewer round 1 closing clean: claude
         #6 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_review_beside_a_failing_check_is_not_clean_by_a_waiver_before_its_snapshot() {
    check(
        "start
         test fails
         codex edits a.rs
         codex: pass
         codex edits b.rs
         codex: pass
         codex edits c.rs
         codex: pass
         codex edits d.rs
         codex: pass
         claude: pass clean (hold)
         human: waive test 'broken' (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: test
         #3 RUNNING codex implementer round 1 failing: test
         #4 RUNNING codex implementer round 1 failing: test
         #5 RUNNING claude reviewer round 1 failing: test
         #6 RUNNING claude reviewer round 1 closing failing: test
         #7 RUNNING claude reviewer round 1 closing waived: test
         #8 RUNNING codex implementer round 2 waived: test",
    );
}

#[test]
fn a_waiver_that_is_taken_back_while_the_reviews_suffice_sends_the_work_back() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         codex: pass
         claude: pass clean
         codex: pass clean (hold)
         claude: asks 'really?'
         human: waive F1 withdraw
         human: reply 'yes'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2
         #5 RUNNING claude reviewer round 2
         #6 RUNNING codex reviewer round 2 clean: claude
         #7 RUNNING codex reviewer round 2 closing clean: claude
         #8 WAITING_HUMAN codex reviewer round 2 settled clean: claude, codex asks: claude: really?
         #9 WAITING_HUMAN claude implementer round 3 opening open: F1 P1 no rollback [reopened] asks: claude: really?
         #10 RUNNING claude implementer round 3 open: F1 P1 no rollback [reopened]",
    );
}

#[test]
fn a_check_that_could_not_be_run_is_asked_about_again_once_its_waiver_is_taken_back() {
    check(
        "given checks test, lint
         lint cannot run
         start
         codex edits a.rs
         codex: pass
         human: waive lint 'no network'
         human: waive lint withdraw
         lint passes
         human: reply continue",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: lint asks: orchestrator: the check 'lint' could not be run (no such program).
         #3 RUNNING claude reviewer round 1 waived: lint
         #4 WAITING_HUMAN claude reviewer round 1 opening unchecked: lint asks: orchestrator: the check 'lint' could not be run (no such program).
         #5 RUNNING claude reviewer round 1",
    );
}

#[test]
fn at_the_cap_a_waiver_of_what_a_reproducer_was_to_show_asks_the_person() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro' (hold)
         step
         human: waive F1 'we roll forward'
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 closing open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2 opening open: F1 P1 no rollback
         #5 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: one round has ended without agreement; no P0/P1 finding is open.
         nothing happens",
    );
}

#[test]
fn history_log_and_row_say_that_a_waiver_was_taken_back() {
    let play = play(
        "given checks test, lint
         start
         human: waive lint 'broken'
         human: waive lint withdraw
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we roll forward'
         human: waive F1 withdraw 'we do not'",
    );
    let row = &play.state.ledger.rows[0];
    let told: Vec<_> = row.history.iter().map(|one| (one.to.name(), one.by.to_string(), one.note.as_str())).collect();
    let human = || Party::Human.to_string();
    assert_eq!(
        told[1..],
        [("waived", human(), "we roll forward"), ("reopened", human(), "the waiver was withdrawn: we do not"),]
    );
    let lines: Vec<_> =
        play.log.iter().filter(|one| one.event.body.kind() == MessageKind::Control).filter_map(timeline).collect();
    let shown: Vec<_> = lines.iter().map(|line| line.what.as_str()).collect();
    assert_eq!(
        shown,
        [
            "waives check 'lint': broken",
            "withdraws the waiver of check 'lint'",
            "waives finding F1: we roll forward",
            "withdraws the waiver of finding F1: we do not",
        ]
    );
}
