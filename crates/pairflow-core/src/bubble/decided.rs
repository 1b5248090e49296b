//! What a command leads to, and what all rules share to say so.

use crate::bubble::{BubbleState, Refusal};
use crate::log::{Body, Event, Lifecycle};

/// What a command leads to: facts to record, and files that must be on disk before them.
///
/// What the shell owes the world afterwards is asked of [`crate::bubble::owed`], never remembered here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a decision that is not recorded never happened"]
pub struct Decided {
    /// The facts, in order; recorded all or not at all.
    pub events: Vec<Event>,
    /// Files beneath `artifacts/` that the facts point to.
    pub artifacts: Vec<Artifact>,
}

/// A file beneath `artifacts/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name, relative to `artifacts/`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Decided {
    /// A decision with these facts and no file.
    pub(crate) fn of(events: Vec<Event>) -> Self {
        Self { events, artifacts: Vec::new() }
    }

    /// A decision with one fact.
    pub(crate) fn one(event: Event) -> Self {
        Self::of(vec![event])
    }
}

/// A fact about the bubble itself.
pub(super) fn own(state: &BubbleState, event: Lifecycle) -> Event {
    Event::own(state.rounds.round, Body::Lifecycle(event))
}

/// Refuses what must not happen while the base branch is being merged.
pub(super) fn not_updating(state: &BubbleState, command: &'static str) -> Result<(), Refusal> {
    if !state.gate.updating {
        return Ok(());
    }
    let why = Some("the base branch is being merged into the worktree".to_owned());
    Err(Refusal::WrongState { state: state.phase.name(), command, why })
}
