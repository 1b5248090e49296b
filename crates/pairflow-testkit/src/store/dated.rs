//! A machine as another version of pairflow has it: the same, but for the number of the format of its logs.

use pairflow_core::ids::BubbleId;
use pairflow_core::log::{Envelope, Event, Machine, Payload};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

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
