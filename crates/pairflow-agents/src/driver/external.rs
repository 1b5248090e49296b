//! The driver for agents that join by themselves, with what `pairflow bubble env` prints.

use pairflow_engine::driver::{AgentDriver, DriverError, Started, TurnStart};

/// Starts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExternalDriver;

impl AgentDriver for ExternalDriver {
    fn start(&self, _turn: &TurnStart) -> Result<Started, DriverError> {
        Ok(Started::Joins)
    }
}
