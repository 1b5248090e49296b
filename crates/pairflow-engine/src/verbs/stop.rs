//! A bubble is ended for good, and everything that runs for it with it.

use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command};

use super::Hands;
use crate::engine::{Bubble, EngineError};

/// How long the bubble's processes are waited for. One that does not listen is killed after a second and may take two
/// more; agents, checks and the terminal are ended one after the other.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

impl Bubble {
    /// Cancels the bubble and returns once its processes have ended. Nothing of the work is deleted.
    pub fn stop(&self, reason: String, hands: &Hands) -> Result<BubbleState, EngineError> {
        let applied = self.apply(&Command::Stop { reason })?;
        hands.wake(self)?;
        self.wait_for_end(PATIENCE);
        Ok(applied.state)
    }
}
