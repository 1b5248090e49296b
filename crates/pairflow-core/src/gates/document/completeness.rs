//! The required sections exist, and say something.

use super::block::Kind;
use super::outline::Outline;
use super::placeholder::says_something;
use super::remark::{DocumentCheck, Mark, excerpt};
use super::section::Section;

/// Marks the sections that are missing or empty.
pub(super) fn check(outline: &Outline<'_>) -> Vec<Mark> {
    let mut found = [false; Section::ALL.len()];
    let mut marks = Vec::new();
    let full = headings_with_text(outline);
    for (nth, block) in outline.blocks.iter().enumerate() {
        for section in Section::ALL.into_iter().filter(|section| block.opens.has(*section)) {
            found[section as usize] = true;
            if !full[nth] {
                marks.push(mark(block.page, block.range.start, empty(section, outline.raw(nth))));
            }
        }
    }
    for section in Section::ALL.into_iter().filter(|section| !found[*section as usize]) {
        marks.push(mark(0, 0, missing(section)));
    }
    marks
}

/// Returns what is said of a section that is nowhere.
pub(super) fn missing(section: Section) -> String {
    let title = section.title();
    format!("the section \"{title}\" is missing: add a heading such as `## {title}` with what it says")
}

/// Returns for each block whether it is a heading with text beneath it, in it or in the headings below it.
fn headings_with_text(outline: &Outline<'_>) -> Vec<bool> {
    let mut full = vec![false; outline.blocks.len()];
    let mut above: Vec<(u8, usize)> = Vec::new();
    let mut page = 0;
    for (nth, block) in outline.blocks.iter().enumerate() {
        if block.page != page {
            page = block.page;
            above.clear();
        }
        if let Kind::Heading(level) = block.kind {
            while above.last().is_some_and(|(other, _)| *other >= level) {
                above.pop();
            }
            above.push((level, nth));
        } else if block.kind != Kind::Header && says_something(shown(outline, nth)) {
            above.iter().for_each(|(_, heading)| full[*heading] = true);
        }
    }
    full
}

/// Returns what a reader sees of a block: the code of a code block, else all but comments.
fn shown<'a>(outline: &'a Outline<'_>, nth: usize) -> &'a str {
    let block = &outline.blocks[nth];
    match block.kind {
        Kind::Code => outline.raw(nth),
        _ => &outline.pages[block.page].measures[block.range.clone()],
    }
}

fn empty(section: Section, heading: &str) -> String {
    let (title, heading) = (section.title(), excerpt(heading));
    format!("the section \"{title}\" has nothing under its heading \"{heading}\": write it, or remove the heading")
}

fn mark(page: usize, at: usize, what: String) -> Mark {
    Mark { check: DocumentCheck::Completeness, page, at, what }
}
