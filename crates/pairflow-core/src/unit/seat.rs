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
