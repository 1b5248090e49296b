//! One line of the log: how an envelope becomes bytes, and how bytes are trusted to be an envelope again.
//!
//! A line is written once and never again: what a newer pairflow put into it stays in it.

use std::io::Write as _;

use crate::ids::{BubbleId, MsgId};
use crate::log::fields::{self, LineFields};
use crate::log::frame::{LineError, LineHash, check_sum};
use crate::log::seal::Sealer;
use crate::log::{Envelope, Payload};
use crate::time::{Moment, Timestamp};

/// What the next line must say to be the next line.
#[derive(Debug, Clone, Copy)]
pub struct Expect<'a> {
    /// Whose log this is.
    pub bubble_id: &'a BubbleId,
    /// The number of the line, from 1.
    pub seq: u64,
    /// The hash of the line before it; zeros for the first line.
    pub prev: LineHash,
}

/// A line that was understood: the envelope, and which one of its append it is.
#[derive(Debug)]
pub(super) struct Decoded<B> {
    pub(super) envelope: Envelope<B>,
    pub(super) nth: u32,
}

/// Writes an append of one envelope: its line, newline included.
pub fn encode<B: Payload>(envelope: &Envelope<B>, prev: &LineHash) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    encode_nth(&mut bytes, envelope, 0, (prev, None));
    bytes
}

/// Writes the lines of one append, sealed if there is a key, and returns the hash and the length of the last one.
///
/// Beside `more`, which counts down to the end of the append, every line after the first says that it is the `nth`:
/// after a power loss this tells the remains of one append from a later append, which would prove an earlier one.
pub fn encode_append<B: Payload>(
    envelopes: &[Envelope<B>],
    prev: LineHash,
    sealer: Option<&Sealer>,
) -> (Vec<u8>, LineHash, usize) {
    let (mut bytes, mut hash, mut start) = (Vec::with_capacity(512 * envelopes.len()), prev, 0);
    for (nth, envelope) in envelopes.iter().enumerate() {
        start = bytes.len();
        let last = nth + 1 == envelopes.len();
        encode_nth(&mut bytes, envelope, nth, (&hash, sealer.filter(|_| last)));
        hash = LineHash::of(&bytes[start..bytes.len() - 1]);
    }
    let last = bytes.len() - start;
    (bytes, hash, last)
}

fn encode_nth<B: Payload>(bytes: &mut Vec<u8>, envelope: &Envelope<B>, nth: usize, end: (&LineHash, Option<&Sealer>)) {
    let (prev, sealer) = end;
    let start = bytes.len();
    write_fields(bytes, envelope, nth).expect("writing to memory does not fail");
    if let Some(sealer) = sealer {
        let field = sealer.field(&bytes[start..], prev);
        bytes.extend_from_slice(field.as_bytes());
    }
    write!(bytes, ",\"prev\":\"{prev}\"").expect("writing to memory does not fail");
    let crc = crc32c::crc32c(&bytes[start..]);
    writeln!(bytes, ",\"crc\":\"{crc:08x}\"}}").expect("writing to memory does not fail");
}

fn write_fields<B: Payload>(out: &mut Vec<u8>, envelope: &Envelope<B>, nth: usize) -> std::io::Result<()> {
    let Envelope { seq, id, at, bubble_id, more, event } = envelope;
    write!(out, "{{\"seq\":{seq},\"id\":")?;
    serde_json::to_writer(&mut *out, id)?;
    write!(out, ",\"ts\":\"{}\",\"bubble_id\":\"{bubble_id}\"", at.ts)?;
    write!(out, ",\"sender\":\"{}\",\"recipient\":\"{}\",\"type\":", event.sender, event.recipient)?;
    serde_json::to_writer(&mut *out, &event.body.kind())?;
    write!(out, ",\"round\":{},\"payload\":{},\"refs\":", event.round, event.body.to_json())?;
    serde_json::to_writer(&mut *out, &event.refs)?;
    write!(out, ",\"up\":{}", at.up)?;
    if *seq == 1 {
        write!(out, ",\"format\":{}", B::FORMAT)?;
    }
    if let Some(question) = &event.in_reply_to {
        out.extend_from_slice(b",\"in_reply_to\":");
        serde_json::to_writer(&mut *out, question)?;
    }
    if let Some(key) = &event.key {
        out.extend_from_slice(b",\"key\":");
        serde_json::to_writer(&mut *out, key)?;
    }
    if *more > 0 {
        write!(out, ",\"more\":{more}")?;
    }
    if nth > 0 {
        write!(out, ",\"nth\":{nth}")?;
    }
    Ok(())
}

/// Reads a line, without its newline, as the one that is expected.
pub fn decode<B: Payload>(line: &[u8], expect: &Expect<'_>) -> Result<Envelope<B>, LineError> {
    decode_nth(line, expect).map(|decoded| decoded.envelope)
}

pub(super) fn decode_nth<B: Payload>(line: &[u8], expect: &Expect<'_>) -> Result<Decoded<B>, LineError> {
    check_sum(line)?;
    if expect.seq == 1 {
        // Nothing else of a line is understood before it is known in which format it is.
        check_format::<B>(line)?;
    }
    let fields = fields::read(line)?;
    if fields.bubble_id != expect.bubble_id.as_str() {
        return Err(LineError::Foreign { found: fields.bubble_id.to_owned() });
    }
    if fields.seq != expect.seq {
        return Err(LineError::Gap { expected: expect.seq, found: fields.seq });
    }
    if fields.prev.as_bytes() != expect.prev.hex() {
        return Err(LineError::Chain { expected: expect.prev, found: fields.prev.to_owned() });
    }
    let at = Moment { ts: fields.ts, up: fields.up };
    if !fits(fields.id, fields.seq, fields.ts_text, at.ts) {
        return Err(LineError::WrongId { found: fields.id.to_owned() });
    }
    Ok(assemble(fields, at, expect.bubble_id))
}

fn check_format<B: Payload>(line: &[u8]) -> Result<(), LineError> {
    match fields::format_of(line) {
        Some(found) if found != B::FORMAT => Err(LineError::OtherFormat { found, read: B::FORMAT }),
        _ => Ok(()),
    }
}

fn assemble<B>(fields: LineFields<'_, B>, at: Moment, bubble_id: &BubbleId) -> Decoded<B> {
    let LineFields { seq, id, more, nth, event, .. } = fields;
    let envelope = Envelope { seq, id: MsgId(id.to_owned()), at, bubble_id: bubble_id.clone(), more, event };
    Decoded { envelope, nth }
}

/// Whether these bytes are a whole, undamaged line that begins an append, of whatever place in whatever log.
///
/// An append is begun only when everything before it is safe, so such a line proves what stands before it.
pub(super) fn begins_append<B: Payload>(line: &[u8]) -> bool {
    check_sum(line).is_ok() && fields::read::<B>(line).is_ok_and(|fields| fields.nth == 0)
}

/// Whether `id` is the name of envelope `seq` of the day of `ts`.
fn fits(id: &str, seq: u64, ts_text: &str, ts: Timestamp) -> bool {
    let ([y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, ..], 24) = (ts_text.as_bytes(), ts_text.len()) else {
        return id == Envelope::name(seq, Moment { ts, up: 0 }).0;
    };
    let day = [*y1, *y2, *y3, *y4, *m1, *m2, *d1, *d2];
    let number = id.strip_prefix("msg_").and_then(|rest| rest.as_bytes().strip_prefix(&day)?.strip_prefix(b"_"));
    number.is_some_and(|number| is_number(number, seq))
}

/// Whether `text` is `number` with leading zeros up to three digits, as names have it.
fn is_number(text: &[u8], number: u64) -> bool {
    let (mut rest, mut digits) = (number, 0);
    for digit in text.iter().rev() {
        if *digit != b'0' + (rest % 10) as u8 {
            return false;
        }
        (rest, digits) = (rest / 10, digits + 1);
    }
    rest == 0 && (digits == 3 || digits > 3 && text[0] != b'0')
}
