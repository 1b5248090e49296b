//! The brief of whoever has the turn, as a file of the bubble. It is derived: whatever changes the turn writes it again.

use pairflow_core::unit::Unit;
use pairflow_core::view::brief::brief;

use crate::engine::{Bubble, EngineError};

impl Bubble {
    /// Writes the brief of the present turn; nothing while no agent has one.
    pub(crate) fn write_brief(&self, unit: &Unit) -> Result<(), EngineError> {
        if let (Some(text), Some(turn)) = (brief(unit), unit.phase.turn()) {
            self.log.project_artifact(&format!("brief-{}.md", turn.agent), text.as_bytes())?;
        }
        Ok(())
    }
}
