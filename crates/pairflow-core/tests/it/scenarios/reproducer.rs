//! Findings that bring a command which fails: then pairflow, not a reviewer, says when they are fixed.

use pairflow_core::facts::Outcome;
use pairflow_core::findings::REPRODUCERS;
use pairflow_core::findings::ReproducerState;
use pairflow_core::log::{Body, Evidence};
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_core::view::inbox::inbox;
use pairflow_core::view::timeline::timeline;
use pairflow_testkit::script::{ScriptRun, check, play};

use super::ledger::rows;

fn proven(rest: &str) -> ScriptRun {
    play(&format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' by './repro'\n{rest}"))
}

fn notes(play: &ScriptRun) -> Vec<&str> {
    play.state.ledger.rows[0]
        .history
        .iter()
        .map(|change| change.note.as_str())
        .filter(|note| !note.is_empty())
        .collect()
}

#[test]
fn a_reproducer_that_does_not_fail_when_it_is_filed_is_dropped_and_marked() {
    let play = play(
        "F1 reproducer passes
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro'",
    );
    assert_eq!(rows(&play), ["F1 P1 no rollback: open"], "the finding itself stays");
    assert_eq!(play.state.ledger.rows[0].reproducer.as_ref().unwrap().stand, ReproducerState::Dropped);
    assert_eq!(notes(&play), ["its reproducer did not fail and no longer counts"]);
    let runs = play.log.iter().filter(|one| matches!(one.event.body, Body::Evidence(Evidence::Reproduced { .. })));
    assert_eq!(runs.count(), 1, "it is run once and never again");
}

#[test]
fn pairflow_closes_the_row_when_its_reproducer_passes() {
    let play = proven("codex edits a.rs\nF1 reproducer passes\ncodex: pass");
    assert_eq!(rows(&play), ["F1 P1 no rollback: fixed, closed"]);
    assert_eq!(notes(&play), ["its reproducer passes now"]);
    assert_eq!(play.state.ledger.rows[0].history.last().unwrap().by.to_string(), "orchestrator");
}

#[test]
fn a_row_that_is_said_to_be_fixed_is_reopened_while_its_reproducer_fails() {
    let play = proven("codex edits a.rs\ncodex: pass fixes F1");
    assert_eq!(rows(&play), ["F1 P1 no rollback: reopened"]);
    assert_eq!(notes(&play), ["its reproducer still fails"]);
}

#[test]
fn a_closed_row_is_reopened_when_its_reproducer_fails_on_a_later_tree() {
    let play = proven(
        "codex edits a.rs
         F1 reproducer passes
         codex: pass
         claude: pass P1 'leaks memory'
         human: reply continue
         codex edits a.rs
         F1 reproducer fails
         codex: pass fixes F2",
    );
    assert_eq!(rows(&play), ["F1 P1 no rollback: reopened", "F2 P1 leaks memory: fixed"]);
    assert_eq!(notes(&play), ["its reproducer passes now", "its reproducer still fails"]);
}

#[test]
fn no_reviewer_confirms_a_row_whose_reproducer_fails() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro'
         codex edits a.rs
         codex: pass fixes F1
         codex edits a.rs
         codex: pass 'it is fixed' fixes F1
         codex edits a.rs
         codex: pass 'it really is' fixes F1
         codex edits a.rs
         codex: pass 'I say so' fixes F1
         claude: pass clean confirms F1
         claude: pass clean
         codex edits a.rs
         codex: pass 'one'
         codex edits a.rs
         codex: pass 'two'
         codex edits a.rs
         codex: pass 'three'
         codex edits a.rs
         codex: pass 'four'
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2 open: F1 P1 no rollback [reopened]
         #5 RUNNING codex implementer round 2 open: F1 P1 no rollback [reopened]
         #6 RUNNING codex implementer round 2 open: F1 P1 no rollback [reopened]
         #7 RUNNING claude reviewer round 2 open: F1 P1 no rollback [reopened]
         refused: F1 has a reproducer that still fails on this tree; only pairflow closes it, once that passes. Its author can withdraw a wrong reproducer with --retract F1
         #8 RUNNING codex implementer round 3 open: F1 P1 no rollback [reopened]
         #9 RUNNING codex implementer round 3 open: F1 P1 no rollback [reopened]
         #10 RUNNING codex implementer round 3 open: F1 P1 no rollback [reopened]
         #11 RUNNING codex implementer round 3 open: F1 P1 no rollback [reopened]
         #12 RUNNING claude reviewer round 3 open: F1 P1 no rollback [reopened]
         refused: not converged yet: open P0/P1 findings: F1 P1 no rollback; a second clean review of this tree by another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history)",
    );
}

#[test]
fn a_reproducer_that_cannot_be_run_is_tried_three_times_then_dropped_and_marked() {
    let play = play(
        "F1 reproducer cannot run
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro'",
    );
    let tried = play.log.iter().filter(|one| match &one.event.body {
        Body::Evidence(Evidence::Reproduced { receipt, .. }) => {
            matches!(receipt.outcome, Outcome::CouldNotCheck { .. })
        }
        _ => false,
    });
    assert_eq!(tried.count(), 3);
    assert_eq!(notes(&play), ["its reproducer could not be run and no longer counts"]);
    assert_eq!(rows(&play), ["F1 P1 no rollback: open"], "neither a pass nor a proof: the reviewer decides again");
    assert!(play.state.gate.questions.is_empty(), "nobody is asked about it");
}

#[test]
fn the_tries_of_a_reproducer_are_not_those_of_a_check() {
    let play = play(
        "given checks test, lint
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro'
         codex edits a.rs
         F1 reproducer cannot run
         lint cannot run
         codex: pass
         human: reply accept",
    );
    assert_eq!(play.state.evidence.not_available, ["lint"], "a person speaks of checks only");
    assert_eq!(notes(&play), ["its reproducer could not be run on this tree"]);
}

#[test]
fn a_reproducer_that_showed_the_fault_still_counts_where_it_cannot_be_run() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro'
         codex edits a.rs
         F1 reproducer cannot run
         codex: pass fixes F1
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #5 RUNNING codex implementer round 3 open: F1 P1 no rollback [fixed]",
    );
}

#[test]
fn the_turn_opens_only_when_every_reproducer_has_been_run() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro' (hold)
         step
         codex: pass 'at once' (hold)
         step
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 closing open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2 opening open: F1 P1 no rollback
         refused: codex's turn is still opening: the reproducer of F1 has not finished
         #5 RUNNING codex implementer round 2 opening open: F1 P1 no rollback
         #6 RUNNING codex implementer round 2 open: F1 P1 no rollback",
    );
}

#[test]
fn a_waived_row_is_not_run_any_more() {
    let play = proven("human: waive F1 'we live with it'\ncodex edits a.rs\ncodex: pass");
    let runs = play.log.iter().filter(|one| matches!(one.event.body, Body::Evidence(Evidence::Reproduced { .. })));
    assert_eq!((runs.count(), rows(&play)), (1, vec!["F1 P1 no rollback: waived, closed".to_owned()]));
}

#[test]
fn closed_rows_never_take_the_place_of_open_ones_when_there_are_many_reproducers() {
    let many = |from: usize, count: usize| {
        let one = |n: usize| {
            format!("P1 '{}' by './repro'", "abcdefghij".chars().nth(n % 10).unwrap().to_string().repeat(n / 10 + 2))
        };
        (from..from + count).map(one).collect::<Vec<_>>().join(" ")
    };
    let mut play = play(&format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass {}", many(0, REPRODUCERS + 5)));
    play.line("codex edits a.rs");
    for n in 1..=REPRODUCERS + 5 {
        play.line(&format!("F{n} reproducer passes"));
    }
    play.line("codex: pass");
    assert!(play.state.ledger.open().next().is_none(), "{:?}", rows(&play));
}

#[test]
fn its_author_takes_a_wrong_reproducer_back_and_confirms_the_row_in_the_same_review() {
    let disputed = "codex: pass disputes F1 'pytest is not installed here'";
    check(
        &format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' by './repro'\n{disputed}
             claude: pass clean confirms F1
             claude: pass clean retracts F1 confirms F1"),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [disputed]
         refused: F1 has a reproducer that still fails on this tree; only pairflow closes it, once that passes. Its author can withdraw a wrong reproducer with --retract F1
         #5 RUNNING codex reviewer round 2 clean: claude",
    );
    let play = proven(&format!("{disputed}\nclaude: pass clean retracts F1 confirms F1\ncodex: pass clean"));
    assert_eq!(rows(&play), ["F1 P1 no rollback: disputed, closed"]);
    assert_eq!(play.state.ledger.rows[0].reproducer, None);
    assert!(notes(&play).contains(&"its reproducer is withdrawn: ./repro"), "{:?}", notes(&play));
    assert_eq!(play.state.ledger.withdrawn().unwrap(), "reproducers withdrawn: 1 (F1)");
    assert!(play.package().contains("- reproducers withdrawn: 1 (F1)"), "{}", play.package());
    let told: Vec<_> = play.log.iter().filter_map(timeline).map(|row| row.what).collect();
    assert!(told.iter().any(|what| what.contains("F1 confirmed, F1 reproducer withdrawn")), "{told:?}");
}

#[test]
fn a_row_without_its_reproducer_is_a_claim_like_any_other() {
    let play = proven(
        "codex: pass disputes F1 'no'
         claude: pass P3 'naming' retracts F1 reopens F1
         claude: upholds F1
         codex edits a.rs
         codex: pass fixes F1",
    );
    assert_eq!(
        rows(&play)[0],
        "F1 P1 no rollback: fixed",
        "nothing is run for it any more, so it waits for its reviewer"
    );
    assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "claude");
}

#[test]
fn nobody_else_takes_a_reproducer_back_and_there_has_to_be_one() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './repro' P1 'leaks'
         codex: pass fixes F2 retracts F1
         codex: pass fixes F2 disputes F1 'no'
         claude: pass P3 'naming' retracts F2
         claude: pass P3 'naming' retracts F7",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P1 leaks
         refused: only claude can withdraw the reproducer of F1
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [disputed], F2 P1 leaks [fixed]
         refused: F2 has no reproducer to withdraw
         refused: F7 is not an open finding",
    );
}

#[test]
fn the_brief_of_its_author_says_how_a_reproducer_is_taken_back() {
    let play = proven("codex: pass disputes F1 'pytest is not installed here'");
    let text = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(text.contains("If a reproducer of yours (F1) is itself wrong, take it back with `--retract F1`"), "{text}");
}

#[test]
fn questions_name_the_reproducer_its_last_lines_and_what_can_be_done() {
    let ways = "If the reproducer of F1 is wrong: claude may take it back, codex may dispute F1, and `pairflow waive demo F1 \
                --reason '…'` closes it.";
    let mut same = proven("codex: pass 'no fault'");
    same.line("codex: pass 'still no fault'");
    let question = &same.state.gate.questions[0].question;
    for part in ["the reproducer of F1 P1 no rollback runs: ./repro\n  expected 1\n  came 2\n", ways] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let capped =
        play("given max_rounds 1\nstart\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' by './repro'");
    let question = &capped.state.gate.questions[0].question;
    for part in ["its reproducer `./repro` fails, which shows it: expected 1 came 2", ways] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let answers = inbox(&capped.state).remove(0).answer;
    assert!(answers.contains(&"pairflow waive demo F1 --reason '…'".to_owned()), "{answers:?}");
}
