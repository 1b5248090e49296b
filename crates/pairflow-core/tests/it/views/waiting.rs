//! What a caller that waits is told: that it is there, that it can still come, or that it never will.

use pairflow_core::bubble::{BubbleState, Phase, Refusal};
use pairflow_core::view::waiting::{Reached, ReachedKind, Wait, WaitFor, WaitOutcome, line_that_waits};
use pairflow_testkit::script::play;

const READY: &str = "start
codex: pass
claude: pass clean
codex: converged";

fn state(script: &str) -> BubbleState {
    play(script).state
}

fn look(state: &BubbleState, by: &str, goal: Option<WaitFor>) -> WaitOutcome {
    let by = (!by.is_empty()).then(|| by.parse().unwrap());
    Wait::begin(state, by, goal).look(state)
}

fn reached(state: &BubbleState, by: &str, goal: Option<WaitFor>) -> Reached {
    match look(state, by, goal) {
        WaitOutcome::Reached(reached) => reached,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_agent_waits_for_its_own_turn() {
    let start = state("start");
    let own = reached(&start, "codex", None);
    assert_eq!(own.reached, ReachedKind::Turn);
    assert_eq!(own.sentence, "It is your turn in bubble demo, as implementer of round 1.");
    assert_eq!(own.next.as_deref(), Some("pairflow brief demo"));
    let other = look(&start, "claude", Some(WaitFor::Turn));
    assert_eq!(
        other,
        WaitOutcome::NotYet("codex has the turn in bubble demo, as implementer of round 1.".to_owned()),
        "a turn of somebody else is not the caller's"
    );
    assert_eq!(reached(&start, "", Some(WaitFor::Turn)).reached, ReachedKind::Turn, "a person waits for any turn");
    let paused = state("start\nhuman: pause");
    assert_eq!(look(&paused, "codex", None), WaitOutcome::NotYet("Bubble demo is paused.".to_owned()));
}

#[test]
fn an_agent_that_has_asked_waits_for_the_answer() {
    let asked = state("start\ncodex: asks 'which db?'");
    let wait = Wait::begin(&asked, Some("codex".parse().unwrap()), None);
    assert!(matches!(wait.look(&asked), WaitOutcome::NotYet(_)));
    let answered = state("start\ncodex: asks 'which db?'\nhuman: reply 'sqlite'");
    let WaitOutcome::Reached(told) = wait.look(&answered) else { panic!("it was answered") };
    assert_eq!((told.reached, told.next.as_deref()), (ReachedKind::Answer, Some("pairflow brief demo")));
    // The answer may have come before the wait began.
    assert_eq!(
        reached(&answered, "codex", Some(WaitFor::Answer)).sentence,
        "No question of codex is open in bubble demo."
    );
    assert_eq!(reached(&asked, "", None).reached, ReachedKind::Question, "a person is told of the question");
    assert!(matches!(look(&asked, "claude", Some(WaitFor::Answer)), WaitOutcome::Reached(_)), "it asked nothing");
}

#[test]
fn work_that_waits_for_approval_ends_a_wait_and_a_bubble_that_is_over_ends_every_wait() {
    let ready = state(READY);
    assert!(matches!(ready.phase, Phase::ReadyForApproval(_)), "{:?}", ready.phase);
    let person = reached(&ready, "", Some(WaitFor::Approval));
    assert_eq!((person.reached, person.next.as_deref()), (ReachedKind::Approval, Some("pairflow ok demo")));
    let agent = reached(&ready, "codex", None);
    assert_eq!((agent.reached, agent.next.as_deref()), (ReachedKind::Approval, Some("pairflow wait demo --for turn")));
    assert!(matches!(look(&ready, "codex", Some(WaitFor::Turn)), WaitOutcome::NotYet(_)), "it may be sent back");
    let over = state("start\nhuman: stop");
    for (goal, why) in [
        (Some(WaitFor::Turn), "there is no further turn"),
        (Some(WaitFor::Answer), "its questions are closed"),
        (Some(WaitFor::Approval), "it never waits for approval"),
        (None, "there is no further turn"),
    ] {
        let told = WaitOutcome::Never(format!("bubble demo is CANCELLED: {why}."));
        assert_eq!(look(&over, "codex", goal), told);
    }
}

#[test]
fn a_refusal_that_passes_by_waiting_names_the_command_that_waits() {
    let id = state("start").id;
    let line = |refusal: &Refusal| line_that_waits(refusal, &id);
    assert_eq!(line(&Refusal::TooManyQuestions).as_deref(), Some("pairflow wait demo --for answer"));
    let paused = Refusal::Paused { command: "pass" };
    assert_eq!(line(&paused).as_deref(), Some("pairflow wait demo --for turn"));
    assert_eq!(line(&paused.lost_race()).as_deref(), Some("pairflow wait demo --for turn"));
    assert_eq!(line(&Refusal::NoDeclaration), None);
}
