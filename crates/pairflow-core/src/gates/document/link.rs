//! Which criterion is about which requirement: by id, in either direction, or because it stands in it.

use std::collections::BTreeMap;

use super::id::{Id, Mention};
use super::outline::{Entry, Links, Outline, Role};

/// A heading that names more requirements than this names a group, not what each criterion under it is about.
const FEW: usize = 8;

/// Finds the links of `outline`, whose entries are known.
pub(super) fn links(outline: &Outline<'_>) -> Links {
    let names = Names::of(&outline.entries);
    let mut links = Links { first: names.first(&outline.entries), ..Links::default() };
    for (nth, entry) in outline.entries.iter().enumerate() {
        match entry.role {
            Role::Criterion => {
                links.pairs.extend(named(outline, entry, &names.requirements).map(|other| (other, nth)));
                links.pairs.extend(around(outline, entry, &names).into_iter().map(|other| (other, nth)));
            }
            Role::Requirement => {
                links.pairs.extend(named(outline, entry, &names.criteria).map(|other| (links.first[nth], other)));
            }
        }
    }
    links.pairs.sort_unstable();
    links.pairs.dedup();
    links.traced = traced(outline, &names);
    links
}

/// Returns the requirement that a criterion stands in, or those that the heading above it names.
fn around(outline: &Outline<'_>, entry: &Entry, names: &Names<'_>) -> Vec<usize> {
    match entry.inside.map(|inside| (inside, &outline.entries[inside])) {
        Some((inside, group)) if group.role == Role::Requirement => vec![names.first_of(inside, group)],
        Some((_, group)) => mentioned(outline, group.block, &names.requirements).take(FEW).collect(),
        None => Vec::new(),
    }
}

/// Reads tables such as `| R1 | AC1 |` in a section on traceability.
fn traced(outline: &Outline<'_>, names: &Names<'_>) -> Vec<usize> {
    let mut traced: Vec<usize> = (0..outline.blocks.len())
        .filter(|nth| outline.blocks[*nth].trace && mentioned(outline, *nth, &names.criteria).next().is_some())
        .flat_map(|nth| mentioned(outline, nth, &names.requirements))
        .collect();
    traced.sort_unstable();
    traced
}

/// The entries that have an id, by it.
struct Names<'a> {
    requirements: BTreeMap<&'a Id, usize>,
    criteria: BTreeMap<&'a Id, usize>,
}

impl<'a> Names<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let by_role = |role: Role| {
            // The first of two with the same id counts.
            let named = entries.iter().enumerate().rev().filter(move |(_, entry)| entry.role == role);
            named.filter_map(|(nth, entry)| Some((&entry.name.as_ref()?.id, nth))).collect()
        };
        Self { requirements: by_role(Role::Requirement), criteria: by_role(Role::Criterion) }
    }

    fn first(&self, entries: &[Entry]) -> Vec<usize> {
        entries.iter().enumerate().map(|(nth, entry)| self.first_of(nth, entry)).collect()
    }

    fn first_of(&self, nth: usize, entry: &Entry) -> usize {
        let names = match entry.role {
            Role::Requirement => &self.requirements,
            Role::Criterion => &self.criteria,
        };
        entry.name.as_ref().and_then(|name| names.get(&name.id).copied()).unwrap_or(nth)
    }
}

fn named(outline: &Outline<'_>, entry: &Entry, names: &BTreeMap<&Id, usize>) -> impl Iterator<Item = usize> {
    entry.blocks.iter().flat_map(move |block| mentioned(outline, *block, names))
}

fn mentioned(outline: &Outline<'_>, block: usize, names: &BTreeMap<&Id, usize>) -> impl Iterator<Item = usize> {
    outline.blocks[block].mentions.iter().flat_map(Mention::ids).filter_map(move |id| names.get(&id).copied())
}
