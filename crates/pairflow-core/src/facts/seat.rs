//! The seats of a loop, and who sits in them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::rules::Rules;

/// A seat of the loop. In the log and in JSON it has the names of the protocol: implementer and reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Seat {
    /// Makes the change.
    #[serde(rename = "implementer")]
    Implementer,
    /// Reviews it.
    #[serde(rename = "reviewer")]
    Reviewer,
    /// Decides a dispute between the two, in one turn.
    #[serde(rename = "judge")]
    Judge,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Implementer => "implementer",
            Self::Reviewer => "reviewer",
            Self::Judge => "judge",
        })
    }
}

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seats {
    /// Makes the change.
    pub implementer: AgentId,
    /// Reviews it.
    pub reviewer: AgentId,
    /// Decides disputes; without one of its own, the reviewer's agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<AgentId>,
}

impl Default for Seats {
    fn default() -> Self {
        Self::chosen(&Rules::default())
    }
}

impl Seats {
    /// Returns the seats that the person chose for the start.
    pub fn chosen(rules: &Rules) -> Self {
        Self { implementer: rules.agents.implementer.clone(), reviewer: rules.agents.reviewer.clone(), judge: None }
    }

    /// Returns who sits in `seat`.
    pub fn agent(&self, seat: Seat) -> &AgentId {
        match seat {
            Seat::Implementer => &self.implementer,
            Seat::Reviewer => &self.reviewer,
            Seat::Judge => self.judge.as_ref().unwrap_or(&self.reviewer),
        }
    }
}
