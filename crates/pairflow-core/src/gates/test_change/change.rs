//! What is reported about the tests of a diff.

use serde::{Deserialize, Serialize};

use super::lineage::{Lineage, follow};
use super::survey::Survey;
use super::{compare, skipped};
use crate::gates::diff;

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

/// Returns the tests that a diff deletes, skips or weakens, in order of path and line.
pub fn weakened(diff: &str) -> Vec<TestChange> {
    let files = diff::read(diff);
    let mut survey = Survey::of(&files);
    let lineage = follow(&mut survey);
    let mut changes = deleted(&survey, &lineage);
    changes.extend(skipped::report(&survey, &lineage));
    changes.extend(compare::report(&survey, &lineage));
    changes.sort();
    changes.dedup();
    changes
}

/// Returns the path and the name of each test that a diff adds. One that only moved or changed its name is not new.
pub fn new_tests(diff: &str) -> Vec<(String, String)> {
    let files = diff::read(diff);
    let mut survey = Survey::of(&files);
    let lineage = follow(&mut survey);
    let fresh = lineage.fresh.iter().map(|test| &survey.tests[1][*test]);
    fresh.map(|test| (survey.files[test.file].path.clone(), test.name.clone())).collect()
}

/// Says whether a diff adds a test.
pub fn adds_tests(diff: &str) -> bool {
    !new_tests(diff).is_empty()
}

fn deleted(survey: &Survey<'_>, lineage: &Lineage) -> Vec<TestChange> {
    let tests = lineage.gone.iter().map(|test| {
        let test = &survey.tests[0][*test];
        TestChange::new(&survey.files[test.file].path, test.number, TestChangeKind::Deleted, &test.name)
    });
    let files = survey.lost_files();
    let files = files.map(|file| TestChange::new(&file.path, 1, TestChangeKind::Deleted, &file.path));
    tests.chain(files).collect()
}
