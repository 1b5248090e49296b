//! A second opinion on a log, and what a command must lead to in a known state, both without the engine.
//!
//! The witness reads the bytes itself: it remembers every byte that was ever acknowledged, follows the chain, and folds the
//! state on its own. Every answer of the store is compared with this.

use std::collections::HashSet;

use pairflow_core::bubble::{BubbleState, Command, earlier};
use pairflow_core::ids::{BubbleId, MsgId, Party};
use pairflow_core::log::scan::{End, Head, Scan};
use pairflow_core::log::{Body, Envelope, Event, Machine, Payload, RetryKey};
use pairflow_core::respond::handle;
use pairflow_core::time::Moment;

/// One log as it was seen from outside.
#[derive(Debug, Clone)]
pub struct Witness<M: Machine = BubbleState> {
    /// The state that the seen lines tell.
    pub state: M,
    /// Every envelope seen.
    pub log: Vec<Envelope<M::Body>>,
    bytes: Vec<u8>,
    head: Head,
    /// How much of it was acknowledged.
    firm: (Head, usize),
    keys: HashSet<RetryKey>,
}

/// What a look brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// How many envelopes were known before.
    pub before: usize,
    /// How the log ends.
    pub end: End,
}

impl<M: Machine> Witness<M> {
    /// Knows nothing yet.
    pub fn new(id: BubbleId) -> Self {
        Self {
            state: M::new(id),
            log: Vec::new(),
            bytes: Vec::new(),
            head: Head::default(),
            firm: (Head::default(), 0),
            keys: HashSet::new(),
        }
    }

    /// Looks at the transcript: everything seen before must still be there, and what is new must continue the chain.
    pub fn look(&mut self, bytes: &[u8]) -> Result<News, String> {
        let known = self.bytes.len().min(bytes.len());
        if bytes[..known] != self.bytes[..known] {
            let at = (0..known).find(|at| bytes[*at] != self.bytes[*at]).unwrap_or(known);
            return Err(format!("the transcript was changed at byte {at}"));
        }
        if bytes.len() + 1 < self.bytes.len() {
            return Err(format!("the transcript lost bytes: {} were there, {} are", self.bytes.len(), bytes.len()));
        }
        let before = self.log.len();
        let id = self.state.id().clone();
        let scan = Scan::resume(&id, self.head, self.firm.0.offset);
        let fresh = bytes.get(self.bytes.len()..).unwrap_or_default();
        let mut found = Vec::new();
        let (head, end) = run(scan, fresh, &mut |envelope| found.push(envelope))?;
        for envelope in found {
            self.take(envelope)?;
        }
        if bytes.len() >= self.bytes.len() {
            self.bytes.extend_from_slice(&bytes[self.bytes.len()..bytes.len().min(head.offset as usize)]);
            self.bytes.resize(head.offset as usize, b'\n');
        }
        self.head = head;
        Ok(News { before, end })
    }

    /// Everything seen so far is known to be durable: an acknowledgement was given.
    pub fn make_firm(&mut self) {
        self.firm = (self.head, self.log.len());
    }

    /// The power went: only what was acknowledged is sure to be there.
    pub fn lose_power(&mut self) {
        let (head, count) = self.firm;
        self.head = head;
        self.bytes.truncate(head.offset as usize);
        self.log.truncate(count);
        self.state = M::new(self.state.id().clone());
        self.log.iter().for_each(|envelope| self.state.advance(envelope));
        self.keys = self.log.iter().filter_map(|envelope| envelope.event.key.clone()).collect();
    }

    /// Returns how many envelopes were acknowledged.
    pub fn firm(&self) -> usize {
        self.firm.1
    }

    /// Returns how many bytes were seen.
    pub fn len(&self) -> u64 {
        self.head.offset
    }

    /// Whether nothing was seen yet.
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    fn take(&mut self, envelope: Envelope<M::Body>) -> Result<(), String> {
        let number = self.log.len() as u64 + 1;
        if envelope.seq != number {
            return Err(format!("record {} stands where {number} belongs", envelope.seq));
        }
        if let Some(key) = &envelope.event.key
            && !self.keys.insert(key.clone())
        {
            return Err(format!("record {number} repeats the key {}", key.0));
        }
        self.state.advance(&envelope);
        self.log.push(envelope);
        Ok(())
    }
}

fn run<B: Payload>(
    mut scan: Scan<'_, B>,
    bytes: &[u8],
    each: &mut impl FnMut(Envelope<B>),
) -> Result<(Head, End), String> {
    let taken = scan.feed(bytes, each).map_err(|damage| damage.to_string())?;
    let scanned = scan.finish(&bytes[taken..], each).map_err(|damage| damage.to_string())?;
    Ok((scanned.head, scanned.end))
}

/// What a command must lead to.
#[derive(Debug, Clone)]
pub(super) enum Expect {
    /// The same command was recorded before, under this name.
    Repeated(MsgId),
    /// These facts are recorded.
    Facts(Vec<Event>),
    /// Nothing happens.
    Nothing,
    /// It is refused; for an agent, a warning may be recorded.
    Refused,
}

/// Says what `command` must lead to.
pub(super) fn expect(state: &BubbleState, command: &Command, now: Moment) -> Expect {
    if let Some(id) = earlier(state, command) {
        return Expect::Repeated(id);
    }
    match handle(state, command, now) {
        Ok(decided) if decided.events.is_empty() => Expect::Nothing,
        Ok(decided) => Expect::Facts(decided.events),
        Err(_) => Expect::Refused,
    }
}

impl Expect {
    /// Whether these records are all of what is expected.
    pub(super) fn is_met_by(&self, found: &[Envelope], command: &Command) -> bool {
        match self {
            Self::Repeated(_) | Self::Nothing => found.is_empty(),
            Self::Facts(facts) => facts.len() == found.len() && facts.iter().zip(found).all(|(a, b)| *a == b.event),
            Self::Refused => found.is_empty() || (command.agent().is_some() && is_warning(found)),
        }
    }
}

/// Whether a record only says that the remains of an append were set aside.
pub(super) fn tells_repair(envelope: &Envelope) -> bool {
    matches!(envelope.event.body, Body::ProtocolWarning(_)) && envelope.event.recipient == Party::Orchestrator
}

fn is_warning(found: &[Envelope]) -> bool {
    matches!(found, [one] if matches!(one.event.body, Body::ProtocolWarning(_)))
}
