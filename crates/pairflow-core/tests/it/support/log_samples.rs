//! Logs to read: small, valid, and made the way the store makes them.

use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::line::encode_append;
use pairflow_core::log::{Body, Envelope, Event, Question, QuestionKind, Warning};
use pairflow_core::time::{Moment, Timestamp};

pub(crate) fn bubble() -> BubbleId {
    "login-race".parse().unwrap()
}

pub(crate) fn question(text: &str) -> Event {
    Event::own(1, Body::HumanQuestion(Question::new(QuestionKind::Question, text.to_owned())))
}

pub(crate) fn warning(text: &str) -> Event {
    let unmet = vec!["two clean reviews".to_owned()];
    Event::own(2, Body::ProtocolWarning(Warning { command: "converged".to_owned(), reason: text.to_owned(), unmet }))
}

pub(crate) fn moment(n: u64) -> Moment {
    Moment { ts: Timestamp::from_millis(1_794_000_000_000 + n as i64 * 1_000), up: 5_000 + n }
}

/// A log under construction.
#[derive(Default)]
pub(crate) struct Maker {
    pub(crate) bytes: Vec<u8>,
    pub(crate) envelopes: Vec<Envelope>,
    pub(crate) hash: LineHash,
    /// Where each append begins.
    pub(crate) starts: Vec<usize>,
}

impl Maker {
    pub(crate) fn append(&mut self, events: &[Event]) -> &mut Self {
        let count = events.len() as u32;
        let at = moment(self.envelopes.len() as u64);
        let mut lot = Vec::new();
        for (event, n) in events.iter().zip(1..) {
            let seq = self.envelopes.len() as u64 + u64::from(n);
            let id = Envelope::name(seq, at);
            lot.push(Envelope { seq, id, at, bubble_id: bubble(), more: count - n, event: event.clone() });
        }
        let (bytes, hash, _) = encode_append(&lot, self.hash, None);
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(&bytes);
        self.envelopes.extend(lot);
        self.hash = hash;
        self
    }

    /// Appends single questions until the log has exactly this many bytes.
    pub(crate) fn fill(&mut self, len: usize) -> &mut Self {
        self.grow_to(len - 1000);
        let mut empty = Self { bytes: vec![], envelopes: self.envelopes.clone(), hash: self.hash, starts: vec![] };
        let least = empty.append(&[question("")]).bytes.len();
        let text = "x".repeat(len - self.bytes.len() - least);
        self.append(&[question(&text)])
    }

    /// Appends single questions until the log has this many bytes.
    pub(crate) fn grow_to(&mut self, len: usize) -> &mut Self {
        while self.bytes.len() < len {
            let n = self.envelopes.len();
            let text = format!("question {n}: what about \"quotes\", tabs\tand ünïcode? {}", "x".repeat(n % 90));
            self.append(&[question(&text)]);
        }
        self
    }
}

/// Computes the checksum of a hand-made line again.
pub(crate) fn seal(body: &str) -> Vec<u8> {
    format!("{body},\"crc\":\"{:08x}\"}}", crc32c::crc32c(body.as_bytes())).into_bytes()
}
