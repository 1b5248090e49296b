//! The brief of the present turn.

use crate::bubble::{Stage, Unit};
use crate::facts::Seat;
use crate::view::brief::{BriefMaterial, critic, judge, producer};

/// Returns the brief of the present turn; nothing while no agent has the turn or is about to have it.
pub fn brief(unit: &Unit, material: &BriefMaterial) -> Option<String> {
    let turn = unit.phase.turn().filter(|turn| matches!(turn.stage, Stage::Opening | Stage::Open))?;
    Some(match turn.seat {
        Seat::Producer => producer::brief(unit, turn),
        Seat::Critic => critic::brief(unit, turn, material),
        Seat::Judge => judge::brief(unit, turn),
    })
}
