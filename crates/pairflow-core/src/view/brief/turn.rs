//! The brief of the present turn.

use crate::bubble::{BubbleState, Stage};
use crate::facts::Seat;
use crate::view::brief::{BriefMaterial, implementer, judge, reviewer};

/// Returns the brief of the present turn; nothing while no agent has the turn or is about to have it.
pub fn brief(state: &BubbleState, material: &BriefMaterial) -> Option<String> {
    let turn = state.phase.turn().filter(|turn| matches!(turn.stage, Stage::Opening | Stage::Open))?;
    Some(match turn.seat {
        Seat::Implementer => implementer::brief(state, turn),
        Seat::Reviewer => reviewer::brief(state, turn, material),
        Seat::Judge => judge::brief(state, turn),
    })
}
