//! What a critic claims.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::FindingId;

/// How grave a finding is. Ordered: `P0 < P1`, so the gravest is the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Critical.
    P0,
    /// Major.
    P1,
    /// Minor.
    P2,
    /// A nitpick.
    P3,
}

/// One claim of a critic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name in this bubble, given by pairflow when the pass is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FindingId>,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong.
    pub title: String,
}

impl Severity {
    /// Whether a finding of this severity keeps the loop going.
    pub fn blocks(self) -> bool {
        self <= Self::P1
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::P0 => "P0",
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
        })
    }
}

/// Why a text is no finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a finding is written as SEVERITY:TITLE with a severity out of P0, P1, P2, P3 and a title, e.g. 'P1:no rollback'"
)]
pub struct BadFinding;

impl FromStr for Finding {
    type Err = BadFinding;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (severity, title) = text.split_once(':').ok_or(BadFinding)?;
        let severity = match severity.trim() {
            "P0" => Severity::P0,
            "P1" => Severity::P1,
            "P2" => Severity::P2,
            "P3" => Severity::P3,
            _ => return Err(BadFinding),
        };
        let title = title.trim();
        if title.is_empty() {
            return Err(BadFinding);
        }
        Ok(Self { id: None, severity, title: title.to_owned() })
    }
}
