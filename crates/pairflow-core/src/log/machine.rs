//! What a log has to know of the machine whose facts it holds: the state that its payloads lead to.
//!
//! The line format, the chain, the seals and the store are the same for every machine. Nothing here knows the rules of one.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ids::BubbleId;
use crate::log::{Envelope, Payload};

/// A state that follows from a log alone.
pub trait Machine: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned {
    /// What its events say.
    type Body: Payload;
    /// What `state.json` shows of the state to people and tools.
    type Shown: Serialize;

    /// The directory below `.pairflow` that has a directory for each log, and the one of its records in the user's state directory.
    const DIR: &'static str;
    /// How the name of a lock file ends; no two machines share one.
    const LOCK: &'static str;
    /// The number of the format in which the cache keeps the state. It rises with every change of the state's fields.
    const CACHE_FORMAT: u32;

    /// Returns the state before the first event.
    fn new(id: BubbleId) -> Self;

    /// Returns whose state it is.
    fn id(&self) -> &BubbleId;

    /// Makes the state the one after `envelope`.
    fn advance(&mut self, envelope: &Envelope<Self::Body>);

    /// Returns what `state.json` shows of it.
    fn shown(&self) -> Self::Shown;

    /// Puts the places at which the files really are into the state: what a log says about that is never used.
    fn place(&mut self, _at: &Places<'_>) {}
}

/// Where the files of a log are.
pub struct Places<'a> {
    /// The root of the repository.
    pub repo: &'a Path,
    /// The worktree that belongs to the log's name.
    pub worktree: &'a Path,
    /// Looks up the repository's git directory.
    pub common_dir: &'a dyn Fn() -> PathBuf,
}
