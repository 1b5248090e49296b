//! What a page is made of, and what each of its parts gets to see.

use crate::view::export::facts::Facts;
use crate::view::export::links::Links;
use crate::view::export::patch::Patch;

/// Everything that a page is made of.
#[derive(Debug, Clone)]
pub struct Export {
    /// What the log says.
    pub facts: Facts,
    /// How many lines the log has.
    pub lines: u64,
    /// The hash of its last line, which stands for all of it.
    pub head: String,
    /// What was recomputed, and whether it holds.
    pub checked: Vec<Checked>,
    /// What was changed.
    pub patches: Patches,
}

/// One thing that was recomputed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What.
    pub what: String,
    /// What is wrong; nothing if it holds.
    pub problem: Option<String>,
}

/// The changes of a bubble as git prints them.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    /// From the base to the newest snapshot.
    pub whole: String,
    /// Round by round.
    pub rounds: Vec<(u32, String)>,
    /// Why they cannot be shown.
    pub missing: Option<String>,
}

/// What every part of the page needs.
pub(super) struct View<'a> {
    pub(super) export: &'a Export,
    pub(super) links: Links<'a>,
    pub(super) whole: &'a Patch<'a>,
}
