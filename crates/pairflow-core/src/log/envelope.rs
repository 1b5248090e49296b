//! A fact before and after it is recorded, and what the store needs of the machine that it belongs to.
//!
//! The line format, the chain, the seals and the store are the same for every machine: payloads are [`Payload`], the state that
//! follows from them is a [`Machine`]. Nothing here knows the rules of one.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};

use crate::ids::{BubbleId, MsgId, Party};
use crate::log::Body;
use crate::time::Moment;

/// A fact that a decision brought, not yet written down: no number, no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<B = Body> {
    /// Who says it.
    pub sender: Party,
    /// Whom it is for.
    pub recipient: Party,
    /// The round that it belongs to.
    pub round: u32,
    /// What it says.
    pub body: B,
    /// Artifacts and files that it points to.
    pub refs: Vec<String>,
    /// The message that it answers.
    pub in_reply_to: Option<MsgId>,
    /// The retry key of the command that brought it; on the first event of a command only.
    pub key: Option<RetryKey>,
}

/// A fact as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<B = Body> {
    /// Its place in the log, from 1, without gaps. Order is by this, never by time.
    pub seq: u64,
    /// Its name: `msg_<yyyymmdd>_<seq>`.
    pub id: MsgId,
    /// When it was written.
    pub at: Moment,
    /// The bubble whose log it stands in.
    pub bubble_id: BubbleId,
    /// How many envelopes of the same append follow; an append whose last one is missing never happened.
    pub more: u32,
    /// The fact.
    pub event: Event<B>,
}

/// A name for one attempt of a command: a retry with the same key is the same record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RetryKey(pub String);

impl<B> Event<B> {
    /// Makes an event of pairflow's own, addressed to the person.
    pub fn own(round: u32, body: B) -> Self {
        Self {
            sender: Party::Orchestrator,
            recipient: Party::Human,
            round,
            body,
            refs: Vec::new(),
            in_reply_to: None,
            key: None,
        }
    }

    /// Returns it with this sender.
    #[must_use]
    pub fn by(self, sender: Party) -> Self {
        Self { sender, ..self }
    }

    /// Returns it with this recipient.
    #[must_use]
    pub fn to(self, recipient: Party) -> Self {
        Self { recipient, ..self }
    }
}

impl Envelope {
    /// Returns the id of the envelope with number `seq` written at `at`.
    pub fn name(seq: u64, at: Moment) -> MsgId {
        MsgId(format!("msg_{}_{seq:03}", at.ts.yyyymmdd()))
    }
}

/// What the lines of a log say: one payload for each message type.
pub trait Payload: Clone + fmt::Debug + PartialEq {
    /// The message type, as it stands in a line.
    type Kind: Copy + Serialize + DeserializeOwned;

    /// The number of the format of these logs, which the first line of each names. It rises when lines that were written before
    /// cannot be read any more, or would be read as something else.
    const FORMAT: u32;

    /// Returns the message type of this payload.
    fn kind(&self) -> Self::Kind;

    /// Writes the payload as JSON.
    fn to_json(&self) -> String;

    /// Reads the payload of a message of type `kind`.
    fn read<'de, D: Deserializer<'de>>(kind: Self::Kind, json: D) -> Result<Self, D::Error>;

    /// Whether this fact makes the log another user's: their seals begin with it.
    fn adopts(&self) -> bool;
}

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

/// The most findings of one review.
pub const MAX_FINDINGS: usize = 100;
/// The longest title of a finding, in characters.
pub const MAX_TITLE: usize = 500;
/// The longest detail, suggestion, reproducer, reason or part of an explanation, in bytes.
pub const MAX_DETAIL: usize = 8 * 1024;
/// The most that all of them have together in one hand-over, in bytes.
pub const MAX_REVIEW: usize = 256 * 1024;
/// The most defects that are recorded against a bubble that is done.
pub const MAX_ESCAPED: usize = 50;
/// The most questions of agents that may wait for the person.
pub const MAX_QUESTIONS: usize = 20;
/// The most files that one message may point to.
pub const MAX_REFS: usize = 100;
/// The longest retry key, in bytes.
pub const MAX_KEY: usize = 200;
/// The longest text of one field, in bytes.
pub const MAX_TEXT: usize = 64 * 1024;
