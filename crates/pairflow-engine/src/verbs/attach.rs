//! Where a person can watch the agents of a bubble at work.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;

use crate::engine::{Bubble, EngineError};
use crate::tmux::Tmux;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

impl Bubble {
    /// Returns the words of the command that shows the bubble's session, if that is there now. Needs no tmux itself.
    pub fn session(&self, state: &BubbleState) -> Result<Vec<OsString>, EngineError> {
        state.has_panes()?;
        let (tmux, name) = self.terminal();
        if tmux.is_there() { Ok(tmux.attach_argv(&name)) } else { Err(state.no_session().into()) }
    }

    /// Returns the words of the command that shows the bubble's session, once it is there.
    ///
    /// Fails for bubbles without a session, and when none appears within `patience`.
    pub fn attachable(&self, state: &BubbleState, patience: Duration) -> Result<Vec<OsString>, EngineError> {
        state.has_panes()?;
        let (tmux, name) = self.terminal();
        let until = Instant::now() + patience;
        loop {
            let there = tmux.has_session(&name);
            if there.map_err(|error| EngineError::Effect(error.to_string()))? {
                return Ok(tmux.attach_argv(&name));
            }
            if Instant::now() >= until {
                return Err(state.no_session().into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn terminal(&self) -> (Tmux, String) {
        let tmux = Tmux::new(self.control.tmux_socket(&self.id), crate::process::environment());
        (tmux, self.control.session_name(&self.id))
    }
}
