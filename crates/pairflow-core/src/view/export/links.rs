//! Where on the page a reference leads: to a row of the ledger, a hunk, a receipt.

use std::collections::BTreeMap;

use crate::bubble::BubbleState;
use crate::gates::diff::LineRange;
use crate::ids::FindingId;
use crate::view::export::facts::Facts;
use crate::view::export::patch::Patch;
use crate::view::package::references::{Known, Reference, Target};

/// Everything on the page that can be linked to.
pub(super) struct Links<'a> {
    known: Known<'a>,
    files: BTreeMap<&'a str, Place>,
    receipts: BTreeMap<&'a str, u64>,
}

/// A file of the whole patch.
struct Place {
    number: usize,
    /// The lines of each hunk in the new file.
    hunks: Vec<LineRange>,
}

impl<'a> Links<'a> {
    /// Reads off what there is to link to; only what is on the page is.
    pub(super) fn of(facts: &'a Facts, whole: &'a Patch<'a>) -> Self {
        let state: &'a BubbleState = facts.state();
        let place = |(at, file): (usize, &'a super::patch::FilePatch<'a>)| {
            let hunks = file.hunks.iter().map(|hunk| hunk.new).collect();
            (file.path.as_str(), Place { number: at + 1, hunks })
        };
        let checks = facts.receipts.list.iter().filter(|ran| ran.finding.is_none());
        Self {
            known: Known::of(state),
            files: whole.files.iter().enumerate().map(place).collect(),
            receipts: checks.map(|ran| (ran.receipt.check.as_str(), ran.seq)).collect(),
        }
    }

    /// Finds what a text refers to, with the place on the page that it leads to.
    pub(super) fn find(&self, text: &str) -> Vec<(Reference<'a>, String)> {
        let found = self.known.references(text).into_iter();
        found.filter_map(|reference| self.anchor(&reference.to).map(|anchor| (reference, anchor))).collect()
    }

    /// Returns the place of a line of a changed file: its hunk, or else the file.
    pub(super) fn place(&self, path: &str, line: Option<u32>) -> Option<String> {
        let place = self.files.get(path)?;
        let inside = |hunk: &LineRange| line.is_some_and(|line| hunk.contain(line));
        Some(match place.hunks.iter().position(inside) {
            Some(hunk) => hunk_anchor(None, place.number, hunk + 1),
            None => file_anchor(None, place.number),
        })
    }

    /// Returns the place of the newest receipt of a check.
    pub(super) fn receipt(&self, check: &str) -> Option<String> {
        self.receipts.get(check).map(|seq| receipt_anchor(*seq))
    }

    fn anchor(&self, target: &Target<'_>) -> Option<String> {
        match target {
            Target::Finding(id) => Some(finding_anchor(*id)),
            Target::Place(path, line) => self.place(path, *line),
            Target::Check(name) => self.receipt(name),
        }
    }
}

/// The place of a row of the ledger: `f3`.
pub(super) fn finding_anchor(id: FindingId) -> String {
    format!("f{}", id.0)
}

/// The place of a receipt: `receipt-12`, after its line of the log.
pub(super) fn receipt_anchor(seq: u64) -> String {
    format!("receipt-{seq}")
}

/// The place of a message: `msg-12`, after its line of the log.
pub(super) fn message_anchor(seq: u64) -> String {
    format!("msg-{seq}")
}

/// The place of a file in the whole patch, or in that of a round.
pub(super) fn file_anchor(round: Option<u32>, file: usize) -> String {
    match round {
        None => format!("file-{file}"),
        Some(round) => format!("file-r{round}-{file}"),
    }
}

/// The place of a hunk in the whole patch, or in that of a round.
pub(super) fn hunk_anchor(round: Option<u32>, file: usize, hunk: usize) -> String {
    match round {
        None => format!("hunk-{file}-{hunk}"),
        Some(round) => format!("hunk-r{round}-{file}-{hunk}"),
    }
}
