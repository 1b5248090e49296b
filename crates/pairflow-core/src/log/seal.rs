//! The seal of an append: proof that it was written with one user's secret key.
//!
//! The hash chain shows damage; anyone who can write the file can compute it anew. A seal cannot be made without the
//! key. It stands in the last line of an append, before `prev`, and covers that line and, through `prev`, every line
//! before it. Nothing here knows where keys are kept.

use std::marker::PhantomData;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::hash::hex;
use crate::log::frame::{self, LineHash};
use crate::log::{Body, Payload, fields};

/// How a seal begins; another kind of seal would begin otherwise.
const KIND: &[u8] = b"hmac:";
const FIELD: &[u8] = b",\"seal\":\"";
/// The digits of the key's name, and of the code itself.
const KEY_ID: usize = 8;
const CODE: usize = 32;

/// A user's secret key.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey {
    secret: [u8; 32],
    id: String,
}

/// Seals the appends of one bubble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealer {
    key: SealKey,
    instance: LineHash,
}

/// What the seal of an append says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SealState {
    /// It was made with this key.
    Own,
    /// It was made with another key, so it cannot be checked here.
    OtherKey,
    /// There is none.
    Unsealed,
    /// It names this key and was not made with it.
    Broken,
}

impl SealKey {
    /// Makes a key of 32 secret bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        let id = hex(&Sha256::digest(secret)[..KEY_ID / 2]);
        Self { secret, id }
    }

    /// Returns the public name of the key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns a code that only the holder of the key can make. `kind` keeps codes for different uses apart: none made
    /// for one use is good for another.
    pub fn code_for(&self, kind: &str, content: &[u8]) -> String {
        // A line's code begins with a hash; no hash of a line is this one.
        self.code(LineHash::of(kind.as_bytes()), b"", content)
    }

    fn code(&self, instance: LineHash, prev: &[u8], content: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("a key of this kind may have any length");
        mac.update(&instance.0);
        mac.update(prev);
        mac.update(content);
        hex(&mac.finalize().into_bytes()[..CODE / 2])
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealKey({})", self.id)
    }
}

impl Sealer {
    /// Seals appends of the bubble whose first own line has the hash `instance`.
    pub fn new(key: SealKey, instance: LineHash) -> Self {
        Self { key, instance }
    }

    /// Seals the append that begins a bubble, or a life of it with another user: no line of it is there yet.
    pub fn beginning(key: SealKey) -> Self {
        Self { key, instance: LineHash::NONE }
    }

    /// Returns the key.
    pub fn key(&self) -> &SealKey {
        &self.key
    }

    /// Returns the field that seals a line which has `content` so far and follows a line with the hash `prev`.
    pub(super) fn field(&self, content: &[u8], prev: &LineHash) -> String {
        let code = self.key.code(self.instance, prev.to_string().as_bytes(), content);
        format!(",\"seal\":\"hmac:{}:{code}\"", self.key.id)
    }

    /// Says what the seal of a line is worth; `line` is the last one of an append, without its newline.
    pub fn judge(&self, line: &[u8]) -> SealState {
        let Some((content, seal, prev)) = split(line) else { return SealState::Unsealed };
        let (id, code) = (&seal[KIND.len()..KIND.len() + KEY_ID], &seal[KIND.len() + KEY_ID + 1..]);
        if id != self.key.id.as_bytes() {
            return SealState::OtherKey;
        }
        let expected = self.key.code(self.instance, prev, content);
        if expected.as_bytes() == code { SealState::Own } else { SealState::Broken }
    }
}

/// What the seals of several appends are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedSeals {
    /// The worst of them.
    pub worst: SealState,
    /// How many appends there are.
    pub appends: usize,
}

/// Judges every append of a log from its beginning, each with the instance that it belongs to.
#[derive(Debug)]
pub struct SealScan<'a, B = Body> {
    key: &'a SealKey,
    sealer: Sealer,
    /// The first line of the append that is being read.
    first: Option<LineHash>,
    judged: JudgedSeals,
    before: usize,
    of: PhantomData<B>,
}

impl<'a, B: Payload> SealScan<'a, B> {
    /// Begins with the first line of a log.
    pub fn new(key: &'a SealKey) -> Self {
        let sealer = Sealer::beginning(key.clone());
        let judged = JudgedSeals { worst: SealState::Own, appends: 0 };
        Self { key, sealer, first: None, judged, before: 0, of: PhantomData }
    }

    /// Takes the next line, without its newline.
    pub fn take(&mut self, line: &[u8]) {
        let Some(outline) = outline::<B>(line) else { return };
        if outline.adopts {
            self.before += self.judged.appends;
            self.judged = JudgedSeals { worst: SealState::Own, appends: 0 };
            self.sealer = Sealer::beginning(self.key.clone());
            self.first = None;
        }
        let first = *self.first.get_or_insert_with(|| LineHash::of(line));
        if outline.more == 0 {
            self.judged.appends += 1;
            self.judged.worst = self.judged.worst.max(self.sealer.judge(line));
            if self.sealer.instance == LineHash::NONE {
                self.sealer.instance = first;
            }
        }
    }

    /// Returns what the appends since the last adoption are worth, and how many stand before it.
    pub fn finish(self) -> (JudgedSeals, usize) {
        (self.judged, self.before)
    }
}

/// Judges the appends from one place of a log on, a line at a time.
#[derive(Debug)]
pub struct TailScan<'a, B = Body> {
    sealer: &'a Sealer,
    /// Seals the next append, if that one begins the log.
    beginning: Option<Sealer>,
    first: Option<LineHash>,
    judged: JudgedSeals,
    of: PhantomData<B>,
}

impl<'a, B: Payload> TailScan<'a, B> {
    /// Begins after an append, or with the one that `begins` the log of `sealer`.
    pub fn new(sealer: &'a Sealer, begins: bool) -> Self {
        let beginning = begins.then(|| Sealer::beginning(sealer.key.clone()));
        let judged = JudgedSeals { worst: SealState::Own, appends: 0 };
        Self { sealer, beginning, first: None, judged, of: PhantomData }
    }

    /// Takes the next line, without its newline, and says whether it is whole. What follows one that is not whole is not
    /// judged: whether that is the end of a write or damage is not decided here.
    pub fn take(&mut self, line: &[u8]) -> bool {
        let Some(outline) = outline::<B>(line) else { return false };
        self.first.get_or_insert_with(|| LineHash::of(line));
        if outline.more == 0 {
            let seal = self.beginning.as_ref().unwrap_or(self.sealer).judge(line);
            self.beginning = None;
            self.judged = JudgedSeals { worst: self.judged.worst.max(seal), appends: self.judged.appends + 1 };
        }
        true
    }

    /// Returns what the whole appends are worth, and the hash of their first line.
    pub fn finish(self) -> (JudgedSeals, Option<LineHash>) {
        (self.judged, self.first)
    }
}

/// What has to be known of a line to judge its seal.
struct LineOutline {
    more: u32,
    /// Whether the line begins a life of the bubble with another user.
    adopts: bool,
}

/// Reads a line as the log itself is read: what counts there is judged here.
fn outline<B: Payload>(line: &[u8]) -> Option<LineOutline> {
    let fields = if frame::is_whole(line) { fields::read::<B>(line).ok()? } else { return None };
    Some(LineOutline { more: fields.more, adopts: fields.event.body.adopts() })
}

/// Divides a line into what a seal covers, the seal, and the hash of the line before.
fn split(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (body, prev) = frame::split_end(line)?;
    let (content, field) =
        body.split_at_checked(body.len().checked_sub(FIELD.len() + KIND.len() + KEY_ID + CODE + 2)?)?;
    let seal = field.strip_prefix(FIELD)?.strip_suffix(b"\"")?;
    (seal.starts_with(KIND) && seal[KIND.len() + KEY_ID] == b':').then_some((content, seal, prev))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BubbleId;
    use crate::log::line::{Expect, decode, encode_append};
    use crate::log::{Envelope, Event, Lifecycle};
    use crate::time::{Moment, Timestamp};

    fn append(first: u64, count: u32, prev: LineHash, sealer: Option<&Sealer>) -> (Vec<u8>, LineHash) {
        let at = Moment { ts: Timestamp::from_millis(1_700_000_000_000), up: 5 };
        let bubble_id: BubbleId = "b1".parse().unwrap();
        let body = |n: u32| Body::Lifecycle(Lifecycle::Cancelled { reason: format!("reason {n}") });
        let envelope = |n: u32| {
            let seq = first + u64::from(n);
            let event = Event::own(1, body(n));
            Envelope { seq, id: Envelope::name(seq, at), at, bubble_id: bubble_id.clone(), more: count - 1 - n, event }
        };
        let envelopes: Vec<_> = (0..count).map(envelope).collect();
        let (bytes, hash, _) = encode_append(&envelopes, prev, sealer);
        (bytes, hash)
    }

    fn key(byte: u8) -> SealKey {
        SealKey::new([byte; 32])
    }

    #[test]
    fn a_sealed_line_is_a_line_and_only_its_own_key_vouches_for_it() {
        let sealer = Sealer::beginning(key(1));
        let (bytes, _) = append(1, 1, LineHash::NONE, Some(&sealer));
        let line = bytes.strip_suffix(b"\n").unwrap();
        let bubble_id = "b1".parse().unwrap();
        decode::<Body>(line, &Expect { bubble_id: &bubble_id, seq: 1, prev: LineHash::NONE }).unwrap();
        assert_eq!(sealer.judge(line), SealState::Own);
        assert_eq!(Sealer::beginning(key(2)).judge(line), SealState::OtherKey);
        assert_eq!(Sealer::new(key(1), LineHash([7; 16])).judge(line), SealState::Broken, "of another bubble");
        let (bytes, _) = append(1, 1, LineHash::NONE, None);
        assert_eq!(sealer.judge(bytes.strip_suffix(b"\n").unwrap()), SealState::Unsealed);
    }

    #[test]
    fn a_line_that_was_changed_and_summed_anew_does_not_keep_its_seal() {
        let sealer = Sealer::beginning(key(1));
        let (bytes, _) = append(1, 1, LineHash::NONE, Some(&sealer));
        let text = String::from_utf8(bytes).unwrap().replace("reason 0", "reason 1");
        let body = text.split(",\"crc\"").next().unwrap();
        let line = format!("{body},\"crc\":\"{:08x}\"}}", crc32c::crc32c(body.as_bytes()));
        assert!(frame::is_whole(line.as_bytes()));
        assert_eq!(sealer.judge(line.as_bytes()), SealState::Broken);
    }

    fn judge_all(sealer: &Sealer, begins: bool, log: &[u8]) -> (SealState, usize) {
        let mut scan = TailScan::<Body>::new(sealer, begins);
        let _whole = log.split(|byte| *byte == b'\n').all(|line| line.is_empty() || scan.take(line));
        let judged = scan.finish().0;
        (judged.worst, judged.appends)
    }

    #[test]
    fn a_log_is_judged_append_by_append_and_a_torn_end_is_left_to_others() {
        let (mut log, hash) = append(1, 1, LineHash::NONE, Some(&Sealer::beginning(key(1))));
        let first = LineHash::of(log.strip_suffix(b"\n").unwrap());
        let later = Sealer::new(key(1), first);
        let tail_at = log.len();
        let (bytes, hash) = append(2, 3, hash, Some(&later));
        log.extend(&bytes);
        assert_eq!(judge_all(&later, false, &log[tail_at..]), (SealState::Own, 1));
        let mut scan = SealScan::<Body>::new(later.key());
        log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).for_each(|line| scan.take(line));
        assert_eq!(scan.finish(), (JudgedSeals { worst: SealState::Own, appends: 2 }, 0));
        assert_eq!(judge_all(&later, true, &log), (SealState::Own, 2));
        let (forged, _) = append(5, 1, hash, None);
        log.extend(&forged);
        assert_eq!(judge_all(&later, false, &log[tail_at..]), (SealState::Unsealed, 2));
        let unterminated = &log[tail_at..log.len() - 1];
        assert_eq!(judge_all(&later, false, unterminated), (SealState::Unsealed, 2));
        log.truncate(log.len() - 10);
        assert_eq!(judge_all(&later, false, &log[tail_at..]), (SealState::Own, 1));
        assert_eq!(judge_all(&later, false, b""), (SealState::Own, 0));
    }
}
