//! How the supervisor talks to a stage.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use pairflow_core::ids::AgentId;

use super::activity::Activity;
use super::play::Play;
use crate::driver::AgentDriver;
use crate::engine::{Bubble, EngineError};
use crate::seat::SeatCall;

/// What reaches a stage.
pub(super) enum Cue {
    /// The log has changed.
    Look,
    /// The environment of the person who works with the bubble.
    Person(Vec<(String, String)>),
    /// A hook of an agent.
    Call(Box<SeatCall>),
    /// The process of an agent is gone.
    Gone(AgentId, i32),
    /// The supervisor ends; the panes stay.
    Leave,
}

/// What a stage is made of.
pub(crate) struct Props {
    /// The bubble.
    pub bubble: Arc<Bubble>,
    /// How agents are started.
    pub driver: Arc<dyn AgentDriver>,
    /// The pairflow program.
    pub program: PathBuf,
    /// Where it tells what it does.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// Where signs of life are noted.
    pub activity: Activity,
}

/// A bubble's session in the care of this process.
pub(crate) struct Stage {
    cues: Sender<Cue>,
    thread: JoinHandle<()>,
}

impl Stage {
    /// Begins to look after the session of a bubble.
    pub(crate) fn begin(props: Props) -> Result<Self, EngineError> {
        let (cues, heard) = channel();
        let own = cues.clone();
        let play = move || Play::new(props, own).run(&heard);
        let thread = std::thread::Builder::new().name("stage".to_owned()).spawn(play);
        let thread = thread.map_err(|error| EngineError::world("cannot look after a session", error))?;
        Ok(Self { cues, thread })
    }

    /// Tells it that the log has changed. A stage that has ended needs no telling.
    pub(crate) fn look(&self) {
        let _ = self.cues.send(Cue::Look);
    }

    /// Tells it in which environment agents are to be started from here on.
    pub(crate) fn person(&self, env: Vec<(String, String)>) {
        let _ = self.cues.send(Cue::Person(env));
    }

    /// Ends it, leaves the panes as they are, and returns how to wait for its end.
    pub(crate) fn leave(self) -> JoinHandle<()> {
        let _ = self.cues.send(Cue::Leave);
        self.thread
    }
}
