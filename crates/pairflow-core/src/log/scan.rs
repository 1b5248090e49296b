//! Reading a whole log: which appends are there, and in what shape it ends.
//!
//! Bytes are fed in pieces of any size, so memory does not grow with the log. An append counts when its last line is
//! there. What stands after the last whole append is *torn* if a crash may have left it there, and *damaged* if not:
//! everything that was acknowledged, or that a later append was built upon, is never given up as torn.

use serde::{Deserialize, Serialize};

use crate::ids::BubbleId;
use crate::log::frame::{LineError, LineHash, MAX_LINE, glued_at};
use crate::log::line::{self, Decoded, Expect};
use crate::log::{Body, Envelope, Payload};

/// The most bytes that one append may have.
pub const MAX_APPEND: usize = 8 << 20;

/// A reader of one log, in the middle of its work.
#[derive(Debug)]
pub struct Scan<'a, B = Body> {
    bubble_id: &'a BubbleId,
    acknowledged_to: u64,
    /// After the last whole append.
    head: Head,
    /// After the last line that was understood.
    reached: Head,
    /// After the last byte that was taken.
    position: u64,
    /// The lines of an append whose end is not yet there.
    held: Vec<Envelope<B>>,
    /// The first line that was not understood, as long as it may be torn.
    doubt: Option<Damaged>,
}

/// A place in a log between two appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// The number of the last envelope; 0 at the very beginning.
    pub seq: u64,
    /// How many bytes stand before this place, every newline counted.
    pub offset: u64,
    /// The hash of the last line.
    pub hash: LineHash,
    /// How many bytes the last line has, its newline included.
    pub last_len: u64,
}

/// What a scan came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned {
    /// After the last whole append.
    pub head: Head,
    /// What stands behind it.
    pub end: End,
}

/// How a log ends that is not damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With the newline of a whole append.
    Clean,
    /// With a whole append that lacks only its newline. The head counts the newline as if it were there.
    Unterminated,
    /// With the remains of an append that never counted.
    Torn(Torn),
}

/// Bytes at the end of a log that are no whole append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub len: u64,
}

/// A log that cannot be trusted from some place on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, at byte {offset}, is damaged: {reason}")]
pub struct Damaged {
    /// Where the damaged line begins.
    pub offset: u64,
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: LineError,
}

impl<'a, B: Payload> Scan<'a, B> {
    /// Begins to read the log of a bubble. Bytes before `acknowledged_to` are known to have been whole once.
    pub fn new(bubble_id: &'a BubbleId, acknowledged_to: u64) -> Self {
        Self::resume(bubble_id, Head::default(), acknowledged_to)
    }

    /// Goes on at a place up to which the log is known already.
    pub fn resume(bubble_id: &'a BubbleId, head: Head, acknowledged_to: u64) -> Self {
        let position = head.offset;
        Self { bubble_id, acknowledged_to, head, reached: head, position, held: Vec::new(), doubt: None }
    }

    /// Returns the offset of the byte that the next piece must begin with.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes the lines that are whole in `bytes`, hands over the envelopes of finished appends, and returns how many
    /// bytes were taken; the rest has to be fed again, with more behind it.
    pub fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(Envelope<B>)) -> Result<usize, Damaged> {
        let mut taken = 0;
        while let Some(len) = memchr::memchr(b'\n', &bytes[taken..]) {
            self.take(&bytes[taken..taken + len], each)?;
            taken += len + 1;
        }
        if bytes.len() - taken >= MAX_LINE {
            self.puzzle(&bytes[taken..], LineError::TooLong)?;
            self.position += (bytes.len() - taken) as u64;
            taken = bytes.len();
        }
        Ok(taken)
    }

    /// Ends the scan; `rest` is what [`feed`](Self::feed) has not taken.
    pub fn finish(mut self, rest: &[u8], each: &mut impl FnMut(Envelope<B>)) -> Result<Scanned, Damaged> {
        let mut end = End::Clean;
        if !rest.is_empty() {
            self.take(rest, each)?;
            let whole = self.doubt.is_none() && self.held.is_empty();
            end = if whole { End::Unterminated } else { End::Clean };
            self.position -= u64::from(!whole);
        }
        let len = self.position - self.head.offset;
        if self.head.offset < self.acknowledged_to {
            let reason = LineError::CutOff { acknowledged_to: self.acknowledged_to };
            return Err(self.here(reason));
        }
        if len > 0 {
            end = End::Torn(Torn { offset: self.head.offset, len });
        }
        Ok(Scanned { head: self.head, end })
    }

    fn take(&mut self, line: &[u8], each: &mut impl FnMut(Envelope<B>)) -> Result<(), Damaged> {
        let expect = Expect { bubble_id: self.bubble_id, seq: self.reached.seq + 1, prev: self.reached.hash };
        if self.doubt.is_some() {
            self.puzzle(line, LineError::NoChecksum)?;
        } else {
            match line::decode_nth(line, &expect) {
                Ok(decoded) if self.continues(&decoded) => self.accept(line, decoded, each),
                Ok(_) => self.puzzle(line, LineError::OutOfAppend)?,
                // Whole, and of another version: neither torn nor damaged.
                Err(reason @ LineError::OtherFormat { .. }) => return Err(self.here(reason)),
                Err(reason) => self.puzzle(line, reason)?,
            }
        }
        self.position += line.len() as u64 + 1;
        Ok(())
    }

    /// Whether a line has the place in its append that comes next.
    fn continues(&self, decoded: &Decoded<B>) -> bool {
        let Decoded { envelope, nth } = decoded;
        match self.held.last() {
            None => *nth == 0,
            Some(before) => envelope.more + 1 == before.more && [0, self.held.len()].contains(&(*nth as usize)),
        }
    }

    fn accept(&mut self, line: &[u8], decoded: Decoded<B>, each: &mut impl FnMut(Envelope<B>)) {
        let last_len = line.len() as u64 + 1;
        let (seq, offset) = (decoded.envelope.seq, self.reached.offset + last_len);
        self.reached = Head { seq, offset, hash: LineHash::of(line), last_len };
        let finished = decoded.envelope.more == 0;
        if finished && self.held.is_empty() {
            each(decoded.envelope);
        } else {
            self.held.push(decoded.envelope);
        }
        if finished {
            self.held.drain(..).for_each(each);
            self.head = self.reached;
        }
    }

    /// Takes bytes that are not what should stand there: fails if they cannot be the remains of a crash.
    fn puzzle(&mut self, line: &[u8], reason: LineError) -> Result<(), Damaged> {
        let first = self.doubt.take().unwrap_or_else(|| self.here(reason));
        let known = self.head.offset < self.acknowledged_to;
        let long = self.position - self.head.offset > MAX_APPEND as u64;
        if known || long || holds_append::<B>(line) {
            return Err(first);
        }
        self.doubt = Some(first);
        Ok(())
    }

    fn here(&self, reason: LineError) -> Damaged {
        Damaged { offset: self.reached.offset, line: self.reached.seq + 1, reason }
    }
}

/// Whether a line that does not fit holds the whole first line of an append nevertheless.
///
/// A crash leaves less than was written. A whole record in a wrong place was put there by something else, after what
/// stands before it was safe; giving it up could lose what was acknowledged.
fn holds_append<B: Payload>(line: &[u8]) -> bool {
    let plain = line.strip_suffix(b"\r").unwrap_or(line);
    line::begins_append::<B>(plain) || glued_at(plain).is_some_and(|at| line::begins_append::<B>(&plain[at..]))
}

impl Damaged {
    /// Returns the offset in the file of the byte that is wrong, where one can be named.
    pub fn byte(&self) -> Option<u64> {
        self.reason.byte().map(|at| self.offset + at as u64)
    }
}

impl Head {
    /// Whether `line`, with its newline, is the last line before this place.
    pub fn follows(&self, line: &[u8]) -> bool {
        line.len() as u64 == self.last_len
            && line.strip_suffix(b"\n").is_some_and(|line| LineHash::of(line) == self.hash)
    }
}

/// Reads a bubble's log that is in memory as a whole.
pub fn scan(bubble_id: &BubbleId, bytes: &[u8], acknowledged_to: u64) -> Result<(Vec<Envelope>, Scanned), Damaged> {
    let mut envelopes = Vec::new();
    let mut each = |envelope| envelopes.push(envelope);
    let mut scan = Scan::new(bubble_id, acknowledged_to);
    let taken = scan.feed(bytes, &mut each)?;
    let scanned = scan.finish(&bytes[taken..], &mut each)?;
    Ok((envelopes, scanned))
}
