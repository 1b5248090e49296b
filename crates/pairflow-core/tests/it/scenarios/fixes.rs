//! "Fixed" on a P0 or P1 brings a test that fails without the fix and passes with it.

use pairflow_core::bubble::{Effect, owed};
use pairflow_core::findings::FixStand;
use pairflow_testkit::script::{ScriptRun, check, play};

const FILED: &str = "start
     codex edits a.rs
     codex: pass
     claude: pass P1 'no rollback'
     codex edits a.rs";

fn filed(then: &str) -> ScriptRun {
    play(&format!("{FILED}\n{then}"))
}

fn stand(play: &ScriptRun) -> FixStand {
    play.state.ledger.rows[0].fix.as_ref().unwrap().stand
}

#[test]
fn a_fix_that_its_test_shows_goes_to_the_reviewer() {
    let play = filed("codex: pass fixes F1 by './test rollback'");
    assert_eq!(stand(&play), FixStand::Shown);
    assert_eq!(play.lines.last().unwrap(), "#4 RUNNING  claude reviewer round 2  open: F1 P1 no rollback [fixed]");
}

#[test]
fn the_test_runs_on_the_tree_that_was_reviewed_last_and_on_the_new_one() {
    let mut play = filed("codex: pass fixes F1 by './test rollback' (hold)\nstep\nstep");
    let debts = owed(&play.state);
    let Some(Effect::TestFix(fix)) = debts.iter().find(|one| matches!(one, Effect::TestFix(_))) else {
        panic!("{debts:?}")
    };
    assert_eq!((fix.finding.to_string(), fix.command.as_str()), ("F1".to_owned(), "./test rollback"));
    assert_eq!(fix.before.0, "tree1", "the tree that claude reviewed");
    assert!(!debts.iter().any(|one| matches!(one, Effect::OpenTurn { .. })), "the reviewer waits for it");
    play.settle();
    assert_eq!(stand(&play), FixStand::Shown);
}

#[test]
fn a_test_that_passes_without_the_fix_goes_back_once_and_then_to_the_reviewer() {
    check(
        &format!(
            "{FILED}
             F1 passes before
             codex: pass fixes F1
             codex edits a.rs
             codex: pass 'again' fixes F1"
        ),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2 open: F1 P1 no rollback [fixed]
         #5 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]",
    );
    let play = filed("F1 passes before\ncodex: pass fixes F1\ncodex edits a.rs\ncodex: pass 'again' fixes F1");
    assert_eq!(stand(&play), FixStand::NotRed, "the reviewer is told");
}

#[test]
fn a_fix_without_a_test_goes_back_once() {
    let once = filed("codex: pass fixes F1 untested");
    assert_eq!(once.lines.last().unwrap(), "#4 RUNNING  codex implementer round 2  open: F1 P1 no rollback [fixed]");
    let twice = filed("codex: pass fixes F1 untested\ncodex edits a.rs\ncodex: pass 'again' fixes F1 untested");
    assert!(twice.lines.last().unwrap().contains("claude reviewer round 2"), "{:?}", twice.lines);
    let now_tested = filed("codex: pass fixes F1 untested\ncodex: pass 'with a test' fixes F1");
    assert_eq!(stand(&now_tested), FixStand::Shown);
}

#[test]
fn what_cannot_be_tested_goes_to_the_reviewer_with_the_reason() {
    let play = filed("codex: pass fixes F1 untestable 'a name in a comment'");
    assert_eq!(play.lines.last().unwrap(), "#4 RUNNING  claude reviewer round 2  open: F1 P1 no rollback [fixed]");
    assert_eq!(play.state.ledger.rows[0].fix.as_ref().unwrap().untestable, "a name in a comment");
}

#[test]
fn a_test_that_fails_with_the_fix_sends_the_work_back() {
    let play = filed("F1 fails after\ncodex: pass fixes F1");
    assert_eq!(stand(&play), FixStand::NotGreen);
    assert!(play.lines.last().unwrap().contains("codex implementer round 2"), "{:?}", play.lines);
}

#[test]
fn a_test_that_could_not_be_run_is_not_red() {
    let play = filed("F1 cannot run before\ncodex: pass fixes F1");
    assert_eq!(stand(&play), FixStand::CouldNotRun);
    assert!(play.lines.last().unwrap().contains("claude reviewer round 2"), "{:?}", play.lines);
}

#[test]
fn changed_test_files_count_where_one_severe_finding_is_fixed() {
    let one = filed("codex edits tests/rollback_test.py\ncodex: pass fixes F1 untested");
    assert_eq!(stand(&one), FixStand::Shown);
    let two = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P1 'no limit'
         codex edits a.rs, tests/rollback_test.py
         codex: pass fixes F1 untested fixes F2 untested",
    );
    assert_eq!(stand(&two), FixStand::Pending, "which of the two it shows is not known");
    assert!(two.lines.last().unwrap().contains("codex implementer round 2"), "{:?}", two.lines);
}

#[test]
fn a_reproducer_shows_a_fix_by_itself() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro'
         codex edits a.rs
         F1 reproducer passes
         codex: pass fixes F1 untested",
    );
    assert!(play.lines.last().unwrap().contains("claude reviewer round 2"), "{:?}", play.lines);
}

#[test]
fn minor_findings_and_documents_need_no_test() {
    let minor = play(
        "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P2 'slow'\ncodex edits a.rs\ncodex: pass fixes F1 untested",
    );
    assert!(minor.lines.last().unwrap().contains("claude reviewer round 2"), "{:?}", minor.lines);
    let document = play(
        "given document
         start
         codex edits docs/prd.md
         codex: pass step dry-run
         claude: pass P1 'no scope' stepped
         codex edits docs/prd.md
         codex: pass fixes F1 untested step dry-run",
    );
    assert!(document.lines.last().unwrap().contains("claude reviewer round 2"), "{:?}", document.lines);
}

#[test]
fn a_test_belongs_to_what_the_same_command_calls_fixed() {
    let last = |line: &str| filed(line).lines.pop().unwrap();
    assert_eq!(
        last("codex: pass fixes F1 untestable ''"),
        "refused: the reason why a fix has no test must not be empty"
    );
    assert_eq!(last("codex: pass fixes F1 by ' '"), "refused: the test of a fix must not be empty");
}

#[test]
fn the_implementer_is_told_why_a_fix_came_back_and_the_same_words_are_one_hand_over() {
    let mut play = filed("codex: pass 'rolls back' fixes F1 untested");
    let codex = "codex".parse().unwrap();
    assert_eq!(play.state.came_back_to(&codex), ["no test shows that F1 is fixed"]);
    play.line("codex: pass 'rolls back' fixes F1 untested");
    assert_eq!(play.lines.last().unwrap(), "same record as #4", "{:?}", play.lines);
}
