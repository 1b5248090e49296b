//! All checks on all documents.

use super::entry::entries;
use super::link::links;
use super::outline::{Entry, Outline, Role};
use super::remark::{DocumentCheck, Mark, Remark, place};
use super::section::Section;
use super::{ambiguity, anchors, completeness, consistency, quantity, traceability};

/// Returns what the documents, pairs of path and text, have to change: by file as given, then by place.
///
/// All of them count as one: a section may stand in any, and ids and links resolve across them. A link to a file that
/// is not among them is not followed.
pub fn examine(documents: &[(String, String)]) -> Vec<Remark> {
    if documents.is_empty() {
        return Section::ALL.into_iter().map(without_document).collect();
    }
    let outline = read(documents);
    let paths: Vec<&str> = documents.iter().map(|(path, _)| path.as_str()).collect();
    let mut marks: Vec<Mark> = completeness::check(&outline);
    marks.extend(ambiguity::check(&outline));
    marks.extend(consistency::check(&outline, &paths));
    marks.extend(anchors::check(&outline, &paths));
    marks.extend(quantity::check(&outline));
    marks.extend(traceability::check(&outline));
    place(marks, documents)
}

/// Returns the acceptance criteria of the documents, each on one line, in the order of the text.
pub fn criteria(documents: &[(String, String)]) -> Vec<String> {
    let outline = read(documents);
    let criteria = outline.entries.iter().filter(|entry| entry.role == Role::Criterion);
    let text =
        |entry: &Entry| entry.blocks.iter().map(|block| unmarked(outline.raw(*block))).collect::<Vec<_>>().join(" ");
    criteria.map(text).filter(|text| !text.is_empty()).collect()
}

/// Reads the documents as one.
fn read(documents: &[(String, String)]) -> Outline<'_> {
    let mut outline = Outline::of_blocks(documents);
    outline.entries = entries(&outline);
    outline.defined = outline.definitions().map(|(_, mention)| mention.id.clone()).collect();
    outline.links = links(&outline);
    outline
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

fn without_document(section: Section) -> Remark {
    let path = "(no document)".to_owned();
    Remark { check: DocumentCheck::Completeness, path, line: 1, column: 1, what: completeness::missing(section) }
}
