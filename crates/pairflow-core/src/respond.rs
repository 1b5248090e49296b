//! Everything that one command leads to: its own facts, what follows from them, and the package of what is accepted.
//!
//! The machine says what happened and what is to be rendered; the package is made here, outside of it, and its hash goes
//! back to the machine, all in one append.

use crate::bubble::{Artifact, BubbleState, Command, Decided, Package, Refusal, decide, evolve, follow, to_package};
use crate::hash::sha256;
use crate::log::{Envelope, Event};
use crate::time::Moment;
use crate::view::package;

/// The most steps that follow from one command; each answers, asks or moves something, so there are never that many.
const MOST_STEPS: usize = 32;

/// Says everything that `command` leads to.
pub fn handle(state: &BubbleState, command: &Command, now: Moment) -> Result<Decided, Refusal> {
    let mut all = decide(state, command, now)?;
    if all.events.is_empty() {
        return Ok(all);
    }
    let mut after = advanced(state.clone(), &all.events, now);
    for _ in 0..MOST_STEPS {
        let step = match follow(&after) {
            Some(event) => Decided { events: vec![event], artifacts: Vec::new() },
            None => match packaged(&after, now)? {
                Some(step) => step,
                None => return Ok(all),
            },
        };
        after = advanced(after, &step.events, now);
        all.events.extend(step.events);
        all.artifacts.extend(step.artifacts);
    }
    Err(Refusal::Endless { command: command.name() })
}

/// Renders the package of work that has been accepted, and asks the machine what its hash leads to.
fn packaged(state: &BubbleState, now: Moment) -> Result<Option<Decided>, Refusal> {
    let Some(certificate) = to_package(state) else { return Ok(None) };
    let message = package::commit_message(state);
    let text = package::render(state, certificate, &message);
    let (name, sha256) = (package::NAME.to_owned(), sha256(text.as_bytes()));
    let rendered = Command::Packaged { package: Package { name: name.clone(), commit_message: message, sha256 } };
    let mut step = decide(state, &rendered, now)?;
    step.artifacts.push(Artifact { name, bytes: text.into_bytes() });
    Ok(Some(step))
}

/// The state after `events`, had they been recorded now.
fn advanced(state: BubbleState, events: &[Event], now: Moment) -> BubbleState {
    events.iter().fold(state, |state, event| {
        // Names are given when the facts are recorded; here they only have to differ from one another and from recorded ones.
        let seq = u64::MAX - state.gate.questions.len() as u64;
        let (id, bubble_id) = (Envelope::name(seq, now), state.id.clone());
        evolve(state, &Envelope { seq, id, at: now, bubble_id, more: 0, event: event.clone() })
    })
}
