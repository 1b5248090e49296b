//! A person changes the configuration of a bubble that is under way.

use pairflow_core::bubble::{Command, Refusal, decide};
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Lifecycle};
use pairflow_core::time::Moment;
use pairflow_core::view::timeline::{TimelineState, timeline};
use pairflow_testkit::script::{check, play};

#[test]
fn a_corrected_check_runs_again_before_the_review_goes_on() {
    check(
        "start
         codex edits a.rs
         codex: pass
         test fails
         human: config test './test --all'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 1 failing: test",
    );
}

#[test]
fn a_check_that_could_not_be_run_is_not_asked_about_any_more_once_it_is_corrected() {
    check(
        "test cannot run
         start
         codex edits a.rs
         codex: pass
         test passes
         human: config test './test --all'",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN claude reviewer round 1 opening unchecked: test asks: orchestrator: the check 'test' could not be run (no such program).
         #3 RUNNING claude reviewer round 1",
    );
}

#[test]
fn a_clean_review_by_the_old_check_does_not_count() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         human: config test './test --all'
         codex: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1
         #5 RUNNING claude reviewer round 1 clean: codex
         #6 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_check_that_changes_before_a_clean_review_is_judged_asks_for_another_review() {
    let script = "start
         codex edits a.rs
         codex: pass
         claude: pass clean (hold)
         human: config test './test --all' (hold)
         settle";
    check(
        script,
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 closing
         #4 RUNNING claude reviewer round 1 closing unchecked: test
         #5 RUNNING claude reviewer round 1",
    );
    let mut state = TimelineState::new("demo".parse().unwrap());
    let rows: Vec<_> = play(script).log.iter().flat_map(|envelope| state.step(envelope)).collect();
    let told = "the clean review of claude does not count: checks changed before it was judged; claude reviews again";
    assert!(rows.iter().any(|row| row.what == told), "{rows:?}");
}

#[test]
fn a_check_that_fails_runs_again_before_a_review_goes_on_once_the_setup_changes() {
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
         test passes
         human: config setup 'make deps' (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: test
         #3 RUNNING codex implementer round 1 failing: test
         #4 RUNNING codex implementer round 1 failing: test
         #5 RUNNING claude reviewer round 1 failing: test
         #6 RUNNING claude reviewer round 1 opening unchecked: test
         #7 RUNNING claude reviewer round 1",
    );
}

#[test]
fn a_waiver_of_the_old_command_does_not_hold_for_the_new_one() {
    check(
        "given checks test, lint
         lint fails
         start
         codex edits a.rs
         codex: pass
         human: waive lint 'the linter is broken'
         human: config lint './lint --fixed'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: lint
         #3 RUNNING codex implementer round 1 waived: lint
         #4 RUNNING codex implementer round 1 unchecked: lint",
    );
}

#[test]
fn what_waits_for_approval_is_not_judged_by_other_checks() {
    let mut ready = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean");
    let mut rules = ready.state.rules.clone();
    rules.checks[0].command.push_str(" --all");
    let refused = decide(&ready.state, &Command::Configure { rules: Box::new(rules) }, Moment::default()).unwrap_err();
    assert!(matches!(refused, Refusal::Untimely { first: "request-rework", .. }), "{refused:?}");
    let mut rules = ready.state.rules.clone();
    rules.open_command = "code {{worktree_path}}".to_owned();
    ready.send(&Command::Configure { rules: Box::new(rules.clone()) });
    assert_eq!(ready.state.rules, rules);
}

#[test]
fn the_change_is_the_persons_and_told_with_old_and_new() {
    let mut at = play("start\ncodex edits a.rs\ncodex: pass");
    at.line("human: config test './test --all'");
    let told = |envelope: &&pairflow_core::log::Envelope| {
        matches!(&envelope.event.body, Body::Lifecycle(Lifecycle::Configured { .. }))
    };
    let envelope = at.log.iter().find(told).unwrap();
    assert_eq!(envelope.event.sender, Party::Human);
    let row = timeline(envelope).unwrap();
    assert_eq!(
        (row.who.as_str(), row.what.as_str()),
        ("human", "changes the configuration: commands.test: ./test -> ./test --all")
    );
}

#[test]
fn what_was_fixed_at_the_start_cannot_change() {
    let at = play("start");
    let mut rules = at.state.rules.clone();
    rules.base_branch = "other".to_owned();
    rules.agents.implementer = "gemini".parse().unwrap();
    let refused = decide(&at.state, &Command::Configure { rules: Box::new(rules) }, Moment::default()).unwrap_err();
    let Refusal::FixedKeys { keys } = refused else { panic!("{refused:?}") };
    assert_eq!(keys, ["base_branch", "agents.implementer"]);
    let mut rules = at.state.rules.clone();
    rules.checks.clear();
    rules.manual_checks.clear();
    let refused = decide(&at.state, &Command::Configure { rules: Box::new(rules) }, Moment::default()).unwrap_err();
    assert!(matches!(refused, Refusal::BadRules { .. }), "{refused:?}");
}
