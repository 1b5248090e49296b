//! What follows from a state by itself: questions of pairflow's own, work that goes back, acceptance.
//!
//! [`crate::unit::decide`] says what a command leads to. What its facts lead to is asked of the state that has them,
//! one step after the other, and recorded with them.

use crate::log::{Envelope, Event};
use crate::time::Moment;
use crate::unit::{Command, Decided, Refusal, Unit, baseline, converge, decide, evolve, send_back, stop, work};

/// The most steps that follow from one command; each answers, asks or moves something, so there are never that many.
const MOST_STEPS: usize = 32;

/// Says everything that `command` leads to: its own facts, and what follows from them.
pub fn handle(unit: &Unit, command: &Command, now: Moment) -> Result<Decided, Refusal> {
    let mut all = decide(unit, command, now)?;
    if all.events.is_empty() {
        return Ok(all);
    }
    let mut after = advanced(unit.clone(), &all.events, now);
    for _ in 0..MOST_STEPS {
        let Some(step) = follow(&after) else { break };
        after = advanced(after, &step.events, now);
        all.events.extend(step.events);
        all.artifacts.extend(step.artifacts);
    }
    Ok(all)
}

/// Returns the next thing that follows from a state by itself, if anything does.
pub fn follow(unit: &Unit) -> Option<Decided> {
    let question = baseline::question(unit)
        .or_else(|| work::could_not_check(unit))
        .or_else(|| work::differs(unit))
        .or_else(|| stop::stop(unit));
    question.or_else(|| send_back::send_back(unit)).map(Decided::one).or_else(|| converge::conclude(unit))
}

/// The state after `events`, had they been recorded now.
fn advanced(unit: Unit, events: &[Event], now: Moment) -> Unit {
    events.iter().fold(unit, |unit, event| {
        // Names are given when the facts are recorded; here they only have to differ from one another and from recorded ones.
        let seq = u64::MAX - unit.gate.questions.len() as u64;
        let (id, bubble_id) = (Envelope::name(seq, now), unit.id.clone());
        evolve(unit, &Envelope { seq, id, at: now, bubble_id, more: 0, event: event.clone() })
    })
}
