//! The JSON of a line, read in one pass.
//!
//! The type of a message stands before its payload, so the payload is read straight into its own type; every name is
//! borrowed from the line. Fields that this version does not know are checked and left where they are.

use std::marker::PhantomData;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::ids::{MsgId, Party};
use crate::log::frame::LineError;
use crate::log::{Event, Payload, RetryKey};
use crate::time::{BadTimestamp, Timestamp};

/// What a line says, before it is compared with what it should say.
pub(super) struct LineFields<'a, B> {
    pub(super) seq: u64,
    pub(super) id: &'a str,
    pub(super) ts: Timestamp,
    pub(super) ts_text: &'a str,
    pub(super) bubble_id: &'a str,
    pub(super) event: Event<B>,
    pub(super) up: u64,
    pub(super) more: u32,
    pub(super) nth: u32,
    pub(super) prev: &'a str,
}

/// How a character that is written as a number begins.
static ESCAPED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u"));

/// Reads the fields of a line.
pub(super) fn read<B: Payload>(line: &[u8]) -> Result<LineFields<'_, B>, LineError> {
    let text = std::str::from_utf8(line).map_err(|bad| LineError::NotUtf8 { at: bad.valid_up_to() })?;
    let complain = |error: serde_json::Error| {
        let whole = error.to_string();
        let what = whole.rsplit_once(" at line ").map_or(&*whole, |(what, _)| what).to_owned();
        LineError::NotAnEnvelope { at: error.column().saturating_sub(1), what }
    };
    // Escapes that stand for no character (half a surrogate pair) are skipped unseen in fields that nobody reads.
    if ESCAPED.find(line).is_some() {
        serde_json::from_str::<SoundText>(text).map_err(complain)?;
    }
    serde_json::from_str(text).map_err(complain)
}

/// The format of logs whose first line does not name one.
const UNNUMBERED: u32 = 1;

/// Returns the number of a log's format; nothing if `line` is not the first line of one.
pub(super) fn format_of(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct First {
        seq: u64,
        format: Option<u32>,
    }
    let First { seq, format } = serde_json::from_slice(line).ok()?;
    (seq == 1).then_some(format.unwrap_or(UNNUMBERED))
}

impl<'de, B: Payload> Deserialize<'de> for LineFields<'de, B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor(PhantomData))
    }
}

struct FieldsVisitor<B>(PhantomData<B>);

/// The fields as they come in.
#[derive(Default)]
struct FoundFields<'a> {
    seq: Option<u64>,
    id: Option<&'a str>,
    ts: Option<&'a str>,
    bubble_id: Option<&'a str>,
    sender: Option<&'a str>,
    recipient: Option<&'a str>,
    round: Option<u32>,
    refs: Option<Vec<String>>,
    up: Option<u64>,
    in_reply_to: Option<MsgId>,
    key: Option<RetryKey>,
    format: Option<u32>,
    more: Option<u32>,
    nth: Option<u32>,
    prev: Option<&'a str>,
    crc: Option<&'a str>,
    others: Vec<&'a str>,
}

/// The message itself as it comes in: its type, and its payload as soon as the type is known.
struct MessageParts<'a, B: Payload> {
    kind: Option<B::Kind>,
    body: Option<B>,
    early_payload: Option<&'a RawValue>,
}

impl<'de, B: Payload> Visitor<'de> for FieldsVisitor<B> {
    type Value = LineFields<'de, B>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with the fields of an envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = FoundFields::default();
        let mut message = MessageParts::<B> { kind: None, body: None, early_payload: None };
        while let Some(name) = map.next_key::<&'de str>()? {
            match name {
                "seq" => put(&mut found.seq, "seq", &mut map)?,
                "id" => put(&mut found.id, "id", &mut map)?,
                "ts" => put(&mut found.ts, "ts", &mut map)?,
                "bubble_id" => put(&mut found.bubble_id, "bubble_id", &mut map)?,
                "sender" => put(&mut found.sender, "sender", &mut map)?,
                "recipient" => put(&mut found.recipient, "recipient", &mut map)?,
                "type" => put(&mut message.kind, "type", &mut map)?,
                "round" => put(&mut found.round, "round", &mut map)?,
                "payload" => message.payload(&mut map)?,
                "refs" => put(&mut found.refs, "refs", &mut map)?,
                "up" => put(&mut found.up, "up", &mut map)?,
                "in_reply_to" => put(&mut found.in_reply_to, "in_reply_to", &mut map)?,
                "key" => put(&mut found.key, "key", &mut map)?,
                "format" => put(&mut found.format, "format", &mut map)?,
                "more" => put(&mut found.more, "more", &mut map)?,
                "nth" => put(&mut found.nth, "nth", &mut map)?,
                "prev" => put(&mut found.prev, "prev", &mut map)?,
                "crc" => put(&mut found.crc, "crc", &mut map)?,
                other => found.other(other, &mut map)?,
            }
        }
        found.complete(message.complete()?)
    }
}

fn put<'de, T, A>(slot: &mut Option<T>, name: &'static str, map: &mut A) -> Result<(), A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    if slot.is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

impl<'de, B: Payload> MessageParts<'de, B> {
    fn payload<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        if self.body.is_some() || self.early_payload.is_some() {
            return Err(A::Error::duplicate_field("payload"));
        }
        match self.kind {
            Some(kind) => self.body = Some(map.next_value_seed(PayloadSeed::<B>(kind))?),
            None => self.early_payload = Some(map.next_value()?),
        }
        Ok(())
    }

    fn complete<E: Error>(self) -> Result<B, E> {
        let kind = need(self.kind, "type")?;
        match (self.body, self.early_payload) {
            (Some(body), _) => Ok(body),
            (None, Some(raw)) => B::read(kind, raw).map_err(E::custom),
            (None, None) => Err(E::missing_field("payload")),
        }
    }
}

impl<'de> FoundFields<'de> {
    fn other<A: MapAccess<'de>>(&mut self, name: &'de str, map: &mut A) -> Result<(), A::Error> {
        if self.others.contains(&name) {
            return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
        }
        self.others.push(name);
        map.next_value::<IgnoredAny>().map(drop)
    }

    fn complete<B, E: Error>(self, body: B) -> Result<LineFields<'de, B>, E> {
        let event = Event {
            sender: party(self.sender, "sender")?,
            recipient: party(self.recipient, "recipient")?,
            round: need(self.round, "round")?,
            body,
            refs: need(self.refs, "refs")?,
            in_reply_to: self.in_reply_to,
            key: self.key,
        };
        need(self.crc, "crc")?;
        let ts_text = need(self.ts, "ts")?;
        Ok(LineFields {
            seq: need(self.seq, "seq")?,
            id: need(self.id, "id")?,
            ts: time(ts_text).map_err(E::custom)?,
            ts_text,
            bubble_id: need(self.bubble_id, "bubble_id")?,
            event,
            up: need(self.up, "up")?,
            more: self.more.unwrap_or(0),
            nth: self.nth.unwrap_or(0),
            prev: need(self.prev, "prev")?,
        })
    }
}

fn need<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}

fn party<E: Error>(name: Option<&str>, field: &'static str) -> Result<Party, E> {
    need::<_, E>(name, field)?.parse().map_err(E::custom)
}

/// Reads a time; the one spelling that lines have is read without a detour.
fn time(text: &str) -> Result<Timestamp, BadTimestamp> {
    plain_time(text.as_bytes()).map_or_else(|| text.parse(), |millis| Ok(Timestamp::from_millis(millis)))
}

/// Reads `yyyy-mm-ddThh:mm:ss.mmmZ` as milliseconds since 1970.
fn plain_time(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let shape = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if shape.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let number = |at: usize, len: usize| {
        let digits = &text[at..at + len];
        let plain = digits.iter().all(u8::is_ascii_digit);
        plain.then(|| digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    // Leap seconds and days that only some months have are left to the parser that knows them.
    let usual = (1..=12).contains(&month) && (1..=28).contains(&day) && hour < 24 && minute < 60 && second < 60;
    // Years begin in March here, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let century_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = year * 365 + century_days + (153 * month + 2) / 5 + day - 719_469;
    usual
        .then(|| (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
        .map(|whole| Some(whole + number(20, 3)?))?
}

/// Reads a payload of a type that is already known.
struct PayloadSeed<B: Payload>(B::Kind);

impl<'de, B: Payload> DeserializeSeed<'de> for PayloadSeed<B> {
    type Value = B;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<B, D::Error> {
        B::read(self.0, json)
    }
}

/// Any JSON whose texts are all sound and whose objects name nothing twice.
struct SoundText;

impl<'de> Deserialize<'de> for SoundText {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(SoundText)
    }
}

impl<'de> Visitor<'de> for SoundText {
    type Value = SoundText;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<SoundText, E> {
        Ok(SoundText)
    }

    fn visit_bool<E>(self, _: bool) -> Result<SoundText, E> {
        Ok(SoundText)
    }

    fn visit_i64<E>(self, _: i64) -> Result<SoundText, E> {
        Ok(SoundText)
    }

    fn visit_u64<E>(self, _: u64) -> Result<SoundText, E> {
        Ok(SoundText)
    }

    fn visit_f64<E>(self, _: f64) -> Result<SoundText, E> {
        Ok(SoundText)
    }

    fn visit_str<E>(self, _: &str) -> Result<SoundText, E> {
        Ok(SoundText)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SoundText, A::Error> {
        while seq.next_element::<SoundText>()?.is_some() {}
        Ok(SoundText)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SoundText, A::Error> {
        let mut names = std::collections::BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                return Err(de::Error::custom(format_args!("duplicate field `{name}`")));
            }
            names.insert(name);
            map.next_value::<SoundText>()?;
        }
        Ok(SoundText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_the_slow_parser_reads_it() {
        let day = 86_400_000_i64;
        for n in -700_000_i64..2_900_000 {
            if n % 97 != 0 {
                continue;
            }
            let time = Timestamp::from_millis(n * day + (n.rem_euclid(day)));
            let text = time.to_string();
            if let Some(millis) = plain_time(text.as_bytes()) {
                assert_eq!(millis, time.millis(), "{text}");
            }
        }
        assert_eq!(plain_time(b"2024-02-28T23:59:59.999Z"), Some(1_709_164_799_999));
        for odd in ["2024-02-29T00:00:00.000Z", "2024-02-28T00:00:60.000Z", "2024-02-28T00:00:00Z", "x"] {
            assert_eq!(plain_time(odd.as_bytes()), None, "{odd}");
        }
    }
}
