//! What became of each test: it stayed, moved, was renamed or taken apart, or is gone.
//!
//! Names decide first. A test whose name vanished is looked for by what it asserts and by its lines. On the way, the
//! claims that stand on both sides are struck out, so that `compare` sees only what changed.

use std::collections::{BTreeMap, BTreeSet};

use super::survey::{Claim, Survey, TestSeen};

/// What became of the tests of a diff.
#[derive(Default)]
pub(super) struct Lineage {
    /// Old tests that are gone, by index.
    pub(super) gone: Vec<usize>,
    /// New tests that nothing old became, by index.
    pub(super) fresh: Vec<usize>,
    /// Names that changed: file and old name, new name.
    pub(super) renamed: BTreeMap<(usize, String), String>,
    /// Groups of tests that are gone; what they claimed is not compared.
    pub(super) closed: BTreeSet<usize>,
}

/// How many tests are remembered for a line or claim that many tests share.
const MOST_SHARED: usize = 8;

/// Finds out what became of each test, and strikes out what both sides claim.
pub(super) fn follow(survey: &mut Survey<'_>) -> Lineage {
    let mut lineage = Lineage::default();
    let (lost, fresh) = by_name(survey);
    strike_out_same(survey);
    let heirs = Heirs::of(survey, &fresh);
    let mut taken = BTreeSet::new();
    for test in lost {
        match heirs.find(survey, &survey.tests[0][test], &taken) {
            Some(heir) => {
                let old = &survey.tests[0][test];
                let (from, key) = (old.group, (old.file, old.name.clone()));
                if let Some(fresh) = heir.test {
                    taken.insert(fresh);
                    lineage.renamed.insert(key, survey.tests[1][fresh].name.clone());
                }
                let line = heir.test.map_or(1, |test| survey.tests[1][test].number);
                hand_over(survey, from, heir.group, line);
            }
            None => {
                lineage.closed.insert(survey.tests[0][test].group);
                lineage.gone.push(test);
            }
        }
    }
    strike_out_same(survey);
    let fresh_groups: BTreeSet<usize> = fresh.iter().map(|test| survey.tests[1][*test].group).collect();
    strike_out_moved(survey, &fresh_groups);
    lineage.fresh = fresh.into_iter().filter(|test| !taken.contains(test)).collect();
    lineage
}

/// Pairs tests of one name, in a file first and then across files; returns old and new tests without partner.
fn by_name(survey: &mut Survey<'_>) -> (Vec<usize>, Vec<usize>) {
    let in_file = |test: &TestSeen<'_>| (test.file, test.name.clone());
    let all = |tests: &[TestSeen<'_>]| (0..tests.len()).collect::<Vec<_>>();
    let (old, new) = (all(&survey.tests[0]), all(&survey.tests[1]));
    let (old, new, _) = pair(survey, old, new, in_file);
    let languages: Vec<_> = survey.files.iter().map(|file| file.language).collect();
    let (old, new, moved) = pair(survey, old, new, |test| (languages[test.file], test.name.clone()));
    for (from, to) in moved {
        let (from, to) = (survey.tests[0][from].group, &survey.tests[1][to]);
        hand_over(survey, from, to.group, to.number);
    }
    (old, new)
}

type Paired = (Vec<usize>, Vec<usize>, Vec<(usize, usize)>);

fn pair<'a, K: Ord>(survey: &Survey<'a>, old: Vec<usize>, new: Vec<usize>, key: impl Fn(&TestSeen<'a>) -> K) -> Paired {
    let mut waiting: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for test in new.iter().rev() {
        waiting.entry(key(&survey.tests[1][*test])).or_default().push(*test);
    }
    let (mut lost, mut pairs) = (Vec::new(), Vec::new());
    for test in old {
        match waiting.get_mut(&key(&survey.tests[0][test])).and_then(Vec::pop) {
            Some(partner) => pairs.push((test, partner)),
            None => lost.push(test),
        }
    }
    let left: BTreeSet<usize> = waiting.into_values().flatten().collect();
    (lost, new.into_iter().filter(|test| left.contains(test)).collect(), pairs)
}

/// Moves all that one group claims to another group, to be compared there; from another file, at `line`.
///
/// The new side moves too: git's heading calls later hunks of a renamed test by its old name.
fn hand_over(survey: &mut Survey<'_>, from: usize, to: usize, line: u32) {
    if from == to {
        return;
    }
    let elsewhere = survey.groups[from].file != survey.groups[to].file;
    let mut given = std::mem::take(&mut survey.groups[from].content);
    if elsewhere {
        given.assertions[0].iter_mut().for_each(|claim| claim.here = line);
        given.must_fail[0].iter_mut().for_each(|mark| mark.0 = line);
    }
    survey.groups[to].content.take_in(given);
}

/// Strikes out the claims that both sides of a group make.
fn strike_out_same(survey: &mut Survey<'_>) {
    for group in &mut survey.groups {
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for claim in &group.content.assertions[1] {
            *known.entry(claim.assertion.key()).or_default() += 1;
        }
        let mut struck: BTreeMap<String, usize> = BTreeMap::new();
        group.content.assertions[0].retain(|claim| {
            let key = claim.assertion.key();
            let found = take_one(&mut known, &key);
            if found {
                *struck.entry(key).or_default() += 1;
            }
            !found
        });
        group.content.assertions[1].retain(|claim| !take_one(&mut struck, &claim.assertion.key()));
    }
}

fn take_one<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) -> bool {
    match counts.get_mut(key) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

/// Strikes out old claims that turn up in another group: of the same file, or anywhere in a new test or shared code.
fn strike_out_moved(survey: &mut Survey<'_>, fresh: &BTreeSet<usize>) {
    let mut near: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let mut far: BTreeMap<String, usize> = BTreeMap::new();
    let mut shared: BTreeSet<(usize, String)> = BTreeSet::new();
    for (at, group) in survey.groups.iter().enumerate() {
        for claim in &group.content.assertions[1] {
            let key = claim.assertion.key();
            *near.entry((group.file, key.clone())).or_default() += 1;
            if group.anonymous {
                // What many tests said each for itself may now be said once, by code they share.
                shared.insert((group.file, key.clone()));
            }
            if group.anonymous || fresh.contains(&at) {
                *far.entry(key).or_default() += 1;
            }
        }
    }
    for group in &mut survey.groups {
        let file = group.file;
        group.content.assertions[0].retain(|claim: &Claim<'_>| {
            let key = (file, claim.assertion.key());
            !(shared.contains(&key) || take_one(&mut near, &key) || take_one(&mut far, &key.1))
        });
    }
}

/// Where the claims and lines of new tests stand, to find what a lost test became.
struct Heirs {
    /// For each claim that is new in a file: the groups that make it.
    claims: BTreeMap<String, Vec<usize>>,
    /// For each file and line of a new test: the tests.
    lines: BTreeMap<(usize, String), Vec<usize>>,
    /// New tests of each hunk.
    hunks: BTreeMap<usize, Vec<usize>>,
    /// The new test of each group.
    tests: BTreeMap<usize, usize>,
}

/// What a lost test became: a group, and the new test of it if that is what it is.
struct Heir {
    group: usize,
    test: Option<usize>,
}

impl Heirs {
    fn of(survey: &Survey<'_>, fresh: &[usize]) -> Self {
        let mut heirs =
            Self { claims: BTreeMap::new(), lines: BTreeMap::new(), hunks: BTreeMap::new(), tests: BTreeMap::new() };
        for (at, group) in survey.groups.iter().enumerate() {
            for claim in group.content.assertions[1].iter().filter(|claim| !claim.in_function) {
                remember(heirs.claims.entry(claim.assertion.key()).or_default(), at);
            }
        }
        for at in fresh {
            let test = &survey.tests[1][*at];
            heirs.tests.insert(test.group, *at);
            remember(heirs.hunks.entry(test.hunk).or_default(), *at);
            for line in &test.body {
                remember(heirs.lines.entry((test.file, (*line).to_owned())).or_default(), *at);
            }
        }
        heirs
    }

    fn find(&self, survey: &Survey<'_>, lost: &TestSeen<'_>, taken: &BTreeSet<usize>) -> Option<Heir> {
        self.by_claims(survey, lost)
            .or_else(|| self.by_lines(survey, lost, taken))
            .or_else(|| self.by_place(survey, lost, taken))
    }

    /// The group that makes most of the lost claims, if at least half of them are made at all.
    fn by_claims(&self, survey: &Survey<'_>, lost: &TestSeen<'_>) -> Option<Heir> {
        let claims = &survey.groups[lost.group].content.assertions[0];
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        let mut kept = 0;
        for claim in claims {
            let groups = self.claims.get(&claim.assertion.key()).map_or(&[][..], Vec::as_slice);
            kept += usize::from(!groups.is_empty());
            for group in groups {
                *found.entry(*group).or_default() += 1;
            }
        }
        let (group, _) = found.into_iter().max_by_key(|(group, count)| (*count, std::cmp::Reverse(*group)))?;
        // One common claim in another file is no sign that the test went there.
        let sure = kept > 1 || survey.groups[group].file == lost.file;
        (kept * 2 >= claims.len() && sure).then(|| Heir { group, test: self.tests.get(&group).copied() })
    }

    /// The new test of the file that has at least half of the lost lines.
    fn by_lines(&self, survey: &Survey<'_>, lost: &TestSeen<'_>, taken: &BTreeSet<usize>) -> Option<Heir> {
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        for line in &lost.body {
            for test in self.lines.get(&(lost.file, (*line).to_owned())).into_iter().flatten() {
                *found.entry(*test).or_default() += 1;
            }
        }
        let free = found.into_iter().filter(|(test, _)| !taken.contains(test));
        let (test, count) = free.max_by_key(|(test, count)| (*count, std::cmp::Reverse(*test)))?;
        (count * 2 >= lost.body.len()).then(|| Heir { group: survey.tests[1][test].group, test: Some(test) })
    }

    /// A new test of the same hunk, if the lost one shows no body to tell it by.
    fn by_place(&self, survey: &Survey<'_>, lost: &TestSeen<'_>, taken: &BTreeSet<usize>) -> Option<Heir> {
        let near = self.hunks.get(&lost.hunk)?.iter().copied().find(|test| !taken.contains(test))?;
        lost.body.is_empty().then(|| Heir { group: survey.tests[1][near].group, test: Some(near) })
    }
}

fn remember(list: &mut Vec<usize>, at: usize) {
    if list.len() < MOST_SHARED && list.last() != Some(&at) {
        list.push(at);
    }
}
