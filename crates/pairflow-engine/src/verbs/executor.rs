//! Whose hands carry out what is owed: the supervisor's, or in its absence our own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;

use crate::engine::{Bubble, EngineError, sentence};
use crate::perform::{BubbleLock, settle};
use crate::process::Cancel;
use crate::supervisor_client::{Client, NoReply, SupervisorStatus, spawn};

/// How long a confirmation is waited for beyond what the effect itself may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a supervisor is called that does not answer; each time one is started if none is there.
const CALLS: u32 = 3;

/// Who carries out what a verb asks for.
#[derive(Debug, Clone)]
pub enum Executor {
    /// The supervisor; this program is started as one when none is there.
    Supervisor(PathBuf),
    /// This process itself.
    Own,
}

impl Executor {
    /// Makes sure that someone looks at the bubble.
    pub fn wake(&self, bubble: &Bubble) -> Result<(), EngineError> {
        self.call(bubble, |client| client.wake(bubble))
    }

    /// Makes sure that someone looks at the bubble, and starts its agents in this process's environment from here on.
    ///
    /// For the verbs that start agents. Any other may be typed in a shell that has nothing to do with the work.
    pub fn wake_with_environment(&self, bubble: &Bubble) -> Result<(), EngineError> {
        self.call(bubble, |client| client.wake_with_environment(bubble))
    }

    /// Tells a supervisor that is there already in which environment to start agents from here on: before that is
    /// recorded by which it starts them, because it sees the record as soon as it is written.
    pub fn announce(&self, bubble: &Bubble) {
        if matches!(self, Self::Supervisor(_)) {
            // One that is not there yet is started in this environment.
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
                        // It is ending, or ended between the two calls; the next one takes its place.
                        Err(NoReply::Absent | NoReply::Silent) => {}
                    }
                }
                Err(recorded_but(bubble, "the supervisor does not answer"))
            }
            Self::Own => {
                // The process that has it in care sees what was recorded.
                let Some(_lock) = BubbleLock::take(bubble, Duration::ZERO)? else { return Ok(()) };
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
        mut done: impl FnMut(&BubbleState) -> Option<T>,
    ) -> Result<T, EngineError> {
        self.wake(bubble)?;
        let result = wait_until(bubble, PATIENCE + extra, &mut done)?;
        result.ok_or_else(|| {
            let id = &bubble.id;
            EngineError::Effect(format!(
                "it is still going on in the background; look again with 'pairflow status {id}'"
            ))
        })
    }
}

/// Says that a command is recorded although no supervisor could be started to carry it out.
fn recorded(bubble: &Bubble, error: EngineError) -> EngineError {
    match error {
        EngineError::World { .. } => recorded_but(bubble, &sentence(&error)),
        other => other,
    }
}

fn recorded_but(bubble: &Bubble, why: &str) -> EngineError {
    EngineError::Effect(format!(
        "what was asked of bubble {} is recorded, but not carried out: {why}; go on with 'pairflow supervise --once'",
        bubble.id
    ))
}

/// Waits until `done` says something about the bubble's state; returns nothing when the time is up.
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
