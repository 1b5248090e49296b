//! What the gate says: which check, where, and what to do about it.

use std::fmt::Write as _;

/// One of the checks that code makes on a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentCheck {
    /// The required sections exist and say something.
    Completeness,
    /// Vague words stand next to a measure.
    Ambiguity,
    /// Ids, references, links, scope and numbers do not contradict each other.
    Consistency,
    /// Every requirement has an acceptance criterion.
    Traceability,
}

impl DocumentCheck {
    /// Every check, in the order in which they are reported.
    pub const ALL: [Self; 4] = [Self::Completeness, Self::Ambiguity, Self::Consistency, Self::Traceability];

    /// Returns the name of the check, as receipts and waivers use it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completeness => "document:completeness",
            Self::Ambiguity => "document:ambiguity",
            Self::Consistency => "document:consistency",
            Self::Traceability => "document:traceability",
        }
    }
}

/// One thing that a document has to change, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The check that fails by it.
    pub check: DocumentCheck,
    /// The document.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong and what to do, in a sentence.
    pub what: String,
}

/// A remark whose place is a byte of a page.
pub(super) struct PendingRemark {
    pub(super) check: DocumentCheck,
    pub(super) page: usize,
    pub(super) at: usize,
    pub(super) what: String,
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

/// Returns the remarks of one check as the output of a receipt: how many there are, then one line each.
pub fn report(check: DocumentCheck, remarks: &[Remark]) -> String {
    let own: Vec<&Remark> = remarks.iter().filter(|remark| remark.check == check).collect();
    let mut text = match own.len() {
        0 => format!("{}: no remarks\n", check.name()),
        1 => format!("{}: 1 remark\n", check.name()),
        many => format!("{}: {many} remarks\n", check.name()),
    };
    for Remark { path, line, column, what, .. } in own {
        writeln!(text, "{path}:{line}:{column}: {what}").expect("writing to a string cannot fail");
    }
    text
}

/// Turns bytes of pages into lines and columns. One sweep over each text, however many marks it has.
pub(super) fn place(mut marks: Vec<PendingRemark>, documents: &[(String, String)]) -> Vec<Remark> {
    marks.sort_by(|a, b| (a.page, a.at, a.check, &a.what).cmp(&(b.page, b.at, b.check, &b.what)));
    let mut here = PlaceFinder::default();
    let mut remarks = Vec::with_capacity(marks.len());
    for PendingRemark { check, page, at, what } in marks {
        let (path, text) = &documents[page];
        if here.page != page {
            here = PlaceFinder { page, ..PlaceFinder::default() };
        }
        here.go(text, at);
        remarks.push(Remark { check, path: path.clone(), line: here.line + 1, column: here.column + 1, what });
    }
    remarks.dedup();
    remarks
}

#[derive(Default)]
struct PlaceFinder {
    page: usize,
    at: usize,
    line: u32,
    column: u32,
}

impl PlaceFinder {
    fn go(&mut self, text: &str, to: usize) {
        for char in text[self.at..to].chars() {
            if char == '\n' {
                self.line = self.line.saturating_add(1);
                self.column = 0;
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self.at = to;
    }
}
