//! What a brief shows beside the state: texts of the repository, which the engine reads.

use serde::Serialize;

/// What the engine gathered for the brief of one turn. Nothing in it is needed for an implementer's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BriefMaterial {
    /// What the project expects of every change, as the base has it.
    pub standards: Vec<Standard>,
    /// What changed since this agent's last review; nothing if it has not reviewed yet, or that could not be read.
    pub since_last: Option<ReviewDiff>,
    /// What changed against the base; nothing if that could not be read.
    pub whole: Option<ReviewDiff>,
}

/// A file that says how work in this project is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standard {
    /// Its path in the repository.
    pub path: String,
    /// Its text as the base has it, or the beginning of it.
    pub text: String,
    /// Whether there is more of it.
    pub cut: bool,
    /// Whether the work changes this file.
    pub changed: bool,
}

/// A difference, as a reviewer gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "content", rename_all = "snake_case")]
pub enum ReviewDiff {
    /// Short enough for the brief itself.
    Inline(String),
    /// In files of its own, each short enough to be read with care.
    Slices(Vec<Slice>),
}

/// A part of a difference that is too long to be read at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The path of its file.
    pub path: String,
    /// The files that it changes.
    pub files: Vec<String>,
    /// How many lines it adds and removes.
    pub changed: usize,
}

impl BriefMaterial {
    /// Returns how many slices a reviewer has to confirm; none if the brief holds the whole change.
    pub fn slices(&self) -> u32 {
        match &self.whole {
            Some(ReviewDiff::Slices(slices)) => u32::try_from(slices.len()).unwrap_or(u32::MAX),
            _ => 0,
        }
    }
}
