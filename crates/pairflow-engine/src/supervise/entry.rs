//! One bubble in the supervisor's care.

use std::path::PathBuf;
use std::time::Instant;

use pairflow_core::time::Moment;

use crate::engine::Bubble;
use crate::process::Cancel;

/// A bubble, and what the supervisor is doing for it.
pub(super) struct Entry {
    /// Which bubble.
    pub bubble: std::sync::Arc<Bubble>,
    /// Ends the work that is going on for it.
    pub working: Option<Cancel>,
    /// Whether something happened since the work began.
    pub again: bool,
    /// Whether its silence has to be looked at.
    pub tick: bool,
    /// When the agent will have been silent for too long.
    pub deadline: Option<Instant>,
    /// The agent that plays the present turn.
    pub agent: Option<Playing>,
}

/// An agent's process.
pub(super) struct Playing {
    /// For which turn it was started.
    pub turn: u32,
    /// When the agent had last been heard of by then.
    pub heard: Moment,
    /// Ends it.
    pub cancel: Cancel,
    /// Whether it was ended on purpose.
    pub ended: bool,
}

impl Entry {
    /// Takes a bubble into care.
    pub(super) fn new(bubble: Bubble) -> Self {
        Self {
            bubble: std::sync::Arc::new(bubble),
            working: None,
            again: false,
            tick: false,
            deadline: None,
            agent: None,
        }
    }

    /// Returns the bubble's directory, which names it among all bubbles of all repositories.
    pub(super) fn key(&self) -> PathBuf {
        self.bubble.dir()
    }

    /// Ends the agent's process, if there is one.
    pub(super) fn end_agent(&mut self) {
        if let Some(playing) = &mut self.agent {
            playing.ended = true;
            playing.cancel.cancel();
        }
    }
}
