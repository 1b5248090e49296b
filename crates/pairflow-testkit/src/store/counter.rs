//! Machines that are not bubbles: one that counts, and one with another format number of its logs, as another version of
//! pairflow would have it. They show that the store knows nothing of bubbles.

use std::fmt;

use pairflow_core::ids::BubbleId;
use pairflow_core::log::{Envelope, Event, Machine, Payload};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

/// A sum, and how much of it was added since the log was adopted last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    id: BubbleId,
    /// Everything that was ever added.
    pub total: u64,
    /// What its present owner has added.
    pub own: u64,
    /// The number of the last line.
    pub seq: u64,
}

/// What happens to a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// `ADDED`
    Added(Added),
    /// `TAKEN_OVER`
    TakenOver(TakenOver),
}

/// A number was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// How much.
    pub by: u64,
    /// Why.
    pub note: String,
}

/// Another user has the counter now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenOver {
    /// Where it is now.
    pub repo: String,
}

/// The message types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CountedKind {
    /// See [`Counted::Added`].
    Added,
    /// See [`Counted::TakenOver`].
    TakenOver,
}

/// What `state.json` shows of a counter.
#[derive(Debug, Serialize)]
pub struct Sum {
    total: u64,
}

impl Payload for Counted {
    type Kind = CountedKind;

    const FORMAT: u32 = 3;

    fn kind(&self) -> CountedKind {
        match self {
            Self::Added(_) => CountedKind::Added,
            Self::TakenOver(_) => CountedKind::TakenOver,
        }
    }

    fn to_json(&self) -> String {
        let json = match self {
            Self::Added(it) => serde_json::to_string(it),
            Self::TakenOver(it) => serde_json::to_string(it),
        };
        json.expect("numbers and texts are always writable as JSON")
    }

    fn read<'de, D: Deserializer<'de>>(kind: CountedKind, json: D) -> Result<Self, D::Error> {
        Ok(match kind {
            CountedKind::Added => Self::Added(Deserialize::deserialize(json)?),
            CountedKind::TakenOver => Self::TakenOver(Deserialize::deserialize(json)?),
        })
    }

    fn adopts(&self) -> bool {
        matches!(self, Self::TakenOver(_))
    }
}

impl Machine for Counter {
    type Body = Counted;
    type Shown = Sum;

    const DIR: &'static str = "counters";
    const LOCK: &'static str = "counter.lock";
    const CACHE_FORMAT: u32 = 1;

    fn new(id: BubbleId) -> Self {
        Self { id, total: 0, own: 0, seq: 0 }
    }

    fn id(&self) -> &BubbleId {
        &self.id
    }

    fn advance(&mut self, envelope: &Envelope<Counted>) {
        self.seq = envelope.seq;
        match &envelope.event.body {
            Counted::Added(added) => (self.total, self.own) = (self.total + added.by, self.own + added.by),
            Counted::TakenOver(_) => self.own = 0,
        }
    }

    fn shown(&self) -> Sum {
        Sum { total: self.total }
    }
}

impl Counted {
    /// An addition.
    pub fn added(by: u64, note: &str) -> Self {
        Self::Added(Added { by, note: note.to_owned() })
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after line {}", self.total, self.seq)
    }
}

/// A state of another version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dated<M, const FORMAT: u32>(M);

/// A payload of another version.
#[derive(Debug, Clone, PartialEq)]
pub struct DatedBody<B, const FORMAT: u32>(B);

/// Returns an event as another version has it.
pub fn dated<B, const FORMAT: u32>(event: Event<B>) -> Event<DatedBody<B, FORMAT>> {
    with_body(event, DatedBody)
}

impl<B: Payload, const FORMAT: u32> Payload for DatedBody<B, FORMAT> {
    type Kind = B::Kind;

    const FORMAT: u32 = FORMAT;

    fn kind(&self) -> B::Kind {
        self.0.kind()
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    fn read<'de, D: Deserializer<'de>>(kind: B::Kind, json: D) -> Result<Self, D::Error> {
        B::read(kind, json).map(Self)
    }

    fn adopts(&self) -> bool {
        self.0.adopts()
    }
}

impl<M: Machine, const FORMAT: u32> Machine for Dated<M, FORMAT> {
    type Body = DatedBody<M::Body, FORMAT>;
    type Shown = M::Shown;

    const DIR: &'static str = M::DIR;
    const LOCK: &'static str = M::LOCK;
    const CACHE_FORMAT: u32 = FORMAT;

    fn new(id: BubbleId) -> Self {
        Self(M::new(id))
    }

    fn id(&self) -> &BubbleId {
        self.0.id()
    }

    fn advance(&mut self, envelope: &Envelope<Self::Body>) {
        let Envelope { seq, id, at, bubble_id, more, event } = envelope.clone();
        let event = with_body(event, |body| body.0);
        self.0.advance(&Envelope { seq, id, at, bubble_id, more, event });
    }

    fn shown(&self) -> M::Shown {
        self.0.shown()
    }
}

fn with_body<A, B>(event: Event<A>, change: impl FnOnce(A) -> B) -> Event<B> {
    let Event { sender, recipient, round, body, refs, in_reply_to, key } = event;
    Event { sender, recipient, round, body: change(body), refs, in_reply_to, key }
}
