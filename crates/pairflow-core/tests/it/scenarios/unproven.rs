//! Word against word: from the second review on, findings that nothing proves are put to the person, and from the fourth
//! on every review that does not end the loop.

use pairflow_core::log::QuestionKind;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::{Play, check, play};

/// Two reviews that each bring a P1 without proof.
const TWICE: &str = "start
    codex edits a.rs
    codex: pass
    claude: pass P1 'no rollback'
    codex edits a.rs
    codex: pass fixes F1
    claude: pass P1 'leaks memory' reopens F1";

const QUESTION: &str = "2 findings are in the way, and nothing that pairflow can run shows them: F1 P1 no rollback, F2 P1 \
                        leaks memory. Accept the work as it is, or continue, so that codex answers them?";

fn asked(play: &Play) -> Vec<QuestionKind> {
    play.unit.questions.iter().map(|open| open.kind).collect()
}

/// The script with another second review.
fn second(review: &str) -> Vec<QuestionKind> {
    asked(&play(&TWICE.replace("claude: pass P1 'leaks memory' reopens F1", review)))
}

#[test]
fn the_first_review_goes_to_the_implementer_and_the_second_to_the_person_with_the_list() {
    let first = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' P0 'drops the table'");
    assert_eq!(asked(&first), []);
    let play = play(&format!("{TWICE}\nwait 6m\nsettle"));
    let questions: Vec<_> = play.unit.questions.iter().map(|open| (open.kind, open.question.as_str())).collect();
    assert_eq!(questions, [(QuestionKind::Unproven, QUESTION)]);
}

#[test]
fn one_proof_among_the_findings_goes_on_without_a_question() {
    assert_eq!(second("claude: pass P1 'leaks memory' by './repro' reopens F1"), []);
    assert_eq!(second("claude: pass P1 'leaks memory' by './repro' confirms F1"), []);
    let dropped = TWICE.replace("'leaks memory'", "'leaks memory' by './repro'");
    let dropped = play(&format!("F2 reproducer passes\n{dropped}"));
    assert_eq!(asked(&dropped), [QuestionKind::Unproven], "what did not fail when it was filed proves nothing");
}

#[test]
fn a_risk_alone_is_asked_about_and_other_minor_findings_are_not() {
    assert_eq!(second("claude: pass P2 'logs the token' class security confirms F1"), [QuestionKind::Unproven]);
    assert_eq!(second("claude: pass P2 'long name' P3 'typo' confirms F1"), []);
    assert_eq!(second("claude: pass clean"), []);
}

#[test]
fn a_failing_check_goes_on_without_a_question() {
    let mut play = play(&TWICE.replace("claude: pass P1 'leaks memory' reopens F1", "test fails"));
    play.line("claude edits b.rs");
    play.line("claude: pass clean");
    play.line("claude: pass P1 'leaks memory'");
    assert_eq!((asked(&play), play.unit.checks_not_passed()), (Vec::new(), vec!["test"]));
    assert_eq!(play.unit.phase.turn().unwrap().agent.as_str(), "codex");
}

#[test]
fn two_reviewers_that_do_not_agree_are_word_against_word_too() {
    let play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass P1 'no rollback'");
    assert_eq!(asked(&play), [QuestionKind::Unproven]);
}

#[test]
fn a_waiver_that_was_taken_back_renews_the_budget_and_the_question_comes_again_after_the_second_review() {
    let withdrawn = "claude: pass P1 'no rollback'\nhuman: waive F1 'fine'\nhuman: waive F1 withdraw";
    let mut play = play(&TWICE.replace("claude: pass P1 'no rollback'", withdrawn));
    assert_eq!(asked(&play), []);
    for line in ["codex edits a.rs", "codex: pass fixes F1 fixes F2", "claude: pass reopens F1"] {
        play.line(line);
    }
    assert_eq!(asked(&play), [QuestionKind::Unproven]);
}

/// What comes after the first answer: a third review that leaves a finding open without a question.
const CONTINUED: &str = "human: reply 'F2 is right' continue
    codex edits a.rs
    codex: pass fixes F1 fixes F2
    claude: pass P3 'naming' confirms F1 reopens F2
    codex edits a.rs
    codex: pass fixes F2";

#[test]
fn continue_lets_the_implementer_answer_and_the_loop_has_peace_until_the_fourth_review() {
    check(
        &format!("{TWICE}\n{CONTINUED}\nclaude: pass P3 'naming' reopens F2"),
        &format!(
            "#1 RUNNING codex implementer round 1
             #2 RUNNING claude reviewer round 1
             #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
             #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
             #5 WAITING_HUMAN codex implementer round 3 opening open: F1 P1 no rollback [reopened], F2 P1 leaks memory asks: orchestrator: {QUESTION}
             #6 RUNNING codex implementer round 3 open: F1 P1 no rollback [reopened], F2 P1 leaks memory
             #7 RUNNING claude reviewer round 3 open: F1 P1 no rollback [fixed], F2 P1 leaks memory [fixed]
             #8 RUNNING codex implementer round 4 open: F2 P1 leaks memory [reopened], F3 P3 naming
             #9 RUNNING claude reviewer round 4 open: F2 P1 leaks memory [fixed], F3 P3 naming
             #10 WAITING_HUMAN codex implementer round 5 opening open: F2 P1 leaks memory [reopened], F3 P3 naming asks: orchestrator: one finding is in the way, and nothing that pairflow can run shows it: F2 P1 leaks memory. Accept the work as it is, or continue, so that codex answers it?"
        ),
    );
}

#[test]
fn from_the_fourth_review_on_every_review_that_does_not_end_the_loop_ends_in_a_question() {
    let fourth = play(&format!("{TWICE}\n{CONTINUED}\nclaude: pass clean"));
    let questions: Vec<_> = fourth.unit.questions.iter().map(|open| (open.kind, open.question.as_str())).collect();
    let question = "4 reviews have not brought an agreement; after the last one claude finds nothing grave any more. Accept \
                    the work as it is, or continue, so that codex reviews it, too?";
    assert_eq!(questions, [(QuestionKind::TieBreak, question)]);
    let fifth = play(&format!("{TWICE}\n{CONTINUED}\nclaude: pass clean\nhuman: reply continue\ncodex: pass clean"));
    assert_eq!(fifth.unit.phase.name().as_str(), "READY_FOR_APPROVAL", "{:?}", fifth.lines);
    assert!(fifth.unit.certificate.as_ref().unwrap().waived.is_empty(), "two agents found it clean after all");
    let taken = play(&format!("{TWICE}\n{CONTINUED}\nclaude: pass clean\nhuman: reply accept"));
    assert_eq!(taken.unit.certificate.unwrap().waived, ["F3 P3 naming", "a second clean review"]);
    let again =
        play(&format!("{TWICE}\n{CONTINUED}\nclaude: pass clean\nhuman: reply continue\ncodex: pass P1 'slow'"));
    assert_eq!((asked(&again), again.unit.reviews_in_all), (vec![QuestionKind::Unproven], 5));
}

#[test]
fn what_is_proven_goes_on_also_after_the_fourth_review() {
    let fourth = play(&format!("{TWICE}\n{CONTINUED}\nclaude: pass P1 'drops the lock' by './repro' confirms F2"));
    assert_eq!((asked(&fourth), fourth.unit.reviews_in_all), (Vec::new(), 4));
}

#[test]
fn a_person_that_changes_files_after_the_answer_is_not_asked_again() {
    let play = play(&format!("{TWICE}\nhuman: reply continue (hold)\nhuman edits b.rs\nsettle"));
    assert_eq!((asked(&play), play.unit.phase.turn().unwrap().is_open()), (Vec::new(), true));
}

#[test]
fn accept_waives_what_is_open_and_the_certificate_says_so() {
    let play = play(&format!("{TWICE}\nhuman: reply accept"));
    assert_eq!(play.unit.phase.name().as_str(), "READY_FOR_APPROVAL");
    let certificate = play.unit.certificate.as_ref().unwrap();
    assert_eq!(certificate.waived, ["F1 P1 no rollback", "F2 P1 leaks memory", "two clean reviews"]);
    assert!(play.package().contains("waived by a person: F2 P1 leaks memory"), "{}", play.package());
}

#[test]
fn the_key_says_from_which_review_on_and_zero_means_never() {
    let again = "codex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'\n";
    let reviews = |from: u32, rounds: usize| {
        let play = play(&format!("given asks {from}\nstart\n{}", again.repeat(rounds)));
        (play.unit.reviews_in_all, asked(&play).is_empty())
    };
    assert_eq!(reviews(1, 2), (1, false));
    assert_eq!(reviews(2, 3), (2, false));
    assert_eq!(reviews(3, 4), (3, false));
    assert_eq!(reviews(0, 7), (7, true));
}

#[test]
fn a_rework_counts_anew_and_a_continue_does_not() {
    let done = "start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean\nhuman: rework 'faster'";
    let review = "claude edits a.rs\nclaude: pass 'faster'\ncodex: pass P1 'no rollback'";
    let reworked = play(&format!("{done}\n{review}"));
    assert_eq!((asked(&reworked), reworked.unit.reviews_in_all), (Vec::new(), 1));
    let continued = play(&format!("{TWICE}\n{CONTINUED}\nclaude: pass reopens F2"));
    assert_eq!(
        (asked(&continued), continued.unit.reviews, continued.unit.reviews_in_all),
        (vec![QuestionKind::Unproven], 2, 4)
    );
}

#[test]
fn a_tree_that_nobody_reviewed_is_not_put_to_the_person() {
    assert_eq!(second("claude edits b.rs\nclaude: pass P1 'leaks memory' reopens F1"), [], "it could not be accepted");
}

#[test]
fn a_critic_that_wants_to_discuss_is_the_only_one_that_asks() {
    assert_eq!(second("claude: pass P1 'leaks memory' reopens F1 discuss"), [QuestionKind::Question]);
}

#[test]
fn at_the_cap_the_question_is_that_of_the_cap() {
    let play = play(&format!("given max_rounds 2\n{TWICE}"));
    assert_eq!(asked(&play), [QuestionKind::TieBreak]);
}

#[test]
fn once_the_person_waives_what_is_proven_the_rest_is_put_to_them() {
    let script = TWICE.replace("'leaks memory' reopens F1", "'leaks memory' by './repro' reopens F1 (hold)");
    let play = play(&format!("{script}\nstep\nhuman: waive F2 'we restart it every night'"));
    assert_eq!(asked(&play), [QuestionKind::Unproven]);
}

#[test]
fn a_critic_is_told_when_what_it_does_not_prove_goes_to_the_person() {
    let told = |script: &str| {
        let text = brief(&play(script).unit, &BriefMaterial::default()).unwrap();
        text.contains(
            "After this review, findings that are in the way and have no reproducer are put to the person first.",
        )
    };
    let first = "start\ncodex edits a.rs\ncodex: pass";
    let again = "claude: pass P1 'no rollback'\ncodex edits a.rs\ncodex: pass fixes F1";
    assert!(!told(first));
    assert!(told(&format!("{first}\n{again}")));
    assert!(!told(&format!("given asks 0\n{first}\n{again}")));
}
