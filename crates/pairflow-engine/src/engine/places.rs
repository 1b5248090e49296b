//! Where things lie: the repository's control directory, and the user's own directories.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;
use pairflow_core::unit::Unit;

use crate::store::LogFiles;

/// The control directory of a repository, `.pairflow/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    root: PathBuf,
}

impl Control {
    /// Names the control directory of the repository at `root`.
    pub fn of(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the repository's root.
    pub fn repo(&self) -> &Path {
        &self.root
    }

    /// Returns `.pairflow/`.
    pub fn dir(&self) -> PathBuf {
        self.root.join(".pairflow")
    }

    /// Returns `.pairflow/bubbles/`.
    pub fn bubbles(&self) -> PathBuf {
        self.dir().join("bubbles")
    }

    /// Returns `.pairflow/locks/`.
    pub fn locks(&self) -> PathBuf {
        self.dir().join("locks")
    }

    /// Returns the files of one bubble.
    pub fn files(&self, id: &BubbleId) -> LogFiles {
        LogFiles::of::<Unit>(&self.dir(), id)
    }

    /// Returns the directory for sockets, process records and logs of one bubble's agents.
    pub fn runtime(&self, id: &BubbleId) -> PathBuf {
        self.dir().join("runtime").join(id.as_str())
    }
}

/// The directories of the user who runs pairflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDirs {
    /// Lock and socket of the supervisor.
    pub runtime: PathBuf,
    /// What outlives a restart of the machine: the user's key and bubbles, leased ports, the supervisor's log.
    pub state: PathBuf,
    /// The user's own configuration.
    pub config: PathBuf,
}

impl UserDirs {
    /// Finds the directories by the environment: `XDG_RUNTIME_DIR`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME`, `HOME`.
    ///
    /// Returns nothing when there is neither a home nor all three of the others.
    pub fn find(var: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let dir = |name: &str| var(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let home = dir("HOME");
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        let state = dir("XDG_STATE_HOME").or_else(|| below(".local/state"))?.join("pairflow");
        let config = dir("XDG_CONFIG_HOME").or_else(|| below(".config"))?.join("pairflow").join("config.toml");
        let runtime = dir("XDG_RUNTIME_DIR").map_or_else(|| state.join("run"), |dir| dir.join("pairflow"));
        Some(Self { runtime, state, config })
    }
}
