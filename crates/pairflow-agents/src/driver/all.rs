//! Every way to run an agent behind one door, for a supervisor that looks after all kinds of bubbles.

use std::path::PathBuf;

use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;
use pairflow_engine::driver::{AgentDriver, DriverError, Launch, SeatStart, Started, Trouble, TurnStart};

use super::{PaneDriver, ScriptDriver};

/// Starts turns of scripted agents, and knows how agents are started in panes.
#[derive(Debug, Clone)]
pub struct Drivers {
    script: ScriptDriver,
    pane: PaneDriver,
}

impl Drivers {
    /// Uses `program` as the pairflow binary.
    pub fn new(program: PathBuf) -> Self {
        Self { script: ScriptDriver { program }, pane: PaneDriver }
    }
}

impl AgentDriver for Drivers {
    fn start(&self, turn: &TurnStart) -> Result<Started, DriverError> {
        self.script.start(turn)
    }

    fn launch(&self, seat: &SeatStart) -> Result<Launch, DriverError> {
        self.pane.launch(seat)
    }

    fn trouble(&self, agent: &AgentId, spec: Option<&CustomAgent>, record_end: &str) -> Option<Trouble> {
        self.pane.trouble(agent, spec, record_end)
    }
}
