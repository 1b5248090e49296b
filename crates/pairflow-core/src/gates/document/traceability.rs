//! Every requirement has a criterion that says when it is met.

use super::block::Kind;
use super::outline::{Entry, Outline, Role};
use super::placeholder::says_something;
use super::remark::{DocumentCheck, Mark, excerpt};
use super::section::Section;

/// Marks the requirements that no criterion names.
pub(super) fn check(outline: &Outline<'_>) -> Vec<Mark> {
    let groups = groups(outline);
    let mut marks = Vec::new();
    let mut nth = 0;
    for (at, entry) in outline.entries.iter().enumerate().filter(|(_, entry)| entry.role == Role::Requirement) {
        nth += 1;
        if !outline.links.reaches(at) && !entry.accepted_in_row && !groups[at] {
            marks.push(mark(outline, entry.block, unmet(outline, entry, nth)));
        }
    }
    if nth == 0 {
        marks.extend(prose_only(outline));
    }
    marks
}

/// Returns for each entry whether it only groups requirements that are checked one by one.
fn groups(outline: &Outline<'_>) -> Vec<bool> {
    let mut groups = vec![false; outline.entries.len()];
    for entry in outline.entries.iter().filter(|entry| entry.role == Role::Requirement) {
        if let Some(inside) = entry.inside {
            groups[inside] = true;
        }
    }
    groups
}

fn unmet(outline: &Outline<'_>, entry: &Entry, nth: usize) -> String {
    let text = outline.texts[outline.blocks[entry.block].page];
    let range = &outline.blocks[entry.block].range;
    match &entry.name {
        Some(name) => {
            let (id, said) = (&text[name.at..name.end], excerpt(&text[name.end..range.end]));
            format!("requirement {id} ({said}) is named by no acceptance criterion: add one that names {id}")
        }
        None => {
            let said = excerpt(&text[range.clone()]);
            let advice = format!("number it, as in \"R{nth}: …\"");
            format!("requirement {nth} ({said}) has no id, so that no acceptance criterion can name it: {advice}")
        }
    }
}

/// Requirements that are written as running text cannot be named one by one.
fn prose_only(outline: &Outline<'_>) -> Option<Mark> {
    let block = (0..outline.blocks.len()).find(|nth| {
        let block = &outline.blocks[*nth];
        let text = matches!(block.kind, Kind::Paragraph | Kind::Quote | Kind::Row);
        text && block.sections.has(Section::Requirements) && says_something(outline.raw(*nth))
    })?;
    let what = "the requirements are running text: write each as a list item with an id, as in \"R1: …\"";
    Some(mark(outline, block, what.to_owned()))
}

fn mark(outline: &Outline<'_>, block: usize, what: String) -> Mark {
    let placed = &outline.blocks[block];
    Mark { check: DocumentCheck::Traceability, page: placed.page, at: placed.range.start, what }
}
