//! What follows from a state by itself: questions of pairflow's own, work that goes back, acceptance.
//!
//! [`crate::bubble::decide`] says what a command leads to. What its facts lead to is asked of the state that has them,
//! one step after the other, and recorded with them.

use crate::bubble::{BubbleState, Stage, baseline, converge, missing_checks, work};
use crate::facts::{Certificate, Seat};
use crate::log::{Body, Event, Judged, Next, Verdict};
use crate::policy::{After, Unmet};

/// Returns the next thing that follows from a state by itself, if anything does.
pub fn follow(state: &BubbleState) -> Option<Event> {
    baseline::question(state)
        .or_else(|| work::could_not_check(state))
        .or_else(|| work::differs(state))
        .or_else(|| stop(state))
        .or_else(|| after_work(state))
        .or_else(|| converge::conclude(state))
}

/// Returns the certificate of accepted work whose package is to be rendered now.
pub fn to_package(state: &BubbleState) -> Option<&Certificate> {
    let certified = state.phase.turn().is_some_and(|turn| turn.stage == Stage::Certified);
    state.gate.certificate.as_ref().filter(|_| certified)
}

/// The one question with which a loop stops that does not get anywhere.
fn stop(state: &BubbleState) -> Option<Event> {
    let turn = state.phase.turn().filter(|turn| turn.stage == Stage::Opening)?;
    let asked = state.gate.questions.iter().any(|open| open.kind.is_tie_break());
    let facts = state.facts();
    if asked || facts.to_reproduce().next().is_some() {
        return None;
    }
    let policy = state.policy();
    let question = policy.question(facts, turn.seat).or_else(|| policy.at_cap(facts, turn.seat))?;
    Some(Event::own(state.rounds.last_begun(), Body::HumanQuestion(question)))
}

/// What follows from work once everything was run on it.
fn after_work(state: &BubbleState) -> Option<Event> {
    if state.gate.questions.iter().any(|open| open.kind.is_about_checks()) {
        return None;
    }
    let body = match judge_work(state)? {
        After::Review => return None,
        // What cannot be accepted is for the reviewer to see.
        After::Concluded(conclusion) if conclusion.next == Next::Accept && !is_acceptable(state) => return None,
        After::Concluded(conclusion) => Body::Verdict(conclusion.verdict(state.policy(), Judged::Work)),
        After::Ask(question) => Body::HumanQuestion(question),
    };
    Some(Event::own(state.rounds.round, body))
}

/// The verdict on the newest work, if there is one.
pub(super) fn verdict_on_work(state: &BubbleState) -> Option<Verdict> {
    match judge_work(state)? {
        After::Concluded(conclusion) if conclusion.next == Next::Accept && !is_acceptable(state) => None,
        After::Concluded(conclusion) => Some(conclusion.verdict(state.policy(), Judged::Work)),
        After::Review | After::Ask(_) => None,
    }
}

/// What the policy says of work, if a reviewer is about to look at it and all evidence about it is there.
fn judge_work(state: &BubbleState) -> Option<After> {
    let next = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Opening);
    let evidence = missing_checks(state).is_empty() && state.facts().to_reproduce().next().is_none();
    (next && evidence).then(|| state.policy().after_work(state.facts()))
}

/// Whether nothing but a person's word keeps the work from being accepted.
fn is_acceptable(state: &BubbleState) -> bool {
    state.unmet().iter().all(|criterion| matches!(criterion, Unmet::Comprehension | Unmet::Questions(_)))
}
