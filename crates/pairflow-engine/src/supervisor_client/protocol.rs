//! What is said on the supervisor's socket: one JSON line in, one JSON line out. Who may say it is not known here.

use std::path::PathBuf;

use pairflow_core::ids::BubbleId;
use serde::{Deserialize, Serialize};

use crate::engine::UserDirs;
use crate::local_socket::fitting;

/// What the supervisor can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Look at this bubble now.
    Wake {
        /// Its repository.
        repo: PathBuf,
        /// Its name.
        id: BubbleId,
        /// The environment of the person who asks, in which agents are started from here on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<(String, String)>,
    },
    /// Say how you are.
    Status,
    /// End.
    Stop,
}

/// What a caller is told who is refused.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// Why, as a sentence.
    pub error: String,
}

/// What the supervisor answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Its process.
    pub pid: u32,
    /// The version of pairflow that it runs.
    pub version: String,
    /// How many bubbles it looks after.
    pub bubbles: usize,
    /// How many of them it is working on right now.
    pub busy: usize,
    /// How many agents it keeps running.
    pub agents: usize,
}

/// Returns the path of the supervisor's socket. A path that is too long for a socket gets a short stand-in.
pub fn socket_path(dirs: &UserDirs) -> PathBuf {
    fitting(&dirs.runtime.join("supervisor.sock"))
}
