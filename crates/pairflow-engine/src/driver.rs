//! The port behind which agents run: how a turn is started, and how a program is started in a pane.
//!
//! The engine mints the token, chooses the log and knows whose turn it is; a driver only knows how to start a program.
//! What the agent says arrives as a command, never through this port.
//!
//! The process of a pane is `pairflow launch FILE`: it reads the file, removes it and becomes the program, so that no
//! secret is in the arguments of a process or in the environment of the tmux server.

mod composer;

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pairflow_core::facts::Seat;
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::rules::{CustomAgent, Permissions};
use pairflow_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::process::{RunningJob, SelfRegistration};
use crate::regular::{create_new, open_own};

pub use composer::{Composer, PaneScreen};

/// Starts agents.
pub trait AgentDriver: Send + Sync {
    /// Starts the process that plays a turn, in the worktree and with exactly the given variables on top of the few
    /// inherited ones.
    fn start(&self, turn: &TurnStart) -> Result<RunningJob, DriverError>;

    /// Describes how an agent is started in a pane, and writes the files that its program will read.
    fn launch(&self, pane: &PaneStart) -> Result<Launch, DriverError>;

    /// Returns why an agent's last turn failed, from the end of its program's record of the conversation; `None` for a
    /// turn that runs or ended well. Codex reports failures nowhere else: it has no hook for them.
    fn trouble(&self, agent: &AgentId, spec: Option<&CustomAgent>, record_end: &str) -> Option<Trouble>;
}

/// A turn to start.
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
    /// The number of the turn in the bubble.
    pub turn: u32,
    /// This agent's turn number, starting at 1.
    pub nth: u32,
    /// Where the agent works.
    pub worktree: PathBuf,
    /// The bubble's `runtime` directory: process records and the state of drivers.
    pub runtime_dir: PathBuf,
    /// The agent's token and the leased ports.
    pub env: Vec<(String, String)>,
    /// The file for the agent's output.
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
    #[error("{agent} has no script; name one with `pairflow bubble start --script FILE`")]
    NoScript {
        /// Which agent.
        agent: AgentId,
    },
}

/// The largest launch file, in bytes: the system limits the arguments and environment of a process, too.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// An agent to start in a pane.
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
    /// Where the bubble's briefs and slices are.
    pub artifacts: PathBuf,
    /// Where the agent writes acceptance tests, in the turn in which it does.
    pub scratch: Option<PathBuf>,
    /// The `PAIRFLOW_*` variables and the leased ports.
    pub env: Vec<(String, String)>,
    /// The environment of the person who started the bubble; the agent gets little of it.
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
    /// A new one, named by this UUID if the program allows.
    Fresh(String),
    /// The earlier one of this name.
    Resume(String),
}

/// How the program of a pane is started, and how its state is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The name of the conversation, if it is known before the program reports it.
    pub session: Option<String>,
    /// Whether the program reports by hooks.
    pub hooks: bool,
    /// Whether the first prompt is an argument; if not, it has to be pasted.
    pub prompted: bool,
    /// The dialogs that the program may wait in.
    pub dialogs: Vec<Dialog>,
    /// What its prompt looks like, if known.
    pub composer: Option<Composer>,
    /// Whether it works in a sandbox, which it leaves with a permission.
    pub sandboxed: bool,
}

/// A dialog that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// What it is about: `trust`, `login`.
    pub name: String,
    /// Texts that are all on the screen while it waits.
    pub marks: Vec<String>,
    /// What the person is told.
    pub advice: String,
}

impl Dialog {
    /// Whether `screen` shows the dialog. Wrapped lines count as one.
    pub fn is_on(&self, screen: &str) -> bool {
        let screen = one_line(screen);
        !self.marks.is_empty() && self.marks.iter().all(|mark| screen.contains(&one_line(mark)))
    }
}

/// Returns the first of `dialogs` that `screen`, the visible part of a pane, shows.
///
/// An agent may print the same text, so a dialog is a reason to ask the person to look, never to press a key.
pub fn dialog_on<'a>(screen: &str, dialogs: &'a [Dialog]) -> Option<&'a Dialog> {
    dialogs.iter().find(|dialog| dialog.is_on(screen))
}

/// Why an agent's turn failed, from its program's record of the conversation.
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
    /// The account has reached a limit.
    Limit,
    /// The account is unknown or unpaid.
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
    /// How the process puts itself on record before it becomes the program; `None` for one that is not supervised.
    pub record: Option<SelfRegistration>,
}

impl LaunchFile {
    /// Writes the file, readable by its owner only. `pairflow launch` removes it: every start needs a new one.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        private_file(path, &serde_json::to_vec(self)?)
    }

    /// Reads the file and removes it, even if it is invalid. A file that others could have written is not touched.
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

/// Replaces a file in one step, with one that only its owner can read.
pub fn private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    // A killed process may have left a file with other permissions.
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
