//! How the engine has a turn played: the port behind which agents are run.
//!
//! The engine mints the token, chooses the log and says whose turn it is; a driver only knows how to start something
//! that acts on it. What the agent then says arrives as a command, never through this door.

mod composer;
mod pane;

use std::path::PathBuf;

use pairflow_core::facts::Seat;
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::rules::CustomAgent;

use crate::process::RunningJob;

pub use composer::{Composer, Screen};
pub use pane::{Dialog, Launch, LaunchFile, SeatStart, Session, Trouble, TroubleKind, dialog_on, private_file};

/// Starts agents.
pub trait AgentDriver: Send + Sync {
    /// Has the agent of `turn` start, in the worktree and with exactly the given variables on top of the inherited few.
    fn start(&self, turn: &TurnStart) -> Result<Started, DriverError>;

    /// Says how the agent of a seat is started in a pane, and writes the files that its program will read.
    fn launch(&self, seat: &SeatStart) -> Result<Launch, DriverError> {
        Err(DriverError::Start { agent: seat.agent.clone(), why: "its driver does not run agents in panes".to_owned() })
    }

    /// Says why the last turn of an agent failed, out of the end of its program's own record of the conversation. A
    /// turn that runs, or that ended well, is no trouble. Codex reports failures nowhere else: it has no hook for them.
    fn trouble(&self, _agent: &AgentId, _spec: Option<&CustomAgent>, _record_end: &str) -> Option<Trouble> {
        None
    }
}

/// A turn that an agent is to play.
#[derive(Debug, Clone)]
pub struct TurnStart {
    /// Which bubble.
    pub bubble_id: BubbleId,
    /// The repository's root.
    pub repo: PathBuf,
    /// Which agent.
    pub agent: AgentId,
    /// Which seat it holds in this turn.
    pub seat: Seat,
    /// The number of the turn, counted over the whole life of the bubble.
    pub turn: u32,
    /// Which of this agent's own turns it is, starting with 1.
    pub nth: u32,
    /// Where the agent works.
    pub worktree: PathBuf,
    /// The bubble's `runtime` directory: process records and the state of drivers.
    pub runtime_dir: PathBuf,
    /// What the agent needs to prove itself, and the leased ports.
    pub env: Vec<(String, String)>,
    /// The file that gets what the agent prints.
    pub log: PathBuf,
    /// The script, for scripted agents.
    pub script: Option<PathBuf>,
}

impl TurnStart {
    /// Returns the directory in which the bubble's process groups are recorded.
    pub fn registry(&self) -> PathBuf {
        self.runtime_dir.join("processes")
    }
}

/// What became of a start.
#[derive(Debug)]
pub enum Started {
    /// A process group plays the turn.
    Runs(RunningJob),
    /// Nothing was started; the agent joins by itself.
    Joins,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The process could not be started.
    #[error("cannot start {agent}: {why}")]
    Start {
        /// Which agent.
        agent: AgentId,
        /// Why, as a sentence.
        why: String,
    },
    /// The bubble has no script.
    #[error("no script says what {agent} does; name one with `pairflow bubble start --script FILE`")]
    NoScript {
        /// Which agent.
        agent: AgentId,
    },
}
