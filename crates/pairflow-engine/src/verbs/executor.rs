//! Who carries out what a verb has recorded: the supervisor, or this process.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;

use crate::engine::{Bubble, EngineError, sentence};
use crate::perform::{BubbleLock, settle};
use crate::process::Cancel;
use crate::supervisor_client::{Client, NoReply, SupervisorStatus, spawn};

/// How long to wait for a confirmation, beyond what the effect itself may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a supervisor is called that does not answer; each time one is started if there is none.
const CALLS: u32 = 3;

/// Who carries out what a verb asks for.
#[derive(Debug, Clone)]
pub enum Executor {
    /// The supervisor; if there is none, this program is started as one.
    Supervisor(PathBuf),
    /// This process itself.
    Own,
}

impl Executor {
    /// Makes sure that the bubble is looked at.
    pub fn wake(&self, bubble: &Bubble) -> Result<(), EngineError> {
        self.call(bubble, |client| client.wake(bubble))
    }

    /// Makes sure that the bubble is looked at, with its agents started in this process's environment from now on.
    ///
    /// For verbs that start agents. Others may be typed in a shell that has nothing to do with the work.
    pub fn wake_with_environment(&self, bubble: &Bubble) -> Result<(), EngineError> {
        self.call(bubble, |client| client.wake_with_environment(bubble))
    }

    /// Tells a running supervisor in which environment to start agents, before the fact that starts them is recorded: it
    /// sees the record at once.
    pub fn announce(&self, bubble: &Bubble) {
        if matches!(self, Self::Supervisor(_)) {
            // A new one is started in this environment.
            let _ = Client::new(&bubble.engine).wake_with_environment(bubble);
        }
    }

    fn call(
        &self,
        bubble: &Bubble,
        wake: impl Fn(&Client<'_>) -> Result<SupervisorStatus, NoReply>,
    ) -> Result<(), EngineError> {
        match self {
            Self::Supervisor(program) => {
                let engine = &bubble.engine;
                for _ in 0..CALLS {
                    spawn(engine, program).map_err(|error| recorded(bubble, error))?;
                    match wake(&Client::new(engine)) {
                        Ok(_) => return Ok(()),
                        Err(NoReply::Refused(sentence)) => return Err(EngineError::Effect(sentence)),
                        // It is ending, or ended between the two calls; the next one replaces it.
                        Err(NoReply::Absent | NoReply::Silent) => {}
                    }
                }
                Err(recorded_but(bubble, "the supervisor does not answer"))
            }
            Self::Own => {
                // A process that holds the lock sees what was recorded.
                let Some(_lock) = BubbleLock::take(bubble, Duration::ZERO)? else { return Ok(()) };
                let cancel = Cancel::new().map_err(|error| EngineError::io("cannot create a pipe", error))?;
                settle(bubble, &cancel).map(drop)
            }
        }
    }

    /// Has what is owed carried out, and waits until `done` returns a result.
    pub fn carry_out<T>(
        &self,
        bubble: &Bubble,
        extra: Duration,
        mut done: impl FnMut(&BubbleState) -> Option<T>,
    ) -> Result<T, EngineError> {
        self.wake(bubble)?;
        let result = wait_until(bubble, PATIENCE + extra, &mut done)?;
        result.ok_or_else(|| {
            let id = &bubble.id;
            EngineError::Effect(format!("it still runs in the background; see 'pairflow status {id}'"))
        })
    }
}

/// Adds that the command is recorded although no supervisor could be started.
fn recorded(bubble: &Bubble, error: EngineError) -> EngineError {
    match error {
        EngineError::Io { .. } => recorded_but(bubble, &sentence(&error)),
        other => other,
    }
}

fn recorded_but(bubble: &Bubble, why: &str) -> EngineError {
    EngineError::Effect(format!(
        "the command is recorded in bubble {}, but not carried out: {why}; go on with 'pairflow supervise --once'",
        bubble.id
    ))
}

/// Waits until `done` returns a result for the bubble's state; returns `None` after `patience`.
fn wait_until<T>(
    bubble: &Bubble,
    patience: Duration,
    mut done: impl FnMut(&BubbleState) -> Option<T>,
) -> Result<Option<T>, EngineError> {
    let until = Instant::now() + patience;
    loop {
        let seen = bubble.load()?;
        if done(&seen.state).is_some()
            && let Some(result) = done(&bubble.settled()?.state)
        {
            return Ok(Some(result));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        bubble.log().wait_past(&seen.head, Duration::from_millis(5));
    }
}
