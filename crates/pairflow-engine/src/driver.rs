//! How the engine has a turn played: the port behind which agents are run.
//!
//! The engine mints the token, chooses the log and says whose turn it is; a driver only knows how to start something
//! that acts on it. What the agent then says arrives as a command, never through this door.

mod composer;

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pairflow_core::facts::Seat;
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::rules::{CustomAgent, Permissions};
use pairflow_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::process::{Enrolment, Running};
use crate::regular::{create_new, open_own};

pub use composer::{Composer, PaneScreen};

/// Starts agents.
pub trait AgentDriver: Send + Sync {
    /// Has the agent of `turn` start, in the worktree and with exactly the given variables on top of the inherited few.
    fn start(&self, turn: &TurnStart) -> Result<StartedAgent, DriverError>;

    /// Says how the agent of a seat is started in a pane, and writes the files that its program will read.
    fn launch(&self, seat: &PaneStart) -> Result<Launch, DriverError> {
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
pub enum StartedAgent {
    /// A process group plays the turn.
    Runs(Running),
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

/// A launch file is never larger than this: arguments and environment of a process have a limit of their own.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// A seat whose agent is to be started in a pane.
#[derive(Debug, Clone)]
pub struct PaneStart {
    /// Which bubble.
    pub bubble_id: BubbleId,
    /// The repository's root.
    pub repo: PathBuf,
    /// Which agent.
    pub agent: AgentId,
    /// Which seat it holds.
    pub seat: Seat,
    /// Where the agent works.
    pub worktree: PathBuf,
    /// The bubble's `runtime` directory.
    pub runtime_dir: PathBuf,
    /// Where the bubble's briefs and slices are, which the agent is told to read.
    pub artifacts: PathBuf,
    /// What pairflow tells the agent: the `PAIRFLOW_*` variables and the leased ports.
    pub env: Vec<(String, String)>,
    /// The environment of the person who started the bubble; little of it is handed on.
    pub person: Vec<(String, String)>,
    /// Which conversation.
    pub session: Session,
    /// The first prompt; empty for none.
    pub prompt: String,
    /// What the agent may do without asking.
    pub permissions: Permissions,
    /// The commands of the bubble's checks, which the agent may run without asking.
    pub allowed: Vec<String>,
    /// The pairflow binary.
    pub program: PathBuf,
    /// What `[agent.NAME]` of the configuration says about this agent.
    pub spec: Option<CustomAgent>,
}

/// Which conversation an agent is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// A new one; this UUID becomes its name if the program lets us choose.
    Fresh(String),
    /// The earlier one of this name.
    Resume(String),
}

/// How the program of a pane is started, and how to know how it fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The name of the conversation, if it is known before the program says it.
    pub session: Option<String>,
    /// Whether the program reports by hooks.
    pub hooks: bool,
    /// Whether the first prompt is part of the arguments; if not, it has to be pasted.
    pub prompted: bool,
    /// The dialogs that the program may wait in.
    pub dialogs: Vec<Dialog>,
    /// How its screen shows that a prompt may be typed; nothing if that is not known.
    pub composer: Option<Composer>,
    /// Whether it works in a sandbox of its own, which it leaves with a permission.
    pub sandboxed: bool,
}

/// A dialog that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// What it is about: `trust`, `login`.
    pub name: String,
    /// The texts that are all on the screen while it waits.
    pub marks: Vec<String>,
    /// What the person is told.
    pub advice: String,
}

impl Dialog {
    /// Whether `screen` shows the dialog. Lines that a narrow pane has wrapped count as one.
    pub fn is_on(&self, screen: &str) -> bool {
        let screen = one_line(screen);
        !self.marks.is_empty() && self.marks.iter().all(|mark| screen.contains(&one_line(mark)))
    }
}

/// Returns the first of `dialogs` that `screen`, the visible part of a pane, shows.
///
/// What an agent prints can contain the same words: a dialog that is found is a reason to ask the person to look, never
/// a reason to press a key.
pub fn dialog_on<'a>(screen: &str, dialogs: &'a [Dialog]) -> Option<&'a Dialog> {
    dialogs.iter().find(|dialog| dialog.is_on(screen))
}

/// Why an agent's turn ended without its doing, as its program noted it in its own record of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What it is about.
    pub kind: TroubleKind,
    /// When it is over, if the program was told.
    pub until: Option<Timestamp>,
    /// What the program says about it.
    pub text: String,
}

/// What a trouble is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// The account is used up for a while.
    Limit,
    /// The account is not known, or has to be paid for.
    Account,
    /// The model could not be reached, or did not answer.
    Model,
}

/// What `pairflow launch` reads: the part of a launch that makes a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFile {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// How the process puts itself on record before it becomes the program; nothing for one that nobody looks after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Enrolment>,
}

impl LaunchFile {
    /// Writes the file so that only its owner can read it. `pairflow launch` removes it: every start needs a new one.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        private_file(path, &serde_json::to_vec(self)?)
    }

    /// Reads the file and removes it, also when it makes no sense. One that others could have written is not touched.
    pub fn take(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let file = open_own(path)?;
        if file.metadata()?.mode() & 0o7777 != 0o600 {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "it is not a private file of this user"));
        }
        let read = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
        std::fs::remove_file(path)?;
        read?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

impl From<&Launch> for LaunchFile {
    fn from(launch: &Launch) -> Self {
        Self { argv: launch.argv.clone(), env: launch.env.clone(), cwd: launch.cwd.clone(), record: None }
    }
}

/// Puts a file into place that only its owner can read; a reader sees the old one or the new one.
pub fn private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    // What a killed process left under this name may have other rights.
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_new(&beside, 0o600)?;
    file.write_all(bytes)?;
    std::fs::rename(&beside, path)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
