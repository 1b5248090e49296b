//! Compares the tests of a diff before and after, and reports what was lost.
//!
//! A *unit* is one test, or the lines of a hunk outside of any visible test. Assertions that both sides of a unit make
//! are struck out first. A test whose name vanished is looked for by its assertions and lines. What is left of a unit is
//! paired: a weaker partner or another expected value is reported, and an assertion without partner is lost, unless its
//! values turn up in added lines of the file (in a table of cases, for example).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::assertion::{Assertion, Strength, names};
use super::side::{self, HunkSide, SideLine};
use super::source::{Language, is_test_file, may_hold_tests};
use crate::gates::diff::{self, FileDiff};

/// One test that a diff deletes, skips or weakens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestChange {
    /// The file, relative to the root of the repository.
    pub path: String,
    /// The line in the new file; for a deletion, in the old one.
    pub line: u32,
    /// What happened.
    pub kind: TestChangeKind,
    /// The name of the test, or the line in question; at most 200 characters.
    pub what: String,
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
    /// The change was too large to be read. The reader of the diff reports it, never the diff itself.
    Unread,
}

const LONGEST_WHAT: usize = 200;
const LONGEST_BODY: usize = 400;
/// How many units are remembered for a line or an assertion that many units share.
const MOST_SHARED: usize = 8;
/// How many new assertions of a unit an old one is compared with.
const MOST_COMPARED: usize = 32;

impl TestChange {
    /// Makes one change, with `what` cut to its limit.
    pub fn new(path: &str, line: u32, kind: TestChangeKind, what: &str) -> Self {
        let what = what.trim().chars().take(LONGEST_WHAT).collect();
        Self { path: path.to_owned(), line, kind, what }
    }
}

/// Returns the tests that a diff deletes, skips or weakens, in order of path and line.
pub fn weakened(diff: &str) -> Vec<TestChange> {
    let mut comparison = Comparison::default();
    diff::read(diff).iter().filter(|file| !file.binary).for_each(|file| comparison.read(file));
    comparison.follow_moved_tests();
    let mut changes: Vec<TestChange> = comparison.units.iter().flat_map(|unit| comparison.compare(unit)).collect();
    changes.extend(comparison.skipped());
    changes.extend(comparison.deleted_files());
    changes.sort();
    changes.dedup();
    changes
}

/// All tests of a diff. Pairs are the old side and the new one.
#[derive(Default)]
struct Comparison<'a> {
    files: Vec<TestFile>,
    hunks: usize,
    units: Vec<TestUnit<'a>>,
    ids: BTreeMap<(usize, Result<String, usize>), usize>,
    skips: [Vec<SkipMark<'a>>; 2],
    /// The new names of tests.
    renamed: BTreeMap<String, String>,
    /// What tests and changed lines assert on the new side only, by language.
    added: BTreeSet<(Language, String)>,
}

struct TestFile {
    path: String,
    language: Language,
    deleted: bool,
    /// The words and literals of the added lines.
    added: BTreeSet<String>,
    /// The keys of the assertions that only the new side of a unit makes.
    asserted: BTreeSet<String>,
}

/// One test, or the lines of a hunk outside of any visible test.
#[derive(Default)]
struct TestUnit<'a> {
    file: usize,
    name: Option<String>,
    sides: [UnitSide<'a>; 2],
    /// Whether the test is gone, so that nothing of it is compared.
    gone: bool,
}

#[derive(Default)]
struct UnitSide<'a> {
    /// The line that names the test.
    named: Option<u32>,
    body: Vec<&'a str>,
    assertions: Vec<Located<'a>>,
    /// The changed lines that hide failures.
    hides: Vec<(u32, &'a str)>,
    /// The names that changed lines assign.
    assigned: BTreeSet<&'a str>,
    /// The names in all assertions.
    words: BTreeSet<&'a str>,
}

/// An assertion and where it is.
struct Located<'a> {
    assertion: Assertion<'a>,
    key: String,
    here: u32,
    text: &'a str,
    /// Whether it is in a test, or new: other code that stays is no sign of a test that moved.
    counts: bool,
}

struct SkipMark<'a> {
    file: usize,
    hunk: usize,
    owner: Option<String>,
    line: SideLine<'a>,
}

impl<'a> Comparison<'a> {
    fn read(&mut self, file: &FileDiff<'a>) {
        let path = file.path();
        let Some(language) = Language::of(path).filter(|_| may_hold_tests(path)) else { return };
        let deleted = file.new_path.is_none();
        self.files.push(TestFile {
            path: path.to_owned(),
            language,
            deleted,
            added: BTreeSet::new(),
            asserted: BTreeSet::new(),
        });
        for hunk in &file.hunks {
            self.hunks += 1;
            for (nth, side) in side::read(hunk, language, is_test_file(path)).iter().enumerate() {
                self.read_side(nth, side);
                self.read_changed_lines(nth, side);
            }
        }
    }

    fn read_side(&mut self, nth: usize, side: &HunkSide<'a>) {
        let hunk = self.hunks;
        for test in side.definitions.iter().filter(|one| one.is_test && side.lines[one.line].number > 0) {
            let body = side.lines.get(test.line + 1..=test.end).unwrap_or_default().iter().take(LONGEST_BODY);
            let unit = self.unit_side(nth, Some(&test.name));
            unit.named.get_or_insert(side.lines[test.line].number);
            unit.body.extend(body.map(|line| line.text.trim()).filter(|text| text.len() > 3));
        }
        for assertion in &side.assertions {
            let (line, test) = (side.lines[assertion.line], side.test_at(assertion.line));
            let (key, counts) = (assertion.key(), test.is_some() || line.changed);
            let unit = self.unit_side(nth, test);
            unit.words.extend(&assertion.words);
            let assertion = assertion.clone();
            unit.assertions.push(Located { assertion, key, here: line.here, text: line.text, counts });
        }
        for line in side.hides.iter().filter(|line| side.lines[**line].changed) {
            self.unit_side(nth, side.test_at(*line)).hides.push((side.lines[*line].number, side.lines[*line].text));
        }
        for line in &side.skips {
            let (file, owner) = (self.files.len() - 1, side.owner_at(*line).map(str::to_owned));
            self.skips[nth].push(SkipMark { file, hunk, owner, line: side.lines[*line] });
        }
    }

    fn read_changed_lines(&mut self, nth: usize, side: &HunkSide<'a>) {
        let lines = side.tokens.chunk_by(|one, other| one.line == other.line);
        for tokens in lines.filter(|tokens| side.lines[tokens[0].line].changed) {
            let (words, literals) = names(tokens);
            if tokens.iter().any(|token| token.is_any(&["=", ":="])) {
                self.unit_side(nth, side.test_at(tokens[0].line)).assigned.extend(words.iter().take(8));
            }
            if let Some(file) = self.files.last_mut().filter(|_| nth == 1) {
                file.added.extend(literals.into_iter().chain(words.into_iter().map(str::to_owned)));
            }
        }
    }

    /// Returns a side of a test of the current file, or of the current hunk.
    fn unit_side(&mut self, side: usize, test: Option<&str>) -> &mut UnitSide<'a> {
        let (file, name, next) = (self.files.len() - 1, test.map(str::to_owned), self.units.len());
        let id = *self.ids.entry((file, name.clone().ok_or(self.hunks))).or_insert(next);
        if id == next {
            self.units.push(TestUnit { file, name, ..TestUnit::default() });
        }
        &mut self.units[id].sides[side]
    }

    /// Finds what became of the tests whose names vanished, and strikes out what both sides assert.
    fn follow_moved_tests(&mut self) {
        self.units.iter_mut().for_each(TestUnit::strike_out);
        let mut successors: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (nth, unit) in self.units.iter().enumerate() {
            for trace in self.traces(unit, 1).into_iter().flatten() {
                let known = successors.entry(trace).or_default();
                if known.len() < MOST_SHARED && known.last() != Some(&nth) {
                    known.push(nth);
                }
            }
        }
        let mut taken = BTreeSet::new();
        let lost: Vec<usize> = (0..self.units.len()).filter(|nth| self.units[*nth].is_only_on(0)).collect();
        for nth in lost {
            let attempts = self.traces(&self.units[nth], 0);
            let heir = attempts.iter().find_map(|traces| successor(traces, &successors, &taken));
            match heir {
                Some(heir) => {
                    taken.insert(heir);
                    self.hand_over(nth, heir);
                }
                None => self.units[nth].gone = true,
            }
        }
        self.units.iter_mut().for_each(TestUnit::strike_out);
        for unit in &self.units {
            let file = &mut self.files[unit.file];
            file.asserted.extend(unit.sides[1].assertions.iter().map(|one| one.key.clone()));
            let counting = unit.sides[1].assertions.iter().filter(|one| one.counts);
            self.added.extend(counting.map(|one| (file.language, one.key.clone())));
        }
    }

    /// Returns what a test can be recognised by, the surest first: name, assertions, lines.
    fn traces(&self, unit: &TestUnit<'_>, nth: usize) -> [Vec<String>; 3] {
        let side = &unit.sides[nth];
        let (file, language) = (unit.file, self.files[unit.file].language);
        let assertions =
            side.assertions.iter().filter(|one| one.counts).map(|one| format!("assertion {}", one.key)).collect();
        if !unit.is_only_on(nth) {
            return [Vec::new(), assertions, Vec::new()];
        }
        let names = unit.name.iter().map(|name| format!("name {language:?} {name}")).collect();
        let lines = side.body.iter().map(|line| format!("line {file} {line}")).collect();
        [names, assertions, lines]
    }

    /// Moves what one test says to another one, to be compared there.
    fn hand_over(&mut self, from: usize, to: usize) {
        let given = std::mem::take(&mut self.units[from]);
        (self.units[from].file, self.units[from].name) = (given.file, given.name.clone());
        let heir = &mut self.units[to];
        let moved_to = heir.sides[1].named.filter(|_| given.file != heir.file);
        if let (Some(old), Some(new)) = (given.name, &heir.name) {
            self.renamed.insert(old, new.clone());
        }
        // Git's heading calls later hunks of a renamed test by its old name, so the new side moves, too.
        for (mine, mut side) in heir.sides.iter_mut().zip(given.sides) {
            side.assertions.iter_mut().for_each(|one| one.here = moved_to.unwrap_or(one.here));
            mine.named = mine.named.or(side.named);
            mine.assertions.append(&mut side.assertions);
            mine.hides.append(&mut side.hides);
            mine.assigned.append(&mut side.assigned);
            mine.words.append(&mut side.words);
        }
    }

    /// Returns the old assertions of a unit that no new one repeats.
    fn lost_assertions<'u>(&self, unit: &'u TestUnit<'a>) -> Vec<&'u Located<'a>> {
        let file = &self.files[unit.file];
        let repeated = |key: &String| file.asserted.contains(key) || self.added.contains(&(file.language, key.clone()));
        unit.sides[0].assertions.iter().filter(|one| !repeated(&one.key)).collect()
    }

    fn compare(&self, unit: &TestUnit<'a>) -> Vec<TestChange> {
        let file = &self.files[unit.file];
        let change = |line: u32, kind, what: &str| TestChange::new(&file.path, line, kind, what);
        let [old, new] = &unit.sides;
        let covered = |one: &Located<'_>| file.adds(&one.assertion);
        if unit.gone {
            let moved = !old.assertions.is_empty() && old.assertions.iter().all(covered);
            let name = unit.name.as_deref().unwrap_or_default();
            let lost = old.named.filter(|_| !moved).map(|line| change(line, TestChangeKind::Deleted, name));
            return lost.into_iter().collect();
        }
        if file.deleted {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let mut row_reported = false;
        let covers_many = new.assertions.iter().any(|one| one.assertion.covers_many);
        let mut rest = new.assertions.iter();
        let mut free: Vec<&Located<'_>> = rest.by_ref().take(MOST_COMPARED).collect();
        for one in self.lost_assertions(unit) {
            match best_partner(&one.assertion, &free) {
                Some(nth) => {
                    let partner = free.remove(nth);
                    free.extend(rest.next());
                    let kind = judge(&one.assertion, &partner.assertion);
                    changes.extend(kind.map(|kind| change(partner.here, kind, partner.text)));
                }
                None if covers_many || covered(one) || unit.excuses(&one.assertion) => {}
                // The first of several rows is enough.
                None if one.assertion.kind == "row" && std::mem::replace(&mut row_reported, true) => {}
                None => changes.push(change(one.here, TestChangeKind::Weakened, one.text)),
            }
        }
        // Without an assertion in sight, only an early return is a sign.
        let hides = |text: &str| !new.words.is_empty() || text.trim_start().starts_with("return");
        if new.hides.len() > old.hides.len() && !unit.is_only_on(1) {
            let hiding = new.hides.iter().filter(|(_, text)| hides(text));
            changes.extend(hiding.map(|(line, text)| change(*line, TestChangeKind::Weakened, text)));
        }
        changes
    }

    /// Returns the tests with a new skip mark. A mark that moved or was renamed along with its test is not new.
    fn skipped(&self) -> Vec<TestChange> {
        let owned = |mark: &SkipMark<'_>, owner: &String| (self.files[mark.file].language, owner.clone());
        let mut known = BTreeSet::new();
        let mut vanished: BTreeMap<usize, usize> = BTreeMap::new();
        for mark in &self.skips[0] {
            let owner = mark.owner.as_ref();
            known.extend(owner.map(|owner| owned(mark, self.renamed.get(owner).unwrap_or(owner))));
            let unit = owner.and_then(|owner| self.ids.get(&(mark.file, Ok(owner.clone()))));
            let stays = unit.is_some_and(|nth| self.units[*nth].sides[1].named.is_some());
            *vanished.entry(mark.hunk).or_default() += usize::from(mark.line.changed && !stays);
        }
        let mut changes = Vec::new();
        for mark in self.skips[1].iter().filter(|mark| mark.line.changed) {
            let replaces = vanished.get_mut(&mark.hunk).filter(|count| **count > 0);
            if mark.owner.as_ref().is_some_and(|owner| known.contains(&owned(mark, owner))) {
                continue;
            } else if let Some(count) = replaces {
                *count -= 1;
                continue;
            }
            let (path, what) = (&self.files[mark.file].path, mark.owner.as_deref().unwrap_or(mark.line.text));
            changes.push(TestChange::new(path, mark.line.number, TestChangeKind::Skipped, what));
        }
        changes
    }

    /// Returns the deleted test files that held assertions, but no test of a known kind.
    fn deleted_files(&self) -> impl Iterator<Item = TestChange> {
        let known: BTreeSet<usize> =
            self.units.iter().filter(|unit| unit.name.is_some()).map(|unit| unit.file).collect();
        let asserting = self.units.iter().filter(|unit| !self.lost_assertions(unit).is_empty()).map(|unit| unit.file);
        let lost = asserting.filter(move |file| !known.contains(file)).map(|file| &self.files[file]);
        let lost = lost.filter(|file| file.deleted && is_test_file(&file.path));
        lost.map(|file| TestChange::new(&file.path, 1, TestChangeKind::Deleted, &file.path))
    }
}

impl TestFile {
    /// Returns whether the values and one of the names of an assertion are in the added lines.
    fn adds(&self, assertion: &Assertion<'_>) -> bool {
        let (words, values) = (&assertion.words, &assertion.literals);
        let named = words.is_empty() || words.iter().any(|word| self.added.contains(*word));
        named && !values.is_empty() && values.iter().all(|value| self.added.contains(value))
    }
}

impl TestUnit<'_> {
    fn is_only_on(&self, side: usize) -> bool {
        self.sides[side].named.is_some() && self.sides[1 - side].named.is_none()
    }

    /// Removes the assertions that both sides make.
    fn strike_out(&mut self) {
        let [old, new] = &mut self.sides;
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        old.assertions.iter().for_each(|one| counts.entry(one.key.clone()).or_default().0 += 1);
        new.assertions.iter().for_each(|one| counts.entry(one.key.clone()).or_default().1 += 1);
        counts.values_mut().for_each(|(old, new)| (*old, *new) = (*old.min(new), *old.min(new)));
        let strike = |count: &mut usize| std::mem::replace(count, count.saturating_sub(1)) > 0;
        old.assertions.retain(|one| !counts.get_mut(&one.key).is_some_and(|(old, _)| strike(old)));
        new.assertions.retain(|one| !counts.get_mut(&one.key).is_some_and(|(_, new)| strike(new)));
    }

    /// Returns whether an assertion may go: it says nothing, or its subject is gone or asserted otherwise.
    fn excuses(&self, assertion: &Assertion<'_>) -> bool {
        let [old, new] = &self.sides;
        let removed = |word: &str| old.assigned.contains(word) && !new.assigned.contains(word);
        let mut subjects = assertion.words.iter().filter(|word| !matches!(**word, "is_ok" | "is_some" | "is_err"));
        let names_all = |one: &Assertion<'_>| assertion.words.iter().all(|word| one.words.contains(word));
        match assertion.strength {
            Strength::Nothing => true,
            // `assert!(a)` became a part of `assert!(a && b)`.
            _ if assertion.kind.starts_with("is") && new.assertions.iter().any(|one| names_all(&one.assertion)) => true,
            Strength::Vague => {
                !assertion.words.is_empty() && subjects.all(|word| new.words.contains(word) || removed(word))
            }
            _ => false,
        }
    }
}

/// Returns the unit that has at least half of the traces. Assertions of several tests may go to the same one.
fn successor(traces: &[String], units: &BTreeMap<String, Vec<usize>>, taken: &BTreeSet<usize>) -> Option<usize> {
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    for trace in traces {
        let free = |nth: &&usize| trace.starts_with("assertion") || !taken.contains(*nth);
        units.get(trace).into_iter().flatten().filter(free).for_each(|nth| *found.entry(*nth).or_default() += 1);
    }
    let best = found.into_iter().max_by_key(|(nth, count)| (*count, std::cmp::Reverse(*nth)))?;
    (best.1 * 2 >= traces.len()).then_some(best.0)
}

/// Returns the assertion that `old` most likely became: one that says no less about the same, then the nearest.
fn best_partner(old: &Assertion<'_>, free: &[&Located<'_>]) -> Option<usize> {
    let is_row = |one: &Assertion<'_>| one.kind == "row";
    let rank = |new: &Assertion<'_>| {
        let shared = old.shared_words(new);
        (old.expects_other(new), shared > 0 && new.strength >= old.strength, shared)
    };
    let fitting = free.iter().enumerate().filter(|(_, one)| is_row(old) == is_row(&one.assertion));
    fitting.max_by_key(|(nth, one)| (rank(&one.assertion), std::cmp::Reverse(*nth))).map(|(nth, _)| nth)
}

/// Returns what the step from one assertion to another is, if it is worth a report.
fn judge(old: &Assertion<'_>, new: &Assertion<'_>) -> Option<TestChangeKind> {
    let comparable = (old.kind == new.kind || old.shared_words(new) > 0) && !new.covers_many;
    if old.expects_other(new) {
        Some(TestChangeKind::Expectation)
    } else if new.strength < old.strength && (comparable || new.strength == Strength::Nothing) {
        Some(TestChangeKind::Weakened)
    } else {
        None
    }
}
