//! What could have been said before: it blocks all the same, but two reviews of nothing else stop the loop. Nobody is
//! asked about unproven findings here, which would come first most of the time.

use pairflow_core::log::QuestionKind;
use pairflow_testkit::script::{check, play};

const TWICE: &str = "given asks 0
    start
    codex edits a.rs
    codex: pass
    claude: pass P1 'no rollback'
    codex edits b.rs
    codex: pass fixes F1
    claude: pass P1 'leaks memory' late confirms F1
    codex edits b.rs
    codex: pass fixes F2
    claude: pass P1 'drops the lock' late confirms F2";

const QUESTION: &str = "two reviews in a row brought only findings on lines that the same reviewers had seen before \
                        (F2, F3). Accept the work as it is, or continue?";

#[test]
fn two_rounds_in_a_row_that_bring_only_late_p1s_stop_the_loop_with_one_question() {
    let play = play(&format!("{TWICE}\nwait 6m\nsettle"));
    let asked: Vec<_> = play.unit.questions.iter().map(|open| (open.kind, open.question.as_str())).collect();
    assert_eq!(asked, [(QuestionKind::Late, QUESTION)]);
}

#[test]
fn a_late_p1_blocks_like_any_other() {
    check(
        "given asks 0
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits b.rs
         codex: pass fixes F1
         claude: pass P1 'leaks memory' late confirms F1
         codex: pass
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #5 RUNNING codex implementer round 3 open: F2 P1 leaks memory
         #6 RUNNING claude reviewer round 3 open: F2 P1 leaks memory
         refused: not converged yet: a second clean review of this tree by another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history)",
    );
}

/// The script with another second late review.
fn second(review: &str) -> bool {
    let script = TWICE.replace("claude: pass P1 'drops the lock' late confirms F2", review);
    !play(&script).unit.questions.is_empty()
}

#[test]
fn a_p0_a_proof_a_reopened_row_or_a_p1_in_time_breaks_the_row() {
    assert!(second("claude: pass P1 'drops the lock' late confirms F2"), "this is what stops it");
    assert!(second("claude: pass P1 'drops the lock' late P3 'naming' confirms F2"), "a nitpick is nothing new");
    assert!(!second("claude: pass P0 'drops the lock' late confirms F2"), "a P0");
    assert!(!second("claude: pass P1 'drops the lock' by './repro' late confirms F2"), "a reproducer");
    assert!(!second("claude: pass P1 'drops the lock' late reopens F2"), "a row that is reopened");
    assert!(!second("claude: pass P1 'drops the lock' late P1 'new here' confirms F2"), "a P1 in time");
    assert!(!second("claude: pass P2 'drops the lock' late reopens F2"), "nothing grave that is new");
    assert!(!second("claude: pass clean"), "nothing at all");
}

#[test]
fn a_reproducer_that_proves_nothing_does_not_break_the_row() {
    let script = TWICE.replace("'drops the lock' late", "'drops the lock' by './repro' late");
    let play = play(&format!("F3 reproducer passes\n{script}"));
    assert_eq!(play.unit.questions.len(), 1, "it did not fail when it was filed");
}

#[test]
fn a_claim_that_was_made_in_time_is_not_late_when_it_is_made_again() {
    let again = "codex edits b.rs\ncodex: pass fixes F1\nclaude: pass P1 'no rollback' late\n";
    let play = play(&format!(
        "given asks 0\nstart\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'\n{}",
        again.repeat(3)
    ));
    assert!(play.unit.questions.is_empty(), "{:?}", play.unit.questions);
    assert!(!play.unit.ledger.rows[0].late());
}

#[test]
fn a_clean_review_between_two_late_ones_breaks_the_row() {
    let play = play(
        "given asks 0
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'leaks memory' late
         codex edits a.rs
         codex: pass fixes F1
         claude: pass clean
         codex: pass P1 'drops the lock' late",
    );
    assert!(play.unit.questions.is_empty(), "{:?}", play.unit.questions);
}

#[test]
fn continue_goes_on_with_a_fresh_budget_and_counts_anew() {
    let play = play(&format!(
        "{TWICE}
         human: reply 'the lock matters' continue
         codex edits b.rs
         codex: pass fixes F3
         claude: pass P1 'too slow' late confirms F3"
    ));
    assert!(play.unit.questions.is_empty(), "one late review after the answer is not two");
    assert_eq!((play.unit.reviews, play.unit.round), (1, 5));
}

#[test]
fn accept_waives_what_is_open_and_the_certificate_says_so() {
    let play = play(&format!("{TWICE}\nhuman: reply accept"));
    let certificate = play.unit.certificate.unwrap();
    assert_eq!(certificate.waived, ["F3 P1 drops the lock", "two clean reviews"]);
}
