//! Where a person can watch the agents of a bubble at work.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use pairflow_core::rules::DriverKind;
use pairflow_core::unit::Unit;

use crate::engine::{Bubble, EngineError};
use crate::stage::{session_name, tmux_socket};
use crate::tmux::Tmux;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

impl Bubble {
    /// Returns the words of the command that shows the bubble's session, once it is there.
    ///
    /// Fails for bubbles without a session, and when none appears within `patience`.
    pub fn attachable(&self, unit: &Unit, patience: Duration) -> Result<Vec<OsString>, EngineError> {
        let id = &self.id;
        if unit.rules.driver != DriverKind::Tmux {
            let driver = unit.rules.driver.name();
            return Err(EngineError::BadInput(format!("bubble {id} has no panes: its driver is {driver}")));
        }
        if unit.phase.is_final() {
            let state = unit.phase.name();
            return Err(EngineError::BadInput(format!("bubble {id} is {state}; its session was closed")));
        }
        let tmux = Tmux::new(tmux_socket(&self.control, id), std::env::vars());
        let name = session_name(self.control.repo(), id);
        let until = Instant::now() + patience;
        loop {
            let there = tmux.has_session(&name);
            if there.map_err(|error| EngineError::Effect(error.to_string()))? {
                return Ok(tmux.attach_argv(&name));
            }
            if Instant::now() >= until {
                return Err(EngineError::BadInput(format!("bubble {id} has no session now")));
            }
            std::thread::sleep(PAUSE);
        }
    }
}
