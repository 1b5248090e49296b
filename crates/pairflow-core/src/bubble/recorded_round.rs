//! To which round a tree belongs that is about to be recorded.

use crate::bubble::{BubbleState, Stage};

impl BubbleState {
    /// Returns the round whose work a snapshot taken now records: that of the hand-over that is being closed, else the present one.
    pub fn recorded_round(&self) -> u32 {
        match self.phase.turn().map(|turn| &turn.stage) {
            Some(Stage::Closing(handover)) => handover.round,
            _ => self.rounds.round,
        }
    }
}
