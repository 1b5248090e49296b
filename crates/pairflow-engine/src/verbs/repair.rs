//! The repair of a damaged log. A bubble that has lost lines by it goes on only when a person says so.

use pairflow_core::unit::Command;

use crate::engine::{Bubble, EngineError};
use crate::store::Salvage;

/// What became of a bubble whose log was repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// What was kept, and what was given up.
    pub salvage: Salvage,
    /// Whether it was paused: it has fallen back behind what people saw of it last, so they decide.
    pub paused: bool,
}

impl Bubble {
    /// Repairs the log, and pauses the bubble if lines were given up and its agents would go on.
    pub fn repair(&self) -> Result<Mended, EngineError> {
        let salvage = self.log().repair()?;
        let fell_back = salvage.lost > 0 && salvage.envelopes > 0;
        let reason = "the log was repaired, and lines of it were given up".to_owned();
        let paused = fell_back
            && match self.apply(&Command::Pause { reason }) {
                Ok(_) => true,
                // Nobody is at work there, or it is paused already.
                Err(EngineError::Refused { .. }) => false,
                Err(error) => return Err(error),
            };
        Ok(Mended { salvage, paused })
    }
}
