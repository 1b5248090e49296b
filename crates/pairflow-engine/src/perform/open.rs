//! A turn opens: its holder's files are written, and the tree is still the one that was recorded.

use pairflow_core::bubble::{BubbleState, Command, found_author};

use super::{observe, project, snapshot};
use crate::engine::{Bubble, EngineError};

/// Opens the turn, or finds that someone has changed files since the newest snapshot.
pub(super) fn perform(bubble: &Bubble, state: &BubbleState, turn: u32) -> Result<Command, EngineError> {
    let seen = observe::seen(bubble, state)?;
    if state.tree() != Some(&seen.tree) {
        return snapshot::perform(bubble, state, found_author(state, &seen.tree), state.evidence.snapshots + 1);
    }
    let slices = project::write_projections(bubble, state)?;
    Ok(Command::TurnReady { turn, slices })
}
