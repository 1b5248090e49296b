//! All checks on all documents.

use super::outline::Outline;
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
    let outline = Outline::read(documents);
    let paths: Vec<&str> = documents.iter().map(|(path, _)| path.as_str()).collect();
    let mut marks: Vec<Mark> = completeness::check(&outline);
    marks.extend(ambiguity::check(&outline));
    marks.extend(consistency::check(&outline, &paths));
    marks.extend(anchors::check(&outline, &paths));
    marks.extend(quantity::check(&outline));
    marks.extend(traceability::check(&outline));
    place(marks, documents)
}

/// Returns the start of `text` on one line, for a sentence that speaks of it.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let text = text.trim_start_matches(|char: char| char.is_whitespace() || "*_:.-–—|])#`".contains(char));
    let text = text.trim_end_matches(|char: char| char.is_whitespace() || "*_:.|#`".contains(char));
    let plain = |char: char| if char.is_control() { ' ' } else { char };
    let mut short: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.truncate(short.trim_end().len());
        short.push('…');
    }
    short
}

fn without_document(section: Section) -> Remark {
    let path = "(no document)".to_owned();
    Remark { check: DocumentCheck::Completeness, path, line: 1, column: 1, what: completeness::missing(section) }
}
