//! What the person lives with, and what no longer.

use crate::bubble::evolve::turns::{closing, set_stage};
use crate::bubble::{BubbleState, Stage};
use crate::facts::Seat;
use crate::log::{Control, Waivable};

/// A waiver of a check holds for this tree and for later ones, until it is taken back.
pub(super) fn waived(state: &mut BubbleState, control: &Control) {
    match &control.waived {
        Some(Waivable::Finding(id)) => state.ledger.waive(*id, state.rounds.round, &control.reason),
        Some(Waivable::Check(name)) => {
            state.evidence.waived_checks.insert(name.clone(), control.reason.clone());
        }
        None => {}
    }
    if let (Some(handover), Some(what)) = (closing(state), &control.waived) {
        handover.waived.push(what.clone());
    }
}

/// A waiver is taken back. What the check said of this tree counts again; if it said nothing, it is owed.
pub(super) fn withdrawn(state: &mut BubbleState, control: &Control) {
    match &control.waived {
        Some(Waivable::Finding(id)) => state.ledger.withdraw(*id, state.rounds.round, &control.reason),
        Some(Waivable::Check(name)) => {
            state.evidence.waived_checks.remove(name);
            if state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Open) {
                // The review goes on once it has run, or the work goes back.
                set_stage(state, Stage::Opening);
            }
        }
        None => {}
    }
    if let (Some(handover), Some(what)) = (closing(state), &control.waived) {
        handover.waived.retain(|one| one != what);
    }
}
