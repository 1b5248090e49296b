//! What the columns of a table hold, by their titles.

use std::ops::Range;

use super::id::{self, Mention};
use super::placeholder::says_something;
use super::section::{Opens, Section, opens};

/// The columns that matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Columns {
    /// The one with ids, when its title says so.
    ids: Option<usize>,
    /// The one that says how a row is accepted.
    acceptance: Option<usize>,
    /// Whether the rows are requirements or criteria, with or without ids.
    pub(super) of_entries: bool,
}

const ENTRIES: [&str; 12] = [
    "id",
    "#",
    "no",
    "nr",
    "requirement",
    "requirements",
    "req",
    "description",
    "criterion",
    "criteria",
    "acceptance criterion",
    "acceptance criteria",
];

impl Columns {
    /// Reads the first row of a table.
    pub(super) fn read(text: &str, header: Range<usize>) -> Self {
        let mut columns = Self::default();
        for (nth, cell) in cells(text, header).into_iter().enumerate() {
            let title = text[cell].trim_matches([' ', '*', '_', '.', '\t']).to_lowercase();
            if matches!(title.as_str(), "id" | "#" | "no" | "nr" | "req") {
                columns.ids.get_or_insert(nth);
            }
            if accepts(&title) {
                columns.acceptance.get_or_insert(nth);
            }
            columns.of_entries |= ENTRIES.contains(&title.as_str());
        }
        columns
    }

    /// Returns the id of a row.
    pub(super) fn name(self, prose: &str, row: Range<usize>) -> Option<Mention> {
        let cell = cells(prose, row).get(self.ids.unwrap_or(0))?.clone();
        id::leading(prose, cell)
    }

    /// Says whether a row tells itself how it is accepted. An id in the cell is a reference, which has to hold.
    pub(super) fn accepted(self, text: &str, row: Range<usize>) -> bool {
        let cell = self.acceptance.and_then(|column| cells(text, row).get(column).cloned());
        cell.is_some_and(|cell| says_something(&text[cell.clone()]) && id::mentions(text, cell).is_empty())
    }
}

fn accepts(title: &str) -> bool {
    match opens(title) {
        Opens::Sections(sections) => sections.has(Section::Acceptance),
        _ => matches!(title, "criterion" | "criteria"),
    }
}

/// Returns the cells of a table row.
fn cells(text: &str, row: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut cells = Vec::new();
    let mut start = row.start;
    for at in row.clone() {
        if bytes[at] == b'|' && (at == row.start || bytes[at - 1] != b'\\') {
            if at > row.start {
                cells.push(start..at);
            }
            start = at + 1;
        }
    }
    if start < row.end {
        cells.push(start..row.end);
    }
    cells
}
