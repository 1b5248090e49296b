//! The two places at the table.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A seat of the loop. In the log and in JSON it has the names of the protocol: implementer and reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Seat {
    /// Makes the change.
    #[serde(rename = "implementer")]
    Producer,
    /// Reviews it.
    #[serde(rename = "reviewer")]
    Critic,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Producer => "implementer",
            Self::Critic => "reviewer",
        })
    }
}

impl crate::unit::Unit {
    /// Returns the line with which an agent joins by itself, from any shell: nothing that it does elsewhere counts.
    pub fn joining(&self, agent: &crate::ids::AgentId) -> String {
        let join = format!("eval \"$(pairflow env {} --agent {agent})\"", self.id);
        match &self.evidence.workspace {
            Some(workspace) => format!("cd '{}' && {join}", workspace.path.replace('\'', "'\\''")),
            None => join,
        }
    }
}
