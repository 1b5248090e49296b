//! What a reviewer claims.

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

/// One claim of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name in this bubble, given by pairflow when the pass is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FindingId>,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub title: String,
    /// The claim at length, if the title is not all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The file it is about, relative to the root of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What kind of fault it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What the reviewer would do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suggestion: String,
    /// A command that fails as long as the fault is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducer: Option<String>,
    /// The text of the line it is about, as pairflow read it when the finding was filed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub anchor: String,
    /// The round in which the same agent had reviewed the same lines before, as pairflow found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u32>,
    /// Whether it touches core logic, security or data integrity, as pairflow found out when the pass was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub risk: bool,
    /// The row that it repeats, says its reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<FindingId>,
    /// The row that asked for what this finding wants undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<FindingId>,
    /// Whether the implementer of a document filed it: it stands in the way of the implementation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocker: bool,
}

/// What kind of fault a finding is. The first three are risks: a P2 of theirs has to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// What the program is for does not work.
    CoreLogic,
    /// Someone can do what they must not.
    Security,
    /// Data is lost or wrong.
    DataIntegrity,
    /// It is slow, or uses too much.
    Performance,
    /// Tests are missing, wrong or weakened.
    Tests,
    /// Documentation and messages.
    Docs,
    /// How the code reads.
    Style,
    /// Anything else.
    Other,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::CoreLogic,
        Self::Security,
        Self::DataIntegrity,
        Self::Performance,
        Self::Tests,
        Self::Docs,
        Self::Style,
        Self::Other,
    ];

    /// Whether a minor finding of this class has to be answered nevertheless.
    pub fn is_risk(self) -> bool {
        matches!(self, Self::CoreLogic | Self::Security | Self::DataIntegrity)
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::CoreLogic => "core_logic",
            Self::Security => "security",
            Self::DataIntegrity => "data_integrity",
            Self::Performance => "performance",
            Self::Tests => "tests",
            Self::Docs => "docs",
            Self::Style => "style",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text is no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no class '{0}'; there are core_logic, security, data_integrity, performance, tests, docs, style, other"
)]
pub struct BadClass(String);

impl FromStr for Class {
    type Err = BadClass;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = text.trim().to_lowercase().replace(['-', ' '], "_");
        Self::ALL.into_iter().find(|class| class.name() == word).ok_or_else(|| BadClass(text.to_owned()))
    }
}

impl Finding {
    /// A claim of which only the title is known.
    pub fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self {
            id: None,
            severity,
            title: title.into(),
            detail: String::new(),
            file: None,
            line: None,
            class: None,
            suggestion: String::new(),
            reproducer: None,
            anchor: String::new(),
            seen: None,
            risk: false,
            repeats: None,
            reverses: None,
            blocker: false,
        }
    }

    /// What an implementer cannot resolve in its dry run of a document.
    pub fn blocker(title: impl Into<String>) -> Self {
        Self { blocker: true, ..Self::new(Severity::P1, title) }
    }

    /// The claim as its reviewer made it, without what pairflow found out about it.
    #[must_use]
    pub fn as_said(&self) -> Self {
        Self { id: None, anchor: String::new(), seen: None, risk: false, ..self.clone() }
    }

    /// Whether the same agent should have said this earlier: it had reviewed these lines, and nothing proves the fault.
    pub fn late(&self) -> bool {
        self.seen.is_some() && self.reproducer.is_none()
    }
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
        Ok(Self::new(severity, title))
    }
}
