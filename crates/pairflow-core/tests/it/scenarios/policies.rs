//! Other rules of the loop than those of a bubble, behind the same seam.

use pairflow_core::bubble::{BubbleState, evolve, owed};
use pairflow_core::log::{Body, Envelope, Event, Judged, Lifecycle, NextTurn, Reason, Verdict};
use pairflow_core::policy::Unmet;
use pairflow_core::progress::CheckState;
use pairflow_core::rules::Rules;
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
    assert_eq!(question, "codex handed over the same files again; the check 'test' fails.");
}

#[test]
fn single_never_gives_failing_work_to_a_reviewer() {
    let mut play = play("given policy single\nstart\ntest fails");
    for n in 1..=4 {
        play.line(&format!("codex edits f{n}.rs"));
        play.line("codex: pass 'try'");
    }
    assert_eq!(play.state.gate.questions.len(), 1, "{:?}", play.lines);
    let question = play.state.gate.questions[0].in_short();
    assert_eq!(question, "the work fails, and no reviewer looks at it: the check 'test' fails.");
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

#[test]
fn no_policy_accepts_a_tree_that_changed_during_its_review() {
    check(
        "given policy any_review
         start
         codex edits a.rs
         codex: pass
         claude edits b.rs
         claude: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1
         #4 READY_FOR_APPROVAL round 1 tree2",
    );
    let mut play = moved_to("single", "start\ncodex edits a.rs\ncodex: pass");
    play.line("claude edits b.rs");
    play.line("claude: pass clean");
    let verdict = last_verdict(&play);
    assert_eq!((verdict.next, &verdict.reasons[..]), (NextTurn::Review, &[Reason::TreeChanged][..]));
    assert!(verdict.clean.is_none() && play.state.rounds.streak.is_empty());
    // Nobody has to look at what passes its checks under this policy.
    assert!(play.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", play.lines);
}

#[test]
fn no_policy_accepts_a_tree_whose_checks_changed_before_its_review_was_judged() {
    let config = "claude: pass clean (hold)\nhuman: config test 'make test'";
    let mut any = play(&format!("given policy any_review\nstart\ncodex edits a.rs\ncodex: pass\n{config}"));
    let reasons = [Reason::CheckMissing { check: "test".to_owned() }, Reason::ChecksChanged];
    assert_eq!((last_verdict(&any).next, &last_verdict(&any).reasons[..]), (NextTurn::Review, &reasons[..]));
    assert!(any.lines.last().unwrap().ends_with("claude reviewer round 1"), "{:?}", any.lines);
    any.line("claude: pass clean");
    assert!(any.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", any.lines);
    let mut single = moved_to("single", "start\ncodex edits a.rs\ncodex: pass");
    config.lines().for_each(|line| single.line(line));
    assert_ne!(single.state.check("test"), CheckState::Missing);
    assert!(single.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", single.lines);
}

#[test]
fn what_a_person_has_to_be_told_is_for_the_policy_to_say() {
    check(
        "given policy any_review
         start
         codex edits a.rs
         codex: pass
         claude: pass clean unexplained",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_tie_break_without_a_reviewer_can_be_accepted() {
    let script = "start
         codex edits a.rs
         codex: pass (hold)
         claude: asks 'may I look?'
         settle
         human: config test 'make test'";
    let asked = |policy: &str| {
        let mut play = moved_to(policy, script);
        // Nobody has reviewed this tree when the person is asked.
        play.state.rounds.spent.looks = 12;
        play.line("human: reply 'no'");
        assert_eq!(play.state.gate.questions.len(), 1, "{:?}", play.lines);
        play.line("human: reply accept");
        play.lines.pop().unwrap()
    };
    assert_eq!(asked("strict"), "refused: the work cannot be accepted as it is: this tree has not been reviewed");
    assert!(asked("single").contains("READY_FOR_APPROVAL"));
}

/// Plays a script, then moves its bubble to another policy by a recorded line.
fn moved_to(policy: &str, script: &str) -> ScriptRun {
    let mut play = play(script);
    let rules = Rules { policy: policy.to_owned(), ..play.state.rules.clone() };
    let rules = Box::new(pairflow_core::policy::with_version(rules));
    let fact = Lifecycle::Configured { rules, changes: Vec::new(), recheck: false };
    let last = play.log.last().unwrap();
    let (seq, at, bubble_id) = (last.seq + 1, last.at, last.bubble_id.clone());
    let event = Event::own(play.state.rounds.round, Body::Lifecycle(fact));
    let moved = Envelope { seq, id: Envelope::name(seq, at), at, bubble_id, more: 0, event };
    play.state = evolve(play.state, &moved);
    play.log.push(moved);
    play
}

fn last_verdict(play: &ScriptRun) -> &Verdict {
    let review = |envelope: &'_ Envelope| matches!(&envelope.event.body, Body::Verdict(one) if matches!(one.on, Judged::Review { .. }));
    let last = play.log.iter().rfind(|envelope| review(envelope)).unwrap();
    let Body::Verdict(verdict) = &last.event.body else { unreachable!("it was looked for") };
    verdict
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
