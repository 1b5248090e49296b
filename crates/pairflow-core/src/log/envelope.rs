//! A fact before and after it is written down.

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
    pub key: Option<Key>,
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
pub struct Key(pub String);

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
}

impl Envelope {
    /// Returns the id of the envelope with number `seq` written at `at`.
    pub fn name(seq: u64, at: Moment) -> MsgId {
        MsgId(format!("msg_{}_{seq:03}", at.ts.yyyymmdd()))
    }
}
