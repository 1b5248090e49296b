//! Paths: the repository's control directory, and the user's own directories.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pairflow_core::bubble::BubbleState;
use pairflow_core::hash::sha256;
use pairflow_core::ids::{AgentId, BubbleId};

use crate::local_socket::fitting;
use crate::store::LogFiles;

/// The control directory of a repository, `.pairflow/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlDir {
    root: PathBuf,
}

impl ControlDir {
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
        LogFiles::of::<BubbleState>(&self.dir(), id)
    }

    /// Returns the directory for sockets, process records and logs of one bubble's agents.
    pub fn runtime(&self, id: &BubbleId) -> PathBuf {
        self.dir().join("runtime").join(id.as_str())
    }

    /// Returns the socket of one agent. The agent finds it in `PAIRFLOW_SOCKET`.
    pub fn seat_socket(&self, bubble: &BubbleId, agent: &AgentId) -> PathBuf {
        // With a word in front, no agent's name can be that of another socket of the bubble.
        fitting(&self.runtime(bubble).join(format!("seat-{agent}.sock")))
    }

    /// Returns the socket of a bubble's own tmux server.
    pub fn tmux_socket(&self, id: &BubbleId) -> PathBuf {
        fitting(&self.runtime(id).join("tmux.sock"))
    }

    /// Returns the name of a bubble's tmux session: its id, and what tells it from the same id in another repository.
    pub fn session_name(&self, id: &BubbleId) -> String {
        let hash = sha256(self.root.as_os_str().as_encoded_bytes());
        format!("pf-{id}-{}", &hash[..6])
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest path that fits a socket address on every system.
    const LONGEST: usize = 100;

    #[test]
    fn a_seat_has_a_socket_of_its_own_that_fits_however_long_the_names_are() {
        let long = |length: usize| "x".repeat(length);
        let mut seen = std::collections::BTreeSet::new();
        for repo in ["/r".to_owned(), format!("/{}/{}", long(200), long(200))] {
            for bubble in ["a".to_owned(), "a-b".to_owned(), long(63)] {
                for agent in ["tmux".to_owned(), "a".to_owned(), long(32)] {
                    let control = ControlDir::of(Path::new(&repo));
                    let path = control.seat_socket(&bubble.parse().unwrap(), &agent.parse().unwrap());
                    assert!(path.as_os_str().len() <= LONGEST, "{}", path.display());
                    assert_ne!(path.file_name().unwrap(), "tmux.sock");
                    assert!(seen.insert(path));
                }
            }
        }
    }
}
