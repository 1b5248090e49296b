//! Runs all checks on a set of documents, and finds their acceptance criteria.

use super::outline::{DocumentEntry, DocumentOutline, EntryRole};
use super::remark::{DocumentCheck, Remark, place};
use super::section::RequiredSection;
use super::{structure, wording};

/// Returns what the documents, pairs of path and text, have to change: by file as given, then by place.
///
/// All of them count as one: a section may stand in any, and ids and links resolve across them. A link to a file that
/// is not among them is not followed.
pub fn examine(documents: &[(String, String)]) -> Vec<Remark> {
    if documents.is_empty() {
        return RequiredSection::ALL.into_iter().map(without_document).collect();
    }
    let outline = DocumentOutline::read(documents);
    let paths: Vec<&str> = documents.iter().map(|(path, _)| path.as_str()).collect();
    let mut remarks = structure::check(&outline, &paths);
    remarks.extend(wording::check(&outline));
    place(remarks, documents)
}

/// Returns the acceptance criteria of the documents, each on one line, in the order of the text.
pub fn criteria(documents: &[(String, String)]) -> Vec<String> {
    let outline = DocumentOutline::read(documents);
    let criteria = outline.entries.iter().filter(|entry| entry.role == EntryRole::Criterion);
    let text = |entry: &DocumentEntry| {
        entry.blocks.iter().map(|block| unmarked(outline.raw(*block))).collect::<Vec<_>>().join(" ")
    };
    criteria.map(text).filter(|text| !text.is_empty()).collect()
}

/// Returns a block on one line, without the mark and the box of a list item and the borders of a row.
fn unmarked(raw: &str) -> String {
    let line = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_matches(|c: char| matches!(c, '|' | '#' | '>' | ' '));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered =
        || line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") ")).filter(|_| digits > 0);
    let line = item.or_else(numbered).unwrap_or(line);
    ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).to_owned()
}

fn without_document(section: RequiredSection) -> Remark {
    let path = "(no document)".to_owned();
    Remark { check: DocumentCheck::Completeness, path, line: 1, column: 1, what: structure::missing(section) }
}
