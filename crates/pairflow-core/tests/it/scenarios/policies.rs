//! Other rules of the loop than those of a bubble, behind the same seam.

use pairflow_core::bubble::{BubbleState, evolve, owed};
use pairflow_core::log::{Body, Envelope, Lifecycle};
use pairflow_core::policy::Unmet;
use pairflow_core::progress::CheckState;
use pairflow_testkit::script::{ScriptRun, check, play};

#[test]
fn single_accepts_work_whose_checks_pass_and_nobody_reviews_it() {
    check(
        "given policy single
         start
         codex edits a.rs
         codex: pass
         human: approve",
        "#1 RUNNING codex implementer round 1
         #2 READY_FOR_APPROVAL round 1 tree1
         #3 APPROVED_FOR_COMMIT tree1",
    );
    let play = play("given policy single\nstart\ncodex edits a.rs\ncodex: pass");
    let certificate = play.state.gate.certificate.as_ref().unwrap();
    assert_eq!((certificate.policy.as_str(), certificate.reviews.len()), ("single", 0));
    assert!(play.package().contains("accepted under the policy `single`, reviewed clean by nobody"));
}

#[test]
fn single_sends_failing_work_back_and_asks_about_the_same_failure() {
    let mut play = play("given policy single\nstart\ntest fails\ncodex edits a.rs\ncodex: pass");
    assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "codex");
    assert_eq!((play.state.rounds.round, play.state.rounds.sent_back), (1, 1));
    play.line("codex: pass 'again'");
    let question = play.state.gate.questions[0].in_short();
    assert_eq!(question, "codex handed over the same files again, and the check 'test' fails.");
}

#[test]
fn single_never_gives_failing_work_to_a_reviewer() {
    let mut play = play("given policy single\nstart\ntest fails");
    for n in 1..=4 {
        play.line(&format!("codex edits f{n}.rs"));
        play.line("codex: pass 'try'");
    }
    assert_eq!(play.state.gate.questions.len(), 1, "{:?}", play.lines);
    play.line("human: reply 'look at the fixture'");
    let turn = play.state.phase.turn().unwrap();
    assert_eq!((turn.agent.as_str(), turn.is_open(), play.state.rounds.spent.looks), ("codex", true, 0));
    play.line("test passes");
    play.line("codex edits g.rs");
    play.line("codex: pass 'now'");
    assert!(play.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", play.lines);
}

#[test]
fn checks_that_change_before_the_acceptance_of_single_run_before_it() {
    let mut play = play("given policy single\nstart\ncodex edits a.rs\ncodex: asks 'which format?'");
    play.line("human: reply 'any'");
    play.line("codex: pass (hold)");
    play.line("claude: asks 'may I look?'");
    play.line("settle");
    play.line("human: config test 'make test'");
    play.line("human: reply 'no' ");
    let checked = |play: &ScriptRun| play.state.check("test") != CheckState::Missing;
    assert!(checked(&play) && play.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", play.lines);
}

#[test]
fn a_policy_of_forty_lines_accepts_after_any_review() {
    check(
        "given policy any_review
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 READY_FOR_APPROVAL round 1 tree1",
    );
}

/// A started bubble of a policy that nobody here knows.
fn of_another_pairflow() -> ScriptRun {
    let mut play = play("start\ncodex edits a.rs");
    play.state.rules.policy = "unheard_of".to_owned();
    play
}

#[test]
fn nothing_happens_under_a_policy_that_is_not_known() {
    let mut play = of_another_pairflow();
    play.line("codex: pass");
    let refused = "refused: this pairflow does not know the policy 'unheard_of' of this bubble; a newer one may";
    assert_eq!(play.lines.last().unwrap(), refused);
    assert!(owed(&play.state).is_empty(), "nobody could judge what comes of it");
    assert_eq!(play.state.unmet(), [Unmet::UnknownPolicy("unheard_of".to_owned())]);
}

#[test]
fn a_replay_asks_no_policy() {
    let play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean\nhuman: approve");
    let blind = |envelope: &Envelope| {
        let mut envelope = envelope.clone();
        if let Body::Lifecycle(Lifecycle::Created { rules, .. } | Lifecycle::StartRequested { rules }) =
            &mut envelope.event.body
        {
            rules.policy = "panics".to_owned();
        }
        envelope
    };
    let mut state =
        play.log.iter().map(blind).fold(BubbleState::new(play.state.id.clone()), |state, one| evolve(state, &one));
    assert_eq!(state.rules.policy, "panics");
    state.rules.policy.clone_from(&play.state.rules.policy);
    assert_eq!(state, play.state);
}
