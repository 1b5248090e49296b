//! The repair of a damaged log. A bubble that has lost lines by it goes on only when a person says so.

use pairflow_core::bubble::take_up;

use crate::engine::{Bubble, EngineError};
use crate::store::Salvage;

/// What became of a bubble whose log was repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOutcome {
    /// What was kept, and what was given up.
    pub salvage: Salvage,
    /// Whether it was paused: it has fallen back behind what people saw of it last, so they decide.
    pub paused: bool,
}

impl Bubble {
    /// Repairs the log. If lines were given up, the bubble is taken over anew: what was checked, reviewed and approved
    /// may have been withdrawn in the lines that are lost.
    ///
    /// A log that is not this user's stays foreign.
    pub fn repair(&self) -> Result<RepairOutcome, EngineError> {
        // One that cannot be judged for its damage may well be this user's.
        let foreign = matches!(self.log().foreign(), Ok(Some(_)));
        let salvage = self.log().repair()?;
        let fell_back = salvage.damage.is_some() && salvage.envelopes > 0;
        if !fell_back || foreign {
            return Ok(RepairOutcome { salvage, paused: false });
        }
        let here = self.control.repo().display().to_string();
        let reason = "the log was repaired, and lines of it were given up".to_owned();
        let taken = self.log().readopt(|state| take_up(state, here, reason), self.engine.clock.now())?;
        Ok(RepairOutcome { salvage, paused: taken.is_some_and(|locked| locked.into_loaded().state.paused) })
    }
}
