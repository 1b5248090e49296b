//! Marks that keep tests from running, on the new side and not on the old one.

use std::collections::BTreeMap;

use super::change::{TestChange, TestChangeKind};
use super::lineage::Lineage;
use super::paths::Language;
use super::survey::{SkipSeen, Survey};

/// What a mark is on: a test or suite of some name, or a place in a hunk; and the sort of mark.
type Key = (Language, Result<String, usize>, &'static str);

/// Reports marks that are new. One that went along with a moved or renamed test is not.
pub(super) fn report(survey: &Survey<'_>, lineage: &Lineage) -> Vec<TestChange> {
    let key = |skip: &SkipSeen<'_>, owner: Option<String>| -> Key {
        (survey.files[skip.file].language, owner.ok_or(skip.hunk), skip.mark)
    };
    let mut known: BTreeMap<Key, Vec<&SkipSeen<'_>>> = BTreeMap::new();
    for skip in &survey.skips[0] {
        let renamed = |owner: String| lineage.renamed.get(&(skip.file, owner.clone())).cloned().unwrap_or(owner);
        known.entry(key(skip, skip.owner.clone().map(renamed))).or_default().push(skip);
    }
    let mut left = Vec::new();
    for skip in &survey.skips[1] {
        if known.get_mut(&key(skip, skip.owner.clone())).and_then(Vec::pop).is_none() {
            left.push(skip);
        }
    }
    // A suite or test that changed its name in place keeps its mark.
    let mut vanished: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for skip in known.into_values().flatten().filter(|skip| !skip.owner_stays) {
        *vanished.entry((skip.hunk, skip.mark)).or_default() += 1;
    }
    left.retain(|skip| match vanished.get_mut(&(skip.hunk, skip.mark)) {
        Some(count) if *count > 0 && !skip.owner_stays => {
            *count -= 1;
            false
        }
        _ => skip.changed,
    });
    let change = |skip: &&SkipSeen<'_>| {
        let what = skip.owner.as_deref().unwrap_or(skip.text);
        TestChange::new(&survey.files[skip.file].path, skip.number, TestChangeKind::Skipped, what)
    };
    left.iter().map(change).collect()
}
