//! How many looks a change needs by its size and risk, and what a thorough review adds.

use pairflow_core::view::status::Status;
use pairflow_testkit::script::{ScriptRun, check, play};

#[test]
fn a_small_change_needs_two_looks_a_medium_one_three_and_a_large_one_four() {
    for (lines, looks) in [(50, 2), (51, 3), (400, 3), (401, 4)] {
        assert_eq!(clean_looks(&format!("given lines {lines}")), looks, "{lines} lines");
    }
}

#[test]
fn a_risky_change_needs_four_looks_and_configuration_can_only_add_to_that() {
    assert_eq!(clean_looks("given risk src/**"), 2, "it changes nothing there");
    assert_eq!(clean_looks("given risk *.rs"), 4);
    assert_eq!(clean_looks("given min_looks 3"), 3);
    assert_eq!(clean_looks("given lines 500\ngiven min_looks 1"), 4);
}

#[test]
fn while_looks_are_missing_the_agents_alternate_on_the_same_snapshot() {
    check(
        "given lines 401
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING claude reviewer round 1 clean: claude, codex
         #5 RUNNING codex reviewer round 1 clean: claude, codex, claude
         #6 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn looks_at_earlier_trees_count() {
    let play = play(
        "given lines 401
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass P1 'no limit' confirms F1
         codex edits a.rs
         codex: pass fixes F2
         claude: pass clean
         codex: pass clean",
    );
    assert!(play.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", play.lines);
}

#[test]
fn missing_looks_are_named_beside_missing_reviews() {
    let play = play("given lines 60\nstart\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean");
    let missing = Status::of(&play.state, play.log.last().unwrap().at).missing_for_convergence;
    let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["more reviews for a change of this size and risk: 2 of 3 looks"]);
}

#[test]
fn a_clean_review_holds_while_the_tree_is_the_same() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P1 'no rollback'
         claude: pass disputes F1 'b.rs has one'
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING claude implementer round 2 clean: claude open: F1 P1 no rollback
         #5 RUNNING codex reviewer round 2 clean: claude open: F1 P1 no rollback [disputed]
         #6 READY_FOR_APPROVAL round 2 tree1",
    );
}

#[test]
fn acceptance_tests_come_first_and_then_the_implementer() {
    check(
        "given thorough
         start
         claude: pass clean
         claude: pass accepts './run' tests/task.py
         codex edits a.rs
         codex: pass
         F1 reproducer passes
         codex edits a.rs
         codex: pass 'again'",
        "#1 RUNNING claude reviewer round 1
         refused: this turn writes acceptance tests: give --acceptance FILE and --run 'CMD', or --no-acceptance if none can be written
         #2 RUNNING codex implementer round 1 open: F1 P1 the acceptance tests written from the task fail
         #3 RUNNING codex implementer round 1 open: F1 P1 the acceptance tests written from the task fail
         #4 RUNNING claude reviewer round 1",
    );
}

#[test]
fn where_no_acceptance_test_can_be_written_the_author_says_so() {
    check(
        "given thorough
         start
         claude: pass unaccepted
         codex edits a.rs
         codex: pass accepts './run' tests/task.py",
        "#1 RUNNING claude reviewer round 1
         #2 RUNNING codex implementer round 1
         refused: --acceptance, --run and --no-acceptance belong to the turn before the first implementation",
    );
}

#[test]
fn acceptance_tests_that_cannot_run_go_back_once() {
    check(
        "given thorough
         start
         F1 cannot run
         claude: pass accepts './run' tests/task.py
         F1 cannot run
         claude: pass accepts './run2' tests/task.py",
        "#1 RUNNING claude reviewer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 1 open: F1 P1 the acceptance tests written from the task fail [reopened]",
    );
    // They may have needed what only the work brings.
    let play = play(
        "given thorough
         start
         F1 cannot run
         claude: pass accepts './run' tests/task.py
         F1 cannot run
         claude: pass accepts './run2' tests/task.py
         F1 reproducer fails
         codex edits a.rs
         codex: pass
         F1 reproducer passes
         codex edits a.rs
         codex: pass 'again'",
    );
    assert!(play.lines[3].contains("codex implementer round 1"), "{:?}", play.lines);
    assert_eq!(play.lines[4].trim(), "#5 RUNNING  claude reviewer round 1", "{:?}", play.lines);
}

#[test]
fn only_their_author_or_a_person_takes_acceptance_tests_back() {
    let begun = "given thorough
         start
         claude: pass accepts './run' tests/task.py
         codex edits a.rs";
    let codex = play(&format!("{begun}\ncodex: pass retracts F1"));
    assert!(codex.lines.last().unwrap().starts_with("refused"), "{:?}", codex.lines);
    let person = play(&format!("{begun}\nhuman: waive F1 'wrong'\ncodex: pass"));
    assert!(person.lines.last().unwrap().contains("claude reviewer round 1"), "{:?}", person.lines);
    let disputed = play(&format!(
        "{begun}\ncodex: pass disputes F1 'it asks for more than the task'\nclaude: pass clean retracts F1"
    ));
    assert!(!disputed.state.ledger.open().any(|row| row.severity.blocks()), "{:?}", disputed.lines);
}

#[test]
fn the_first_look_is_taken_by_every_agent_and_then_the_work_goes_back() {
    check(
        "given thorough
         start
         claude: pass unaccepted
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass P1 'no limit'
         codex edits a.rs
         codex: pass fixes F1 fixes F2
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING claude reviewer round 1
         #2 RUNNING codex implementer round 1
         #3 RUNNING claude reviewer round 1
         #4 RUNNING codex reviewer round 1 open: F1 P1 no rollback
         #5 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P1 no limit
         #6 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed], F2 P1 no limit [fixed]
         #7 RUNNING codex reviewer round 2 clean: claude
         #8 READY_FOR_APPROVAL round 2 tree2",
    );
}

#[test]
fn with_three_agents_the_first_look_is_three() {
    check(
        "given thorough
         given agents codex, claude, gemini
         start
         claude: pass unaccepted
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         gemini: pass clean
         codex: pass clean",
        "#1 RUNNING claude reviewer round 1
         #2 RUNNING codex implementer round 1
         #3 RUNNING claude reviewer round 1
         #4 RUNNING gemini reviewer round 1 open: F1 P1 no rollback
         #5 RUNNING codex reviewer round 1 open: F1 P1 no rollback
         #6 RUNNING codex implementer round 2 open: F1 P1 no rollback",
    );
}

#[test]
fn a_clean_first_look_of_all_agents_suffices() {
    let play = play(
        "given thorough\nstart\nclaude: pass unaccepted\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean",
    );
    assert!(play.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", play.lines);
}

#[test]
fn a_bubble_of_an_older_version_moves_by_a_recorded_line() {
    use pairflow_core::log::{Body, Lifecycle};
    let mut play = play("start\ncodex edits a.rs\ncodex: pass");
    play.state.rules.policy_version = 1;
    play.line("claude: pass P2 'slow'");
    let moved =
        play.log.iter().filter(|one| matches!(one.event.body, Body::Lifecycle(Lifecycle::PolicyMoved { version: 2 })));
    assert_eq!(moved.count(), 1);
    assert_eq!(play.state.rules.policy_version, 2);
}

/// How many clean looks a change takes under these rules.
fn clean_looks(given: &str) -> usize {
    let mut play: ScriptRun = play(&format!("{given}\nstart\ncodex edits a.rs\ncodex: pass"));
    for look in 1..=6 {
        let by = play.state.phase.turn().unwrap().agent.clone();
        play.line(&format!("{by}: pass clean"));
        if play.lines.last().unwrap().contains("READY_FOR_APPROVAL") {
            return look;
        }
    }
    panic!("{:?}", play.lines)
}
