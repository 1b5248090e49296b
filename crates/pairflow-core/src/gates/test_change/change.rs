//! What a diff can do to a test.

use serde::{Deserialize, Serialize};

/// The most characters of a test's name or line that are reported.
const LONGEST_WHAT: usize = 200;

/// One test that a diff deletes, skips or weakens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestChange {
    /// The file, relative to the root of the repository.
    pub path: String,
    /// The line in the new file; in the old one for what is deleted.
    pub line: u32,
    /// What happened.
    pub kind: TestChangeKind,
    /// The name of the test, or the line it is about; at most 200 characters.
    pub what: String,
}

impl TestChange {
    /// One change, with as much of `what` as is reported.
    pub fn new(path: &str, line: u32, kind: TestChangeKind, what: &str) -> Self {
        let what = what.trim().chars().take(LONGEST_WHAT).collect();
        Self { path: path.to_owned(), line, kind, what }
    }
}

/// What a diff does to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestChangeKind {
    /// A test is removed and does not turn up elsewhere in the diff.
    Deleted,
    /// A mark keeps a test from running, or from counting when it fails; `only` does so to all others.
    Skipped,
    /// A test that stays asserts less than before.
    Weakened,
    /// An assertion stays and expects another value. This is for information: most fixes do so.
    Expectation,
    /// What changed could not be read whole, so nobody knows. The reader of the diff reports it, never the diff itself.
    Unread,
}
