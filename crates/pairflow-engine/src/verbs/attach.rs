//! Where a person can watch the agents of a bubble at work.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use pairflow_core::rules::DriverKind;
use pairflow_core::unit::{Phase, Unit};

use crate::engine::{Bubble, EngineError};
use crate::stage::{session_name, tmux_socket};
use crate::tmux::Tmux;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

impl Bubble {
    /// Insists that the bubble is one with a session.
    pub fn has_panes(&self, unit: &Unit) -> Result<(), EngineError> {
        let id = &self.id;
        if unit.rules.driver != DriverKind::Tmux {
            let driver = unit.rules.driver.name();
            return Err(EngineError::BadInput(format!("bubble {id} has no panes: its driver is {driver}")));
        }
        let state = unit.phase.name();
        if unit.phase.is_final() {
            return Err(EngineError::BadInput(format!("bubble {id} is {state}; its session was closed")));
        }
        if matches!(unit.phase, Phase::Created) {
            return Err(EngineError::BadInput(format!("bubble {id} is {state}; its session begins with its start")));
        }
        Ok(())
    }

    /// Returns the words of the command that shows the bubble's session, if that is there now. Needs no tmux itself.
    pub fn session(&self, unit: &Unit) -> Result<Vec<OsString>, EngineError> {
        self.has_panes(unit)?;
        let (tmux, name) = self.terminal();
        if tmux.is_there() { Ok(tmux.attach_argv(&name)) } else { Err(self.no_session()) }
    }

    /// Returns the words of the command that shows the bubble's session, once it is there.
    ///
    /// Fails for bubbles without a session, and when none appears within `patience`.
    pub fn attachable(&self, unit: &Unit, patience: Duration) -> Result<Vec<OsString>, EngineError> {
        self.has_panes(unit)?;
        let (tmux, name) = self.terminal();
        let until = Instant::now() + patience;
        loop {
            let there = tmux.has_session(&name);
            if there.map_err(|error| EngineError::Effect(error.to_string()))? {
                return Ok(tmux.attach_argv(&name));
            }
            if Instant::now() >= until {
                return Err(self.no_session());
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn terminal(&self) -> (Tmux, String) {
        let tmux = Tmux::new(tmux_socket(&self.control, &self.id), crate::process::environment());
        (tmux, session_name(self.control.repo(), &self.id))
    }

    fn no_session(&self) -> EngineError {
        EngineError::BadInput(format!("bubble {} has no session now", self.id))
    }
}
