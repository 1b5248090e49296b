//! A tree that is looked at twice: what was found, asked or measured the first time does not vanish with the second.

use pairflow_core::facts::Severity;
use pairflow_core::progress::CheckState;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_core::view::inbox::inbox;
use pairflow_testkit::script::{check, play};

#[test]
fn the_authors_own_re_check_does_not_settle_what_the_reviewer_left_open() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P3 'naming' P3 'spacing'
         codex: converged 'fine by me'
         human: rework F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude open: F1 P3 naming, F2 P3 spacing
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 RUNNING codex implementer round 2 open: F1 P3 naming [reopened], F2 P3 spacing",
    );
}

#[test]
fn a_clean_second_review_adds_to_what_is_open() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P3 'naming'
         codex: pass P3 'spacing'",
    );
    let open: Vec<_> = play.state.ledger.open().map(|row| row.title.as_str()).collect();
    assert_eq!(open, ["naming", "spacing"]);
    assert!(
        play.package()
            .contains("- open finding: [F1](ledger://F1) P3 naming\n- open finding: [F2](ledger://F2) P3 spacing\n"),
        "{}",
        play.package()
    );
    assert!(inbox(&play.state)[0].question.contains("2 findings open"), "{}", inbox(&play.state)[0].question);
}

#[test]
fn a_finding_that_is_repeated_is_one_row() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P2 'naming'
         codex: pass P3 'Naming'",
    );
    let open: Vec<_> = play.state.ledger.open().map(|row| (row.severity, row.short())).collect();
    assert_eq!(open, [(Severity::P2, "F1 P2 naming".to_owned())]);
}

#[test]
fn on_another_tree_the_rows_of_the_first_stay_open_until_they_are_settled() {
    check(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P2 'naming'
         codex edits a.rs
         codex: pass
         claude: pass P3 'spacing'
         codex edits a.rs
         codex: pass fixes F1 fixes F3
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P2 naming
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback, F2 P2 naming
         #5 RUNNING codex implementer round 3 open: F1 P1 no rollback, F2 P2 naming, F3 P3 spacing
         #6 RUNNING claude reviewer round 3 open: F1 P1 no rollback [fixed], F2 P2 naming, F3 P3 spacing [fixed]
         #7 RUNNING codex reviewer round 3 clean: claude open: F2 P2 naming",
    );
}

#[test]
fn on_the_same_tree_only_a_review_without_anything_grave_settles_what_was_grave() {
    check(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P2 'naming'
         codex: pass 'it is right as it is'
         claude: pass P1 'no test'
         codex: pass 'there is one'
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P2 naming
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback, F2 P2 naming
         #5 RUNNING codex implementer round 3 open: F1 P1 no rollback, F2 P2 naming, F3 P1 no test
         #6 RUNNING claude reviewer round 3 open: F1 P1 no rollback, F2 P2 naming, F3 P1 no test
         #7 RUNNING codex reviewer round 3 clean: claude open: F2 P2 naming",
    );
}

#[test]
fn a_question_is_another_one_once_the_first_was_answered() {
    check(
        "start
         codex: asks 'may I go on?'
         codex: asks 'may I go on?'
         human: reply 'yes'
         codex: asks 'may I go on?'",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: may I go on?
         same record as #2
         #3 RUNNING codex implementer round 1
         #4 WAITING_HUMAN codex implementer round 1 asks: codex: may I go on?",
    );
}

#[test]
fn another_agents_answer_does_not_make_a_retry_a_new_question() {
    check(
        "start
         codex: asks 'a?'
         claude: asks 'b?'
         human: reply 'yes' to 2
         codex: asks 'a?'",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: a?
         #3 WAITING_HUMAN codex implementer round 1 asks: codex: a?, claude: b?
         #4 WAITING_HUMAN codex implementer round 1 asks: codex: a?
         same record as #2",
    );
}

#[test]
fn a_check_that_failed_and_then_passed_on_the_same_tree_is_shown_with_both_results() {
    let mut flaky = play(
        "start
         test fails
         codex edits a.rs
         codex: pass
         claude: pass P1 'the test fails'
         test passes
         codex: pass 'it only failed once'",
    );
    assert!(matches!(flaky.state.check("test"), CheckState::Passed(_)));
    let page = brief(&flaky.state, &BriefMaterial::default()).unwrap();
    let both = "failed with exit code 1 after 0.0 s, then passed in 0.0 s on the same tree";
    assert!(page.contains(both), "{page}");
    for line in ["claude: pass clean", "codex: pass clean"] {
        flaky.line(line);
    }
    let package = flaky.package();
    assert!(package.contains("- check 'test': failed, then passed on the same tree\n"), "{package}");
    assert!(
        package.contains("failed with exit code 1 after 0.0 s, then passed when pairflow ran it again"),
        "{package}"
    );
}

#[test]
fn a_failed_check_is_missing_until_it_ran_again() {
    let play = play(
        "start
         test fails
         codex edits a.rs
         codex: pass
         claude: pass P1 'the test fails'
         codex: pass 'look again' (hold)
         step",
    );
    assert_eq!(play.state.check("test"), CheckState::Missing);
    assert_eq!(play.state.evidence.superseded.len(), 1);
    assert_eq!(play.state.evidence.flaky("test"), None);
}

#[test]
fn a_check_is_flaky_only_while_the_tree_is_the_same() {
    let play = play(
        "start
         test fails
         codex edits a.rs
         codex: pass
         claude: pass P1 'the test fails'
         test passes
         codex edits a.rs
         codex: pass 'mended'",
    );
    assert_eq!(play.state.evidence.flaky("test"), None);
    assert!(play.state.evidence.superseded.is_empty());
}
