//! What follows from a state by itself: questions of pairflow's own, work that goes back, acceptance.
//!
//! [`crate::bubble::decide`] says what a command leads to. What its facts lead to is asked of the state that has them,
//! one step after the other, and recorded with them.

use crate::bubble::{Stage, Unit, baseline, converge, missing_checks, work};
use crate::facts::{Certificate, Seat};
use crate::log::{Body, Event, Judged, Next, Verdict};
use crate::policy::{After, Unmet};

/// Returns the next thing that follows from a state by itself, if anything does.
pub fn follow(unit: &Unit) -> Option<Event> {
    baseline::question(unit)
        .or_else(|| work::could_not_check(unit))
        .or_else(|| work::differs(unit))
        .or_else(|| stop(unit))
        .or_else(|| after_work(unit))
        .or_else(|| converge::conclude(unit))
}

/// Returns the certificate of accepted work whose package is to be rendered now.
pub fn to_package(unit: &Unit) -> Option<&Certificate> {
    let certified = unit.phase.turn().is_some_and(|turn| turn.stage == Stage::Certified);
    unit.gate.certificate.as_ref().filter(|_| certified)
}

/// The one question with which a loop stops that does not get anywhere.
fn stop(unit: &Unit) -> Option<Event> {
    let turn = unit.phase.turn().filter(|turn| turn.stage == Stage::Opening)?;
    let asked = unit.gate.questions.iter().any(|open| open.kind.is_tie_break());
    let facts = unit.facts();
    if asked || facts.to_reproduce().next().is_some() {
        return None;
    }
    let policy = unit.policy();
    let question = policy.question(facts, turn.seat).or_else(|| policy.at_cap(facts, turn.seat))?;
    Some(Event::own(unit.rounds.round, Body::HumanQuestion(question)))
}

/// What follows from work once everything was run on it.
fn after_work(unit: &Unit) -> Option<Event> {
    if unit.gate.questions.iter().any(|open| open.kind.is_about_checks()) {
        return None;
    }
    let body = match judge_work(unit)? {
        After::Review => return None,
        // What cannot be accepted is for the reviewer to see.
        After::Concluded(conclusion) if conclusion.next == Next::Accept && !is_acceptable(unit) => return None,
        After::Concluded(conclusion) => Body::Verdict(conclusion.verdict(unit.policy(), Judged::Work)),
        After::Ask(question) => Body::HumanQuestion(question),
    };
    Some(Event::own(unit.rounds.round, body))
}

/// The verdict on the newest work, if there is one.
pub(super) fn verdict_on_work(unit: &Unit) -> Option<Verdict> {
    match judge_work(unit)? {
        After::Concluded(conclusion) if conclusion.next == Next::Accept && !is_acceptable(unit) => None,
        After::Concluded(conclusion) => Some(conclusion.verdict(unit.policy(), Judged::Work)),
        After::Review | After::Ask(_) => None,
    }
}

/// What the policy says of work, if a reviewer is about to look at it and all evidence about it is there.
fn judge_work(unit: &Unit) -> Option<After> {
    let next = unit.phase.turn().is_some_and(|turn| turn.seat == Seat::Critic && turn.stage == Stage::Opening);
    let evidence = missing_checks(unit).is_empty() && unit.facts().to_reproduce().next().is_none();
    (next && evidence).then(|| unit.policy().after_work(unit.facts()))
}

/// Whether nothing but a person's word keeps the work from being accepted.
fn is_acceptable(unit: &Unit) -> bool {
    unit.unmet().iter().all(|criterion| matches!(criterion, Unmet::Comprehension | Unmet::Questions(_)))
}
