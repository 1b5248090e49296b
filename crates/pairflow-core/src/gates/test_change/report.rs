//! What is reported about the tests of a diff.

use super::change::{TestChange, TestChangeKind};
use super::lineage::{Lineage, follow};
use super::survey::Survey;
use super::{compare, skipped};
use crate::gates::diff;

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
