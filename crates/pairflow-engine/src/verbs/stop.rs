//! A bubble is ended for good, and everything that runs for it with it.

use std::time::{Duration, Instant};

use pairflow_core::unit::{Command, Unit};

use super::Hands;
use crate::engine::{Bubble, EngineError};
use crate::process::records;

/// How long the bubble's processes are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

impl Bubble {
    /// Cancels the bubble and returns once its processes have ended. Nothing of the work is deleted.
    pub fn stop(&self, reason: String, hands: &Hands) -> Result<Unit, EngineError> {
        let applied = self.apply(&Command::Stop { reason })?;
        hands.wake(self)?;
        let registry = self.control.runtime(&self.id).join("processes");
        let until = Instant::now() + PATIENCE;
        // Records that cannot be read name nobody who could be waited for.
        while records(&registry).is_ok_and(|left| !left.is_empty()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(applied.unit)
    }
}
