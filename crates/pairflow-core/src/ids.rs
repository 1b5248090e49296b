//! Names that are parsed once, at the door, and trusted ever after.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A bubble's name. Safe as a directory, a branch and a tmux session: `[a-z0-9][a-z0-9_-]{0,62}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BubbleId(String);

/// Why a text is no bubble id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a bubble id has 1 to 63 characters out of a-z, 0-9, '-' and '_', and starts with a letter or digit")]
pub struct BadBubbleId;

/// An agent's name, such as `claude` or `codex`: `[a-z][a-z0-9_-]{0,31}`, and not one of the two other parties.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// Why a text is no agent name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an agent name has 1 to 32 characters out of a-z, 0-9, '-' and '_', starts with a letter, and is neither 'human' nor 'orchestrator'"
)]
pub struct BadAgentId;

/// Who sends or receives an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Party {
    /// One of the bubble's agents.
    Agent(AgentId),
    /// pairflow itself.
    Orchestrator,
    /// The person.
    Human,
}

/// The id of an envelope: `msg_<yyyymmdd>_<number>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MsgId(pub String);

/// The git object name of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub String);

/// The git object name of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(pub String);

/// The name of a row of the finding ledger: `F1`, `F2`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FindingId(pub u32);

impl BubbleId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes an id out of free text: lower case, runs of anything else become one dash, at most `limit` characters.
    ///
    /// Returns nothing if no letter or digit is left.
    pub fn from_text(text: &str, limit: usize) -> Option<Self> {
        let mut slug = String::new();
        for c in text.chars() {
            let c = c.to_ascii_lowercase();
            if c.is_ascii_lowercase() || c.is_ascii_digit() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= limit.min(63) {
                break;
            }
        }
        slug.trim_end_matches('-').parse().ok()
    }
}

impl FromStr for BubbleId {
    type Err = BadBubbleId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = |c: char| plain(c) || matches!(c, '_' | '-');
        let sized = (1..=63).contains(&text.len());
        let valid = sized && text.starts_with(plain) && text.chars().all(fits);
        if valid { Ok(Self(text.to_owned())) } else { Err(BadBubbleId) }
    }
}

impl AgentId {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentId {
    type Err = BadAgentId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        let sized = (1..=32).contains(&text.len());
        let free = !matches!(text, "human" | "orchestrator");
        let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
        if sized && free && starts && text.chars().all(fits) { Ok(Self(text.to_owned())) } else { Err(BadAgentId) }
    }
}

impl FromStr for Party {
    type Err = BadAgentId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "human" => Ok(Self::Human),
            "orchestrator" => Ok(Self::Orchestrator),
            name => name.parse().map(Self::Agent),
        }
    }
}

impl FromStr for FindingId {
    type Err = BadFindingId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix('F').and_then(|n| n.parse().ok()).map(Self).ok_or(BadFindingId)
    }
}

/// Why a text names no finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a finding is named F1, F2, …")]
pub struct BadFindingId;

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::Orchestrator => f.write_str("orchestrator"),
            Self::Human => f.write_str("human"),
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F{}", self.0)
    }
}

macro_rules! text_id {
    ($($name:ident: $error:ty),*) => {$(
        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    )*};
}

text_id!(BubbleId: BadBubbleId, AgentId: BadAgentId, Party: BadAgentId, FindingId: BadFindingId);

macro_rules! shown {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )*};
}

shown!(BubbleId, AgentId, MsgId, TreeId, CommitId);

impl TreeId {
    /// Returns the first twelve characters: enough to tell trees apart when printed.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl CommitId {
    /// Returns the first twelve characters.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}
