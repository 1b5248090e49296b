//! Everything found on both sides of a diff, sorted by the test it belongs to.

use std::collections::{BTreeMap, BTreeSet};

use super::assertion::Assertion;
use super::paths::{Language, is_test_file, may_hold_tests};
use super::side::{self, Side};
use super::view::Sort;
use crate::gates::diff::FileDiff;

/// What is known of a diff's tests. Pairs are the old side and the new one.
#[derive(Default)]
pub(super) struct Survey<'a> {
    pub(super) files: Vec<FileSeen>,
    pub(super) tests: [Vec<TestSeen<'a>>; 2],
    pub(super) groups: Vec<Group<'a>>,
    pub(super) skips: [Vec<SkipSeen<'a>>; 2],
    ids: BTreeMap<(usize, Result<String, usize>), usize>,
}

/// A file with tests.
pub(super) struct FileSeen {
    pub(super) path: String,
    pub(super) language: Language,
    pub(super) deleted: bool,
}

/// A test on one side.
pub(super) struct TestSeen<'a> {
    pub(super) name: String,
    pub(super) file: usize,
    pub(super) hunk: usize,
    pub(super) group: usize,
    pub(super) number: u32,
    /// The lines of its body that the hunk shows.
    pub(super) body: Vec<&'a str>,
}

/// One test, or the lines of a hunk that belong to no visible test.
pub(super) struct Group<'a> {
    pub(super) file: usize,
    pub(super) anonymous: bool,
    pub(super) content: Content<'a>,
}

/// All that is known of a group.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) assertions: [Vec<Claim<'a>>; 2],
    pub(super) must_fail: [Vec<(u32, String)>; 2],
    /// Lines that swallow failures; the flag says whether the line is changed.
    pub(super) swallows: [Vec<(u32, bool, &'a str)>; 2],
    pub(super) loops: [usize; 2],
    pub(super) errors: [usize; 2],
    /// How often a side fails by itself on an error.
    pub(super) guards: [usize; 2],
}

impl Content<'_> {
    /// Adds what another group held.
    pub(super) fn take_in(&mut self, other: Self) {
        let Self { assertions, must_fail, swallows, loops, errors, guards } = other;
        for (mine, theirs) in self.assertions.iter_mut().zip(assertions) {
            mine.extend(theirs);
        }
        for (mine, theirs) in self.must_fail.iter_mut().zip(must_fail) {
            mine.extend(theirs);
        }
        for (mine, theirs) in self.swallows.iter_mut().zip(swallows) {
            mine.extend(theirs);
        }
        for side in 0..2 {
            self.loops[side] += loops[side];
            self.errors[side] += errors[side];
            self.guards[side] += guards[side];
        }
    }
}

/// An assertion and where it stands.
pub(super) struct Claim<'a> {
    pub(super) assertion: Assertion,
    /// The line of the new file where it stands, or stood.
    pub(super) here: u32,
    pub(super) text: &'a str,
    /// Whether it stands in a function that is no test.
    pub(super) in_function: bool,
}

/// A mark that keeps a test from running.
pub(super) struct SkipSeen<'a> {
    pub(super) file: usize,
    pub(super) hunk: usize,
    pub(super) owner: Option<String>,
    pub(super) mark: &'static str,
    pub(super) number: u32,
    pub(super) changed: bool,
    pub(super) text: &'a str,
    /// Whether the other side of the hunk has a def of the owner's name.
    pub(super) owner_stays: bool,
}

/// The most lines of a test that are kept to tell it by.
const LONGEST_BODY: usize = 400;

impl<'a> Survey<'a> {
    /// Reads all files of a diff that can hold tests.
    pub(super) fn of(files: &[FileDiff<'a>]) -> Self {
        let mut survey = Self::default();
        let mut hunks = 0;
        for file in files.iter().filter(|file| !file.binary) {
            let path = file.path();
            let Some(language) = Language::of(path).filter(|_| may_hold_tests(path)) else { continue };
            let test_file = is_test_file(path);
            survey.files.push(FileSeen { path: path.to_owned(), language, deleted: file.new_path.is_none() });
            for hunk in &file.hunks {
                survey.hunk(hunks, &side::read(hunk, language, test_file));
                hunks += 1;
            }
        }
        survey
    }

    /// Returns deleted test files that held assertions, but no tests of a kind that is known.
    pub(super) fn lost_files(&self) -> impl Iterator<Item = &FileSeen> {
        let known: BTreeSet<usize> = self.tests[0].iter().map(|test| test.file).collect();
        let claims = self.groups.iter().filter(|group| !group.content.assertions[0].is_empty());
        let claiming: BTreeSet<usize> = claims.map(|group| group.file).collect();
        let lost = claiming.into_iter().filter(move |file| !known.contains(file)).map(|file| &self.files[file]);
        lost.filter(|file| file.deleted && is_test_file(&file.path))
    }

    fn hunk(&mut self, hunk: usize, sides: &[Side<'a>; 2]) {
        for (at, side) in sides.iter().enumerate() {
            self.tests(at, hunk, side);
            self.skips(at, hunk, side, &sides[1 - at]);
            self.claims(at, hunk, side);
            self.marks(at, hunk, side);
        }
    }

    fn tests(&mut self, at: usize, hunk: usize, side: &Side<'a>) {
        let file = self.files.len() - 1;
        let defs = side.found.defs.iter().zip(&side.ends);
        for (def, end) in defs.filter(|(def, _)| def.sort == Sort::Test && side.lines[def.line].number > 0) {
            let body = side.lines.get(def.line + 1..*end + 1).unwrap_or_default().iter().take(LONGEST_BODY);
            let body = body.map(|line| line.text.trim()).filter(|text| text.len() > 3).collect();
            let group = self.group(hunk, Some(&def.name));
            let number = side.lines[def.line].number;
            self.tests[at].push(TestSeen { name: def.name.clone(), file, hunk, group, number, body });
        }
    }

    fn skips(&mut self, at: usize, hunk: usize, side: &Side<'a>, other: &Side<'a>) {
        let file = self.files.len() - 1;
        if side.found.skips.is_empty() {
            return;
        }
        let names: BTreeSet<_> = other.found.defs.iter().map(|def| def.name.as_str()).collect();
        for (line, mark) in &side.found.skips {
            let owner = side.def_at(*line).map(str::to_owned);
            let owner_stays = owner.as_deref().is_some_and(|owner| names.contains(owner));
            let seen = side.lines[*line];
            let (number, changed, text) = (seen.number, seen.changed, seen.text);
            self.skips[at].push(SkipSeen { file, hunk, owner, mark, number, changed, text, owner_stays });
        }
    }

    fn claims(&mut self, at: usize, hunk: usize, side: &Side<'a>) {
        for assertion in side.found.assertions.iter().filter(|assertion| side.in_tests(assertion.line)) {
            let line = side.lines[assertion.line];
            let in_function = side.in_function(assertion.line);
            let claim = Claim { assertion: assertion.clone(), here: line.here, text: line.text, in_function };
            self.content(hunk, side.test_at(assertion.line)).assertions[at].push(claim);
        }
    }

    fn marks(&mut self, at: usize, hunk: usize, side: &Side<'a>) {
        let found = &side.found;
        for (line, text) in &found.must_fail {
            let here = side.lines[*line].here;
            self.content(hunk, side.test_at(*line)).must_fail[at].push((here, text.clone()));
        }
        for line in &found.swallows {
            let seen = side.lines[*line];
            self.content(hunk, side.test_at(*line)).swallows[at].push((seen.number, seen.changed, seen.text));
        }
        for line in &found.loops {
            self.content(hunk, side.test_at(*line)).loops[at] += 1;
        }
        for line in &found.errors {
            self.content(hunk, side.test_at(*line)).errors[at] += 1;
        }
        for line in &found.guards {
            self.content(hunk, side.test_at(*line)).guards[at] += 1;
        }
    }

    fn content(&mut self, hunk: usize, name: Option<&str>) -> &mut Content<'a> {
        let group = self.group(hunk, name);
        &mut self.groups[group].content
    }

    /// The group of a test of the current file, or of a hunk's lines outside of any visible test.
    fn group(&mut self, hunk: usize, name: Option<&str>) -> usize {
        let file = self.files.len() - 1;
        let key = (file, name.map(str::to_owned).ok_or(hunk));
        let next = self.groups.len();
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.groups.push(Group { file, anonymous: name.is_none(), content: Content::default() });
        }
        id
    }
}
