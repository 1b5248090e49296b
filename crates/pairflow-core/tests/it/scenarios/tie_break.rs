//! When the reviews are used up, or a check cannot be run: one question, two answers.

use pairflow_core::log::QuestionKind;
use pairflow_core::view::inbox::inbox;
use pairflow_core::view::status::{Status, render};
use pairflow_core::view::timeline::timeline;
use pairflow_testkit::script::{ScriptRun, check, play};

#[test]
fn at_the_cap_a_person_is_asked_once() {
    check(
        "given max_rounds 2
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass
         claude: pass P1 'no rollback' P1 'leaks'
         wait 6m
         codex: pass 'more'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback
         #5 WAITING_HUMAN codex implementer round 2 opening open: F1 P1 no rollback, F2 P1 leaks asks: orchestrator: 2 rounds have ended without agreement; 2 P0/P1 findings are open.
         nothing happens
         refused: a person is asked first: 2 rounds have ended without agreement; 2 P0/P1 findings are open.",
    );
}

/// So many reviews of a round, during each of which the reviewer changes a file.
pub(super) fn looks(most: usize) -> String {
    let look = |n: usize| format!("claude edits f{n}.rs\nclaude: pass clean\n");
    format!("start\ncodex edits a.rs\ncodex: pass\n{}", (1..=most).map(look).collect::<String>())
}

/// A review that brings a new fault with its proof, and the work in which it is mended.
fn proven(n: usize) -> (String, String) {
    let review =
        format!("F{n} reproducer fails\nclaude: pass P1 'fault {n} of another kind' at f{n}.rs:1 by './repro {n}'\n");
    (review, format!("F{n} reproducer passes\ncodex edits f{n}.rs\ncodex: pass 'mended {n}'\n"))
}

#[test]
fn a_new_bubble_has_eight_rounds_and_no_ninth_without_the_person() {
    let rounds = |most: usize| -> String { (1..=most).map(proven).map(|(review, mended)| review + &mended).collect() };
    let start = "start\ncodex edits a.rs\ncodex: pass\n";
    let asked = play(&format!("{start}{}", rounds(8)));
    assert_eq!((asked.state.rounds.spent.looks, asked.state.phase.name().as_str()), (8, "WAITING_HUMAN"));
    assert_eq!(asked.state.gate.questions[0].kind, QuestionKind::TieBreak);
    let ninth = play(&format!("{start}{}", rounds(9)));
    assert_eq!(ninth.state.rounds.spent.looks, 8, "nobody granted it");
    let (mended, again) = (proven(8).1, proven(9).0);
    let granted = play(&format!("{start}{}human: reply continue\n{mended}{again}", rounds(8)));
    assert_eq!((granted.state.rounds.spent.looks, granted.state.rounds.round), (1, 10));
}

#[test]
fn continue_goes_on_where_the_loop_would_have_gone_with_a_fresh_budget() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: reply continue
         codex edits a.rs
         codex: pass
         claude: pass P1 'still none'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #4 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #5 RUNNING claude reviewer round 2 open: F1 P1 no rollback
         #6 WAITING_HUMAN codex implementer round 2 opening open: F1 P1 no rollback, F2 P1 still none asks: orchestrator: one round has ended without agreement; 2 P0/P1 findings are open.",
    );
}

#[test]
fn an_answer_without_a_decision_means_continue() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: reply 'go on'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #4 RUNNING codex implementer round 2 open: F1 P1 no rollback",
    );
}

#[test]
fn accept_goes_to_approval_in_one_append_and_names_what_was_waived() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P3 'naming'
         human: reply accept",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback, F2 P3 naming asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
    let play = play(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass explained
         claude: pass P1 'no rollback' P3 'naming'
         human: reply accept",
    );
    let certificate = play.state.gate.certificate.as_ref().unwrap();
    assert_eq!(certificate.waived, ["F1 P1 no rollback", "two clean reviews"], "nobody has decided on the nitpick");
    assert!(certificate.reviews.is_empty());
    let rounds: Vec<_> = certificate.round_role_history.iter().map(|roles| roles.round).collect();
    assert_eq!((rounds, play.state.rounds.round), (vec![1], 1), "nobody worked in a second round");
    assert_eq!(play.log.last().unwrap().more, 0);
    assert_eq!(play.log[play.log.len() - 3].more, 2);
}

#[test]
fn accept_of_one_clean_review_waives_the_second() {
    let looked = looks(11).replacen("codex: pass", "codex: pass explained", 1);
    let play = play(&format!("{looked}claude: pass clean\nhuman: reply accept"));
    let certificate = play.state.gate.certificate.unwrap();
    assert_eq!(certificate.waived, ["a second clean review"]);
    assert_eq!(certificate.reviews.len(), 1);
}

#[test]
fn accept_is_refused_while_a_required_check_has_not_passed() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass (hold)
         step
         step
         human edits b.rs
         test fails
         settle
         claude: pass clean
         human: reply accept
         human: reply continue",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         #3 RUNNING claude reviewer round 1 opening unchecked: test
         #4 RUNNING claude reviewer round 1 opening
         #5 RUNNING claude reviewer round 1 failing: test
         #6 WAITING_HUMAN codex implementer round 1 opening failing: test asks: orchestrator: one round has ended without agreement; no P0/P1 finding is open.
         refused: the work cannot be accepted as it is: the check 'test' fails on this tree
         #7 RUNNING codex implementer round 2 failing: test",
    );
}

#[test]
fn accept_is_refused_while_the_tree_has_no_review() {
    let mut play = play(&looks(12));
    let question = &play.state.gate.questions[0];
    assert_eq!(question.in_short(), "12 reviews have ended without agreement; no P0/P1 finding is open.");
    play.line("human: reply accept");
    let refused = "refused: the work cannot be accepted as it is: this tree has not been reviewed";
    assert_eq!(play.lines.last().unwrap(), refused);
    play.line("human: reply continue");
    play.line("claude: pass clean");
    assert_eq!((play.state.rounds.spent.rounds, play.state.rounds.spent.looks, play.state.rounds.round), (0, 1, 1));
}

#[test]
fn accept_is_refused_while_another_question_is_open() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: asks 'is it worth it?'
         human: reply accept to 1
         human: reply 'no' to 2
         human: reply accept",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #4 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open., codex: is it worth it?
         refused: the work cannot be accepted as it is: one question is not answered
         #5 WAITING_HUMAN codex implementer round 1 opening open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.
         #6 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_second_look_costs_no_round() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_check_that_cannot_be_run_is_tried_three_times_and_then_asked_about_once() {
    check(
        "start
         test cannot run
         codex edits a.rs
         codex: pass",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).",
    );
    let play = play("start\ntest cannot run\ncodex edits a.rs\ncodex: pass");
    assert_eq!(play.state.evidence.receipts.len(), 3);
    assert_eq!(play.state.gate.questions.len(), 1);
}

#[test]
fn continue_tries_the_check_again() {
    check(
        "start
         test cannot run
         codex edits a.rs
         codex: pass
         human: reply continue
         test passes
         human: reply continue",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).
         #3 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).
         #4 RUNNING claude reviewer round 1",
    );
}

#[test]
fn accept_records_the_check_as_not_available_for_this_tree_only() {
    check(
        "start
         test cannot run
         codex edits a.rs
         codex: pass
         human: reply accept
         claude: pass clean
         codex: pass P1 'no rollback' by './repro'
         F1 reproducer passes
         claude edits a.rs
         claude: pass",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).
         #3 RUNNING claude reviewer round 1 not available: test
         #4 RUNNING codex reviewer round 1 clean: claude not available: test
         #5 RUNNING claude implementer round 2 clean: claude not available: test open: F1 P1 no rollback
         #6 WAITING_HUMAN codex reviewer round 2 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).",
    );
}

#[test]
fn several_checks_that_cannot_be_run_are_one_question() {
    check(
        "given checks test, lint, typecheck
         start
         test cannot run
         typecheck cannot run
         codex edits a.rs
         codex: pass
         human: reply accept
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test, typecheck asks: orchestrator: the checks 'test', 'typecheck' could not be run (no such program).
         #3 RUNNING claude reviewer round 1 not available: test, typecheck
         #4 RUNNING codex reviewer round 1 clean: claude not available: test, typecheck
         #5 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_check_that_cannot_be_run_is_neither_a_pass_nor_a_finding() {
    check(
        "start
         test cannot run
         codex edits a.rs
         codex: pass
         claude: pass clean
         claude: converged
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).
         refused: a person is asked first: the check 'test' could not be run (no such program).
         refused: a person is asked first: the check 'test' could not be run (no such program).
         refused: a person is asked first: the check 'test' could not be run (no such program).",
    );
}

#[test]
fn a_late_result_of_a_check_that_was_given_up_is_refused() {
    check(
        "start
         test cannot run
         codex edits a.rs
         codex: pass
         raw checked-could-not
         raw checked",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).
         refused: this is no longer owed
         refused: this is no longer owed",
    );
}

#[test]
fn the_package_says_what_a_person_decided_at_the_tie_break_and_what_nobody_decided() {
    let play = play(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass explained
         claude: pass P1 'no rollback' P3 'naming'
         human: reply accept",
    );
    let package = play.package();
    for said in [
        "accepted by a person at a tie-break of the policy `strict`",
        "Reviewed clean by nobody, 1 of 2 looks. Open then: F1 P1 no rollback. Missing then: two clean reviews.",
        "open finding, accepted by a person at the tie-break: [F1](ledger://F1) P1 no rollback",
        "open finding: [F2](ledger://F2) P3 naming",
        "accepted by a person without: two clean reviews",
    ] {
        assert!(package.contains(said), "{said}: {package}");
    }
    assert!(!package.contains("waived by"), "{package}");
    assert!(!package.contains("reviewed clean by a person"), "{package}");
    let told: Vec<_> = play.log.iter().filter_map(timeline).map(|row| row.what).collect();
    assert!(told.iter().any(|what| what.ends_with(", accepted by a person at a tie-break")), "{told:?}");
    assert_eq!(
        inbox(&play.state)[0].question,
        "1 file +1 -0, accepted by you at a tie-break, 2 findings open: approve?"
    );
}

#[test]
fn after_an_answer_rounds_and_looks_are_counted_anew() {
    let mut play = play("given max_rounds 1\nstart\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'");
    let round = |play: &ScriptRun| {
        let lines = render(&Status::of(&play.state, play.log.last().unwrap().at));
        lines.into_iter().find(|line| line.label == "Round").unwrap().value
    };
    assert_eq!(round(&play), "1 of 1, 1 of 2 looks");
    play.line("human: reply continue");
    assert_eq!(round(&play), "2, 1 of 1 since you decided, 1 of 2 looks");
    let status = Status::of(&play.state, play.log.last().unwrap().at);
    assert_eq!((status.looks_used, status.looks), (0, 1), "what is used of the budget, and what the work had");
}

#[test]
fn after_twelve_looks_a_merge_that_keeps_the_reviews_asks_nothing() {
    let looked = looks(10).replacen("codex: pass", "codex: pass explained", 1);
    let mut play = play(&format!("{looked}claude: pass clean\ncodex: pass clean (hold)\nhuman: pause"));
    assert_eq!(play.state.rounds.spent.looks, 12, "{:?}", play.lines);
    play.line("base moves README.md");
    play.line("human: update");
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.lines);
    play.line("human: resume");
    assert!(play.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", play.lines);
}
