//! A turn opens: its holder's files are written, and the tree is still the one that was recorded.

use pairflow_core::bubble::{Command, Unit, found_author};

use super::{observe, project, snapshot};
use crate::engine::{Bubble, EngineError};

/// Opens the turn, or finds that someone has changed files since the newest snapshot.
pub(super) fn perform(bubble: &Bubble, unit: &Unit, turn: u32) -> Result<Command, EngineError> {
    let seen = observe::seen(bubble, unit)?;
    if unit.tree() != Some(&seen.tree) {
        return snapshot::perform(bubble, unit, found_author(unit, &seen.tree), unit.evidence.snapshots + 1);
    }
    let slices = project::write_projections(bubble, unit)?;
    Ok(Command::TurnReady { turn, slices })
}
