//! The checks on the base before there is any work, and once more in a fresh checkout before work is accepted.

use pairflow_core::facts::CheckPlace;
use pairflow_core::log::QuestionKind;
use pairflow_core::view::inbox::inbox;
use pairflow_testkit::script::{ScriptRun, check, play};

fn kinds(play: &ScriptRun) -> Vec<QuestionKind> {
    play.state.gate.questions.iter().map(|open| open.kind).collect()
}

#[test]
fn a_check_that_fails_on_the_base_is_asked_about_before_anybody_works() {
    let play = play("given checks test, lint\ntest fails on base\nstart");
    assert_eq!(kinds(&play), [QuestionKind::Baseline]);
    let item = &inbox(&play.state)[0];
    let said = "the check 'test' does not pass on main as it is, before any work was done.\n'test' runs: ";
    assert!(item.question.starts_with(said), "{}", item.question);
    assert!(item.question.contains("It ended with exit code 1."), "{}", item.question);
    assert_eq!(
        item.answer,
        [
            "pairflow reply demo --decision continue",
            "pairflow config set demo commands.test='…'",
            "pairflow reply demo --message '…'",
            "pairflow waive demo test --reason '…'",
            "pairflow stop demo",
        ]
    );
}

#[test]
fn what_was_installed_since_is_tried_again() {
    check(
        "test cannot run on base
         start
         human: reply continue
         test passes on base
         human: reply continue",
        "#1 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the check 'test' does not pass on main as it is, before any work was done.
         #2 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the check 'test' does not pass on main as it is, before any work was done.
         #3 RUNNING codex implementer round 1",
    );
    let mut play = play(DIFFERS);
    play.line("test passes afresh");
    play.line("human: reply continue");
    assert!(play.lines.last().unwrap().contains("RUNNING  codex reviewer"), "{:?}", play.lines);
}

#[test]
fn a_known_failure_has_to_pass_at_the_end() {
    check(
        "test fails on base
         start
         codex: pass
         human: resume
         human: reply 'it is what the task is about'
         test fails
         codex edits a.rs
         codex: pass
         test passes
         codex edits a.rs
         codex: pass 'green'",
        "#1 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the check 'test' does not pass on main as it is, before any work was done.
         refused: a person is asked first: the check 'test' does not pass on main as it is, before any work was done.
         refused: a person is asked first: the check 'test' does not pass on main as it is, before any work was done.
         #2 RUNNING codex implementer round 1
         #3 RUNNING codex implementer round 1 failing: test
         #4 RUNNING claude reviewer round 1",
    );
}

#[test]
fn another_command_runs_on_the_base_again_and_answers_the_question() {
    check(
        "test cannot run on base
         start
         human: config test 'make check'
         test passes on base
         human: config test 'make tests'
         codex edits a.rs
         codex: pass",
        "#1 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the check 'test' does not pass on main as it is, before any work was done.
         #2 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the check 'test' does not pass on main as it is, before any work was done.
         #3 RUNNING codex implementer round 1
         #4 RUNNING claude reviewer round 1",
    );
}

#[test]
fn a_waiver_of_everything_that_fails_on_the_base_answers_the_question() {
    check(
        "given checks test, lint
         test fails on base
         lint fails on base
         start
         human: waive test 'flaky'
         human: waive lint 'old code'
         codex edits a.rs",
        "#1 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the checks 'test', 'lint' do not pass on main as it is, before any work was done.
         #2 WAITING_HUMAN codex implementer round 1 opening asks: orchestrator: the checks 'test', 'lint' do not pass on main as it is, before any work was done.
         #3 RUNNING codex implementer round 1",
    );
}

#[test]
fn what_fails_only_in_a_fresh_checkout_is_one_question_and_keeps_the_work_from_being_accepted() {
    check(
        "start
         codex edits a.rs
         codex: pass
         test fails afresh
         claude: pass clean
         human: reply 'it counts'
         claude: pass 'as it is'
         human: reply 'mend it'
         claude edits a.rs
         claude: pass 'no cache needed'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN codex reviewer round 1 opening clean: claude failing: test asks: orchestrator: the check 'test' passed where build caches and installed packages are kept, and fails in a fresh checkout of the same tree.
         #4 RUNNING claude implementer round 2 clean: claude failing: test
         #5 WAITING_HUMAN codex reviewer round 2 opening clean: claude failing: test asks: orchestrator: claude handed over the same files again; the check 'test' fails.
         #6 RUNNING claude implementer round 2 clean: claude failing: test
         #7 RUNNING codex reviewer round 2",
    );
}

const DIFFERS: &str = "start\ncodex edits a.rs\ncodex: pass\ntest fails afresh\nclaude: pass clean";

#[test]
fn another_setup_command_has_the_check_run_afresh_again_and_the_clean_review_holds() {
    let mut play = play(DIFFERS);
    assert_eq!(kinds(&play), [QuestionKind::Differs]);
    play.line("test passes afresh");
    play.line("human: config setup 'make deps'");
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.lines);
    assert_eq!(play.state.evidence.receipts.last().unwrap().place, CheckPlace::Fresh);
    assert!(play.lines.last().unwrap().contains("clean: claude"), "{:?}", play.lines);
}

#[test]
fn another_command_for_a_check_that_differs_is_judged_anew() {
    let mut play = play(DIFFERS);
    play.line("human: config test 'make clean test'");
    assert!(play.state.gate.questions.is_empty() && play.state.rounds.streak.is_empty(), "{:?}", play.lines);
    assert_eq!(play.state.evidence.receipts.last().unwrap().place, CheckPlace::Checkout, "it is reviewed again first");
}

#[test]
fn with_a_third_reviewer_what_fails_afresh_goes_back_to_its_implementer() {
    let mut play = play(&format!("given agents codex, claude, gemini\n{DIFFERS}"));
    assert_eq!(kinds(&play), [QuestionKind::Differs]);
    play.line("human: reply 'it counts'");
    assert!(play.lines.last().unwrap().contains("RUNNING  codex implementer"), "{:?}", play.lines);
}

#[test]
fn a_waiver_answers_what_fails_later_also_after_a_known_failure() {
    let mut play = play(
        "given checks test, lint
         test fails on base
         start
         human: reply 'the task is about it'
         lint fails
         codex edits a.rs
         codex: pass 'one'
         codex: pass 'two'",
    );
    assert_eq!(kinds(&play), [QuestionKind::Failing]);
    play.line("human: waive lint 'old code'");
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.lines);
}

#[test]
fn what_was_not_changed_is_asked_about_again() {
    let mut play = play("given checks test, lint\ntest fails on base\nlint fails on base\nstart");
    play.line("human: config lint");
    assert_eq!(kinds(&play), [QuestionKind::Baseline]);
    assert!(play.state.gate.questions[0].question.starts_with("the check 'test' does"), "{:?}", play.lines);
}

#[test]
fn another_base_answers_the_question_about_the_one_before() {
    let mut play = play("test fails on base\nstart\nhuman: pause");
    assert_eq!(kinds(&play), [QuestionKind::Baseline]);
    play.line("base moves");
    play.line("human: update");
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.lines);
}

#[test]
fn a_certificate_says_where_the_checks_ran_if_not_in_a_fresh_checkout() {
    let accepted = "start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean";
    let noted = |play: &ScriptRun| play.state.gate.certificate.as_ref().expect("it is accepted").notes.join("\n");
    assert!(!noted(&play(accepted)).contains("checkout"));
    let elsewhere = play(&format!("given checks in the worktree\n{accepted}"));
    assert!(noted(&elsewhere).contains("checks ran in the agents' own worktree"), "{}", noted(&elsewhere));
}

#[test]
fn a_known_failure_is_not_asked_about_again_whatever_else_is_configured() {
    let mut play = play("test fails on base\nstart\nhuman: reply 'the task is about it'");
    play.line("human: config lint './lint'");
    assert!(play.lines.last().unwrap().contains("RUNNING  codex implementer"), "{:?}", play.lines);
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.state.gate.questions);
}

#[test]
fn another_command_for_one_check_leaves_the_question_about_another_one_open() {
    let mut play = play(&format!("given checks test, lint\n{DIFFERS}"));
    play.line("human: config lint './lint --all'");
    assert_eq!(kinds(&play), [QuestionKind::Differs]);
    play.line("human: config test './test --all'");
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.lines);
}

#[test]
fn a_failure_that_did_not_repeat_itself_is_shown_with_the_pass() {
    let mut play = play(DIFFERS);
    play.line("test passes afresh");
    play.line("human: reply continue");
    play.line("codex: pass clean");
    let notes = &play.state.gate.certificate.as_ref().unwrap().notes;
    assert!(notes.contains(&"check 'test': failed, then passed on the same tree".to_owned()), "{notes:?}");
}

#[test]
fn what_cannot_be_run_on_the_base_is_tried_three_times_before_the_person_is_asked() {
    let mut play = play("test cannot run on base");
    play.line("start (hold)");
    let tries = |play: &ScriptRun| play.state.evidence.could_not.get("test").copied().unwrap_or(0);
    play.line("step");
    play.line("step");
    play.line("step");
    assert_eq!((tries(&play), play.state.gate.questions.len()), (2, 0), "{:?}", play.lines);
    play.line("step");
    assert_eq!(kinds(&play), [QuestionKind::Baseline]);
}

#[test]
fn another_base_is_checked_before_anybody_works_on_it() {
    let mut play = play("start\nhuman: pause");
    play.line("test fails on base");
    play.line("base moves README.md");
    play.line("human: update");
    play.line("human: resume");
    assert_eq!(kinds(&play), [QuestionKind::Baseline], "{:?}", play.lines);
}

#[test]
fn a_merged_base_answers_what_was_asked_about_the_tree_before() {
    let mut play = play(DIFFERS);
    play.line("human: pause");
    play.line("base moves README.md");
    play.line("human: update");
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.lines);
}

#[test]
fn receipts_of_another_place_do_not_count() {
    let mut play = play("given checks in the worktree\nstart\ncodex edits a.rs\ncodex: pass\nclaude: pass clean");
    play.line("human: config checks_in");
    assert!(play.state.rounds.streak.is_empty(), "{:?}", play.lines);
    assert!(
        play.state.evidence.receipts.iter().all(|receipt| receipt.place == CheckPlace::Checkout),
        "{:?}",
        play.state.evidence.receipts
    );
    assert!(!play.state.evidence.receipts.is_empty());
}
