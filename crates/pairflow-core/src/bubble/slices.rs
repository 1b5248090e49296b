//! A long change is reviewed in slices: which of them a reviewer says to have read, and what a review without them is worth.

use crate::bubble::{BubbleState, Refusal, Turn, preview};
use crate::ids::AgentId;
use crate::log::Pass;

/// Refuses the number of a slice that this turn does not have.
pub(super) fn admit(turn: &Turn, reviewed: &[u32]) -> Result<(), Refusal> {
    let (of, count, limit) = (turn.slices, reviewed.len(), turn.slices as usize);
    if of > 0 && count > limit {
        return Err(Refusal::TooMany { what: "slices", count, limit });
    }
    match reviewed.iter().find(|number| **number == 0 || **number > of) {
        Some(number) => Err(Refusal::NoSuchSlice { number: *number, of }),
        None => Ok(()),
    }
}

/// Returns the slices of this turn that are not among `reviewed`.
pub(super) fn missing(turn: &Turn, reviewed: &[u32]) -> Vec<u32> {
    (1..=turn.slices).filter(|number| !reviewed.contains(number)).collect()
}

/// Refuses a hand-over that would count as clean, or that says to have found nothing, although not all was read.
pub(super) fn read(state: &BubbleState, turn: &Turn, by: &AgentId, pass: &Pass) -> Result<(), Refusal> {
    let missing = missing(turn, &pass.reviewed);
    if missing.is_empty() {
        return Ok(());
    }
    let nothing = pass.findings.as_ref().is_some_and(Vec::is_empty) && pass.answers.reopened.is_empty();
    let clean = preview::would_be_clean(state, by, pass);
    if nothing || clean { Err(Refusal::SlicesMissing { missing, of: turn.slices }) } else { Ok(()) }
}
