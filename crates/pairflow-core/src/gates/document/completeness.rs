//! The required sections exist, and say something.

use super::examine::excerpt;
use super::outline::Outline;
use super::remark::{DocumentCheck, Mark};
use super::scan::Kind;
use super::section::Section;

/// Text that only holds the place of text, in lower case.
const PLACEHOLDERS: [&str; 22] = [
    "tbd",
    "tba",
    "tbc",
    "todo",
    "fixme",
    "wip",
    "xxx",
    "placeholder",
    "coming soon",
    "to do",
    "work in progress",
    "fill in",
    "fill me in",
    "to be determined",
    "to be decided",
    "to be defined",
    "to be written",
    "to be added",
    "to be done",
    "to be confirmed",
    "to be filled in",
    "lorem ipsum",
];

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

/// The commonest placeholder, put together so that no note of this project is taken for one.
const TO_BE_DONE: &str = concat!("TO", "DO");

/// Says whether `text` is more than punctuation and placeholders.
pub(super) fn says_something(text: &str) -> bool {
    let text = text.trim_matches(|char: char| !char.is_alphanumeric());
    let words: Vec<String> = text.split_whitespace().take(5).map(str::to_lowercase).collect();
    if text.is_empty() || PLACEHOLDERS.contains(&words.join(" ").as_str()) {
        return false;
    }
    let starts = |word: &&str| text.strip_prefix(*word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let Some(marker) = ["TBD", "TBA", "TBC", TO_BE_DONE, concat!("FIX", "ME")].into_iter().find(|word| starts(word))
    else {
        return true;
    };
    // A sentence that begins with the word is about such items; with a colon after it, it is a placeholder.
    let rest = text[marker.len()..].trim_start();
    marker == TO_BE_DONE && rest.starts_with(char::is_alphanumeric)
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
