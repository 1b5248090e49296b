//! Whose hands carry out what is owed: the supervisor's, or in its absence our own.

use std::path::PathBuf;
use std::time::Duration;

use pairflow_core::unit::Unit;

use crate::engine::{Bubble, EngineError};
use crate::perform::settle;
use crate::process::Cancel;
use crate::supervise::{Client, spawn, wait_until};

/// How long a confirmation is waited for beyond what the effect itself may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who carries out what a verb asks for.
#[derive(Debug, Clone)]
pub enum Hands {
    /// The supervisor; this program is started as one when none is there.
    Supervisor(PathBuf),
    /// This process itself.
    Own,
}

impl Hands {
    /// Makes sure that someone looks at the bubble.
    pub fn wake(&self, bubble: &Bubble) -> Result<(), EngineError> {
        match self {
            Self::Supervisor(program) => {
                spawn(&bubble.engine.dirs, program)?;
                Client::new(&bubble.engine.dirs).wake(bubble);
                Ok(())
            }
            Self::Own => {
                let cancel = Cancel::new().map_err(|error| EngineError::world("cannot make a pipe", error))?;
                settle(bubble, &cancel).map(drop)
            }
        }
    }

    /// Has what is owed carried out, and waits until `done` says what came of it.
    pub fn carry_out<T>(
        &self,
        bubble: &Bubble,
        extra: Duration,
        mut done: impl FnMut(&Unit) -> Option<T>,
    ) -> Result<T, EngineError> {
        self.wake(bubble)?;
        let result = wait_until(bubble, PATIENCE + extra, &mut done)?;
        result.ok_or_else(|| {
            let id = &bubble.id;
            EngineError::Effect(format!("it is still going on in the background; look again with 'pairflow status {id}'"))
        })
    }
}
