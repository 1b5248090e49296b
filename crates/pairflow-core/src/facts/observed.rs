//! What pairflow saw with its own eyes: trees, changed files and the results of checks.

use serde::{Deserialize, Serialize};

use crate::gates::TestChange;
use crate::ids::{CommitId, Party, TreeId};

/// The tree that a turn left, kept on a private ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The tree: tracked files plus untracked ones that are not ignored.
    pub tree: TreeId,
    /// A commit of that tree on top of the base.
    pub commit: CommitId,
    /// The ref that holds the tree, `refs/pairflow/<id>/<number>`; in older bubbles it holds the commit.
    pub r#ref: String,
    /// Whose changes it has: those of the turn that it ends, or of `human` if they were found at the start of a turn.
    /// Nothing if more than one party could have made them.
    #[serde(default)]
    pub author: Option<Party>,
    /// Every file that differs from the base, as git lists them.
    pub changed: Vec<FileChange>,
    /// Every file that differs from the snapshot before.
    pub since_last: Vec<FileChange>,
    /// Changed files outside the bubble's scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_scope: Vec<String>,
    /// The branch tip that the worktree was on, if agents committed on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_head: Option<CommitId>,
    /// Changed files that decide which files belong to a tree at all: `.gitignore` and its like, `.git/info/exclude`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore_changes: Vec<String>,
    /// Tests that the change against the base deletes, skips or weakens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<TestChange>,
    /// The counts and the whole lists, if the lists here had to be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Whole>>,
}

/// How much a snapshot changed, where its own lists are only the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Against the base.
    pub changed: Counted,
    /// Against the snapshot before.
    pub since_last: Counted,
    /// How many changed files lie outside the bubble's scope.
    pub out_of_scope: u64,
}

/// A list of changed files that is too long for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many files it has.
    pub files: u64,
    /// Lines added in all of them.
    pub added: u64,
    /// Lines removed in all of them.
    pub removed: u64,
    /// The whole list, as `artifact://files/<sha256>.txt`: status, lines added, lines removed, path.
    pub list: String,
}

impl Snapshot {
    /// Returns how much differs from the base, also where the list was cut.
    pub fn against_base(&self) -> (u64, u64, u64) {
        counted(&self.changed, self.whole.as_ref().map(|whole| &whole.changed))
    }

    /// Returns how much differs from the snapshot before, also where the list was cut.
    pub fn against_last(&self) -> (u64, u64, u64) {
        counted(&self.since_last, self.whole.as_ref().map(|whole| &whole.since_last))
    }
}

/// Files, lines added and lines removed.
fn counted(listed: &[FileChange], whole: Option<&Counted>) -> (u64, u64, u64) {
    if let Some(whole) = whole {
        return (whole.files, whole.added, whole.removed);
    }
    let sum = |lines: fn(&FileChange) -> Option<u64>| listed.iter().filter_map(lines).fold(0, u64::saturating_add);
    (listed.len() as u64, sum(|file| file.added), sum(|file| file.removed))
}

/// One line of `git diff --numstat` with its status letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, relative to the root of the repository.
    pub path: String,
    /// `A`, `M`, `D`, `T`: as git prints it. Renames are shown as a deletion and an addition.
    pub status: char,
    /// Lines added; nothing for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines removed; nothing for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// The result of a check that pairflow ran itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Which check: `test`, `typecheck`, `lint`, `setup`.
    pub check: String,
    /// The command line that ran.
    pub command: String,
    /// The tree it ran on.
    pub tree: TreeId,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it ran.
    pub duration_ms: u64,
    /// The output, beneath `artifacts/`, with its SHA-256 in the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The last lines of the output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// Where it ran.
    #[serde(default, skip_serializing_if = "Place::is_worktree")]
    pub place: Place,
}

/// Where a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the agents' worktree: receipts of older versions, and of bubbles that are configured so.
    #[default]
    Worktree,
    /// In pairflow's own checkout of the tree, in which caches stay from one run to the next.
    Checkout,
    /// In a checkout that had nothing but the tree.
    Fresh,
    /// In pairflow's own checkout of the base, before there was any work.
    Base,
}

impl Place {
    fn is_worktree(&self) -> bool {
        *self == Self::Worktree
    }
}

/// What came of a check. There are three outcomes, never two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    /// The command ended with 0.
    Passed,
    /// The command ended with something else.
    Failed {
        /// Its exit code; nothing if a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        /// Whether it was ended because its time was up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        timed_out: bool,
    },
    /// It could not be run, or it changed the tree: neither a pass nor a finding.
    CouldNotCheck {
        /// Why, as a sentence.
        why: String,
    },
}

impl Outcome {
    /// Whether the check ran and ended with 0.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}
