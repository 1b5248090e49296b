//! Evidence before opinions: work on which a check or a reproducer fails goes back before a review is paid for.

use pairflow_core::facts::CheckPlace;
use pairflow_core::facts::Seat;
use pairflow_core::log::{Body, Evidence, Judged, NextTurn};
use pairflow_core::policy::told;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_core::view::inbox::inbox;
use pairflow_core::view::timeline::timeline;
use pairflow_testkit::script::{ScriptRun, check, play};

use super::ledger::rows;

/// What the log says about work that went back: to whom, and why.
fn sent_back(play: &ScriptRun) -> Vec<String> {
    let facts = play.log.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Verdict(verdict) if verdict.on == Judged::Work && verdict.next == NextTurn::Implement => {
            Some(format!("{}: {}", verdict.seats.implementer, told(&verdict.reasons).join(", ")))
        }
        _ => None,
    });
    facts.collect()
}

#[test]
fn a_failing_check_sends_the_work_back_in_the_same_round_and_costs_no_review() {
    check(
        "given checks test, lint
         start
         test fails
         codex edits a.rs
         codex: pass
         claude: pass clean
         test passes
         codex edits a.rs
         codex: pass 'green'
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: test
         refused: round 1 is codex's turn, as implementer; claude has nothing to hand over
         #3 RUNNING claude reviewer round 1
         #4 RUNNING codex reviewer round 1 clean: claude",
    );
    let play = play("given checks test, lint\nstart\ntest fails\nlint fails\ncodex edits a.rs\ncodex: pass");
    assert_eq!(sent_back(&play), ["codex: the check 'test' fails, the check 'lint' fails"]);
    assert_eq!((play.state.rounds.spent.looks, play.state.rounds.round), (0, 1));
}

#[test]
fn after_three_times_in_a_row_a_reviewer_looks_at_it_all_the_same_and_the_next_round_counts_anew() {
    let mut play = play("start\ntest fails\ncodex edits a.rs\ncodex: pass 'try 0'");
    for round in 1..=2 {
        for again in 1..=3 {
            assert_eq!((play.state.rounds.sent_back, play.state.rounds.round), (again, round));
            play.line("codex edits a.rs");
            play.line(&format!("codex: pass 'try {again} of {round}'"));
        }
        assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "claude", "{:?}", play.lines);
        play.line(&format!("claude: pass 'red' P1 'fault {round} in the tests'"));
        assert!(play.state.gate.questions.is_empty(), "a failing check is no matter of opinion");
        play.line("codex edits a.rs");
        play.line(&format!("codex: pass 'next {round}'"));
    }
    assert_eq!((play.state.rounds.spent.looks, sent_back(&play).len()), (2, 7));
}

#[test]
fn the_same_files_with_the_same_failing_check_are_one_question_that_names_it() {
    let script = "start\ntest fails\ncodex edits a.rs\ncodex: pass 'first'\ncodex: pass 'cannot be the code'";
    let mut play = play(script);
    let asked =
        |play: &ScriptRun| play.state.gate.questions.iter().map(|open| open.question.clone()).collect::<Vec<_>>();
    let [question] = &asked(&play)[..] else { panic!("{:?}", play.lines) };
    for part in [
        "codex handed over the same files again; the check 'test' fails.",
        "'test' runs: ./test",
        "codex says: cannot be the code",
        "pairflow config set demo commands.test='…'",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let answers = inbox(&play.state).remove(0).answer;
    assert_eq!(answers[0], "pairflow reply demo --message '…'");
    assert!(answers.contains(&"pairflow waive demo test --reason '…'".to_owned()), "{answers:?}");
    play.line("human: reply 'the server was down, try again'");
    assert_eq!((asked(&play), play.state.rounds.sent_back), (Vec::new(), 2), "it is codex's turn again");
    assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "codex");
    play.line("codex: pass 'again'");
    assert_eq!(asked(&play).len(), 1, "no such hand-over without a question");
    play.line("human: waive test 'it needs the network'");
    assert_eq!((asked(&play), play.state.phase.turn().unwrap().agent.as_str()), (Vec::new(), "claude"));
}

#[test]
fn work_that_changes_no_file_goes_back_and_is_then_asked_about_and_never_accepted() {
    let mut play = play("start\ncodex: pass 'nothing to do' empty");
    assert_eq!(sent_back(&play), ["codex: it changes no file"]);
    play.line("codex: pass 'really nothing' empty");
    let question = &play.state.gate.questions[0].question;
    assert!(question.starts_with("codex handed over the same files again; it changes no file."), "{question}");
    let undone = "start\ncodex edits a.rs\ncodex: pass\nhuman deletes a.rs\nclaude: converged";
    let undone = pairflow_testkit::script::play(&format!(
        "given max_rounds 1\n{undone}\nclaude: pass clean\nclaude: pass clean"
    ));
    let question = &undone.state.gate.questions[0].question;
    assert!(question.contains("accept: not possible: the work changes no file"), "{question}");
    let reviewed = "start\ncodex edits a.rs\ncodex: pass\nclaude deletes a.rs\nclaude: pass clean\nclaude: pass clean";
    let reviewed = pairflow_testkit::script::play(reviewed);
    let turn = reviewed.state.phase.turn().unwrap();
    assert_eq!(
        (turn.seat, turn.is_open()),
        (Seat::Implementer, true),
        "no review of nothing is clean: {:?}",
        reviewed.lines
    );
}

#[test]
fn a_finding_whose_reproducer_still_fails_goes_back_without_a_review() {
    let script = "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro' P1 'leaks memory'
         codex edits a.rs
         codex: pass fixes F1 fixes F2";
    let play = play(script);
    assert_eq!(sent_back(&play), ["codex: the reproducer of F1 still fails"]);
    assert_eq!(rows(&play), ["F1 P1 no rollback: reopened", "F2 P1 leaks memory: fixed"]);
    check(
        &format!("{script}\nF1 reproducer passes\ncodex edits a.rs\ncodex: pass 'now it rolls back'"),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P1 leaks memory
         #4 RUNNING codex implementer round 2 open: F1 P1 no rollback [reopened], F2 P1 leaks memory [fixed]
         #5 RUNNING claude reviewer round 2 open: F2 P1 leaks memory [fixed]",
    );
}

#[test]
fn an_unchanged_tree_whose_reproducer_failed_before_goes_back_too() {
    let play =
        play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' by './repro'\ncodex: pass 'done'");
    assert_eq!(sent_back(&play), ["codex: the reproducer of F1 still fails"]);
}

#[test]
fn what_does_not_block_never_sends_work_back() {
    let nitpick = "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'slow' P3 'odd name' by './odd'";
    let minor = play(&format!("{nitpick}\ncodex edits a.rs\ncodex: pass fixes F1"));
    assert_eq!(sent_back(&minor), Vec::<String>::new(), "a nitpick may be shown by a command");
    let waived = play("start\ntest fails\nhuman: waive test 'the server is down'\ncodex edits a.rs\ncodex: pass");
    assert_eq!(sent_back(&waived), Vec::<String>::new(), "a person lives with that check");
    let unknown = play(
        "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' by './repro'\ncodex edits a.rs
         F1 reproducer cannot run\ncodex: pass fixes F1",
    );
    assert_eq!(sent_back(&unknown), Vec::<String>::new(), "what could not be run says nothing");
}

#[test]
fn what_somebody_else_broke_is_reviewed_first() {
    let person = play("start\ncodex edits a.rs\ncodex: pass (hold)\nstep\nstep\nhuman edits b.rs\ntest fails\nsettle");
    assert_eq!(person.state.phase.turn().unwrap().agent.as_str(), "claude", "a person changed it on purpose");
    let reviewer = play("start\ncodex edits a.rs\ncodex: pass\nclaude edits b.rs\ntest fails\nclaude: pass clean");
    assert_eq!(
        reviewer.state.phase.turn().unwrap().agent.as_str(),
        "claude",
        "a reviewer that changed files reviews again"
    );
    assert!(sent_back(&person).is_empty() && sent_back(&reviewer).is_empty());
}

#[test]
fn work_goes_back_also_while_a_person_is_asked_or_the_bubble_is_paused() {
    check(
        "start
         test fails
         codex edits a.rs
         codex: pass (hold)
         claude: asks 'which database?'
         human: pause
         human: reply 'sqlite'
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 closing
         #3 WAITING_HUMAN codex implementer round 1 opening failing: test asks: claude: which database?
         #4 WAITING_HUMAN codex implementer round 1 opening paused failing: test asks: claude: which database?
         #5 RUNNING codex implementer round 1 opening paused failing: test
         #6 RUNNING codex implementer round 1 failing: test",
    );
}

#[test]
fn a_check_that_could_not_be_run_holds_the_decision_back_until_the_person_has_spoken() {
    check(
        "given checks test, lint
         start
         test fails
         lint cannot run
         codex edits a.rs
         codex: pass
         human: reply accept",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening failing: test unchecked: lint asks: orchestrator: the check 'lint' could not be run (no such program).
         #3 RUNNING codex implementer round 1 failing: test not available: lint",
    );
}

#[test]
fn the_implementer_is_told_why_and_the_log_tells_it() {
    let play = play("start\ntest fails\ncodex edits a.rs\ncodex: pass");
    let text = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(text.contains("**Your last hand-over was not reviewed: the check 'test' fails.**"), "{text}");
    let told: Vec<_> = play.log.iter().filter_map(timeline).map(|row| row.what).collect();
    let line = "sends the work back to codex before a review: the check 'test' fails";
    assert!(told.iter().any(|what| what == line), "{told:?}");
}

/// How many hand-overs of codex the log has, and how often the check ran on its work.
fn handed_over_and_checked(play: &ScriptRun) -> (usize, usize) {
    let count = |wanted: fn(&Body) -> bool| play.log.iter().filter(|envelope| wanted(&envelope.event.body)).count();
    (
        count(|body| matches!(body, Body::Pass(_))),
        count(
            |body| matches!(body, Body::Evidence(Evidence::Receipt { receipt }) if receipt.place != CheckPlace::Base),
        ),
    )
}

#[test]
fn the_same_words_on_the_same_tree_are_the_hand_over_that_came_back() {
    for setting in ["", "given panes\n"] {
        let mut play = play(&format!("{setting}start\ntest fails\ncodex edits a.rs\ncodex: pass 'first cut'"));
        for _ in 0..3 {
            play.line("codex: pass 'first cut'");
        }
        assert_eq!(handed_over_and_checked(&play), (1, 1), "{:?}", play.lines);
        assert_eq!((play.state.rounds.sent_back, play.state.phase.turn().unwrap().agent.as_str()), (1, "codex"));
        let codex = "codex".parse().unwrap();
        assert_eq!(play.state.came_back_to(&codex), ["the check 'test' fails"]);
        assert!(play.state.came_back_to(&"claude".parse().unwrap()).is_empty());
    }
}

#[test]
fn a_failing_reproducer_makes_no_second_record_either() {
    let mut play = play(
        "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' by './repro'\ncodex edits a.rs
         codex: pass 'rolled back' fixes F1",
    );
    let before = play.log.len();
    play.line("codex: pass 'rolled back' fixes F1");
    assert_eq!(play.log.len(), before);
}

#[test]
fn other_words_or_another_tree_are_a_new_hand_over() {
    let script = "start\ntest fails\ncodex edits a.rs\ncodex: pass 'first cut'";
    let words = play(&format!("{script}\ncodex: pass 'second cut'"));
    assert_eq!(handed_over_and_checked(&words), (2, 2));
    let tree = play(&format!("{script}\ncodex edits a.rs\ncodex: pass 'first cut'"));
    assert_eq!(handed_over_and_checked(&tree), (2, 2));
    let mut again = tree;
    again.line("codex: pass 'first cut'");
    assert_eq!(handed_over_and_checked(&again), (2, 2), "the second one came back, too");
}

#[test]
fn the_tree_counts_also_while_the_turn_is_still_opening() {
    let script = "start\ntest fails\ncodex edits a.rs\ncodex: pass 'first cut' (hold)\nstep\nstep";
    let mut play = play(script);
    assert!(play.state.returned_to(&"codex".parse().unwrap()).is_some(), "{:?}", play.lines);
    play.line("codex: pass 'first cut' (hold)");
    play.line("codex edits b.rs");
    play.line("codex: pass 'first cut' (hold)");
    assert_eq!(handed_over_and_checked(&play).0, 1);
    assert!(play.lines.last().unwrap().contains("refused"), "{:?}", play.lines);
}

#[test]
fn who_knows_of_the_return_hands_over_anew() {
    let script = "start\ntest fails\ncodex edits a.rs\ncodex: pass 'first cut'";
    for acknowledged in ["codex: reads", "codex: asks 'is the test right?'\nhuman: reply 'yes'"] {
        for setting in ["", "given panes\n"] {
            let play = play(&format!("{setting}{script}\n{acknowledged}\ncodex: pass 'first cut'"));
            assert_eq!(handed_over_and_checked(&play), (2, 2), "{setting}{acknowledged}: {:?}", play.lines);
        }
    }
    let stranger = play(&format!("{script}\nclaude: reads\ncodex: pass 'first cut'"));
    assert_eq!(handed_over_and_checked(&stranger), (1, 1), "claude has read nothing that is codex's");
}

#[test]
fn a_waiver_of_what_failed_makes_the_same_words_a_new_hand_over() {
    let script = "start\ntest fails\ncodex edits a.rs\ncodex: pass 'first cut'\nhuman: waive test 'no network'";
    let play = play(&format!("{script}\ncodex: pass 'first cut'"));
    assert_eq!(handed_over_and_checked(&play).0, 2, "{:?}", play.lines);
    assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "claude");
}
