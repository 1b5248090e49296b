//! Reads a log from disk, in pieces and only the part that the cache does not cover.
//!
//! The cache is `state.json`: the state for people and tools, with what a later load needs to skip the log. It is
//! replaced in one step and never synced. It ends in a checksum and a code made with the user's key; if anything is
//! wrong with it, the log is read instead. It is written only when the log is durable up to its head, so its offset also
//! says how much of the log was acknowledged.

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineError, LineHash, MAX_LINE};
use pairflow_core::log::scan::{Damaged, End, Head, Scan, Scanned, Torn};
use pairflow_core::log::seal::SealKey;
use pairflow_core::log::{Envelope, Machine, Payload};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::StorageError;
use super::storage::{FileStat, Handle};

/// A state, read from its log.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<M = BubbleState> {
    /// The state.
    pub state: M,
    /// After the last whole append.
    pub head: Head,
    /// The remains of an append that never counted, if there are any.
    pub torn: Option<Torn>,
    /// Whether the last line lacks only its newline; the head includes that line.
    pub unterminated: bool,
    /// Where the state came from.
    pub from: StateSource,
}

/// Where a state came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateSource {
    /// The cache alone: the log is as it was when the cache was made.
    Cache,
    /// The cache, and the lines that were added since.
    Tail,
    /// The whole log.
    Log,
}

/// Why a log could not be read.
pub(super) enum ReadError {
    Damaged(Damaged),
    OtherFormat { found: u32, read: u32 },
    Storage(StorageError),
}

impl From<Damaged> for ReadError {
    fn from(damaged: Damaged) -> Self {
        match damaged.reason {
            LineError::OtherFormat { found, read } => Self::OtherFormat { found, read },
            _ => Self::Damaged(damaged),
        }
    }
}

impl From<StorageError> for ReadError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// How much is read at once: fits into a processor's cache.
const PIECE: usize = 256 << 10;

/// A log is created in one step with its first append, so a crash never leaves an empty one.
const NEVER_EMPTY: u64 = 1;

/// Reads the state of a log, from the cache as far as it can be trusted.
pub(super) fn load<M: Machine>(
    log: &dyn Handle,
    stat: &FileStat,
    id: &BubbleId,
    cache: Option<Cache<M>>,
) -> Result<Loaded<M>, ReadError> {
    let acknowledged_to = acknowledged_to(cache.as_ref(), stat);
    let (head, mut state, from) = match cache {
        Some(cache) if cache.is_exact(stat) => {
            let Cache { state, head, .. } = cache;
            return Ok(Loaded { state, head, torn: None, unterminated: false, from: StateSource::Cache });
        }
        Some(cache) if cache.is_of(stat) && stat.len > cache.head.offset && ends_at(log, &cache.head)? => {
            (cache.head, cache.state, StateSource::Tail)
        }
        _ => (Head::default(), M::new(id.clone()), StateSource::Log),
    };
    let scan = Scan::resume(id, head, acknowledged_to);
    let Scanned { head, end } = run(log, stat.len, scan, &mut |envelope| state.advance(&envelope))?;
    let torn = if let End::Torn(torn) = end { Some(torn) } else { None };
    Ok(Loaded { state, head, torn, unterminated: end == End::Unterminated, from })
}

/// Returns how much of a log is known to have been acknowledged.
pub(super) fn acknowledged_to<M>(cache: Option<&Cache<M>>, stat: &FileStat) -> u64 {
    cache.filter(|cache| cache.is_of(stat)).map_or(NEVER_EMPTY, |cache| cache.head.offset.max(NEVER_EMPTY))
}

/// Whether the line that ends at `head` has the hash that `head` names.
pub(super) fn ends_at(log: &dyn Handle, head: &Head) -> Result<bool, StorageError> {
    let plausible = head.last_len <= head.offset && head.last_len <= MAX_LINE as u64;
    let mut line = vec![0; if plausible { head.last_len as usize } else { 0 }];
    let count = log.read_at(head.offset - line.len() as u64, &mut line)?;
    Ok(count == line.len() && head.follows(&line))
}

/// Feeds a log to a scan, up to `len` bytes of it.
pub(super) fn run<B: Payload>(
    log: &dyn Handle,
    len: u64,
    mut scan: Scan<'_, B>,
    each: &mut impl FnMut(Envelope<B>),
) -> Result<Scanned, ReadError> {
    let left = usize::try_from(len.saturating_sub(scan.position())).unwrap_or(usize::MAX);
    let mut piece = vec![0; left.min(PIECE)];
    let mut held = 0;
    loop {
        let at = scan.position() + held as u64;
        let room = usize::try_from(len.saturating_sub(at)).unwrap_or(usize::MAX).min(piece.len() - held);
        let count = log.read_at(at, &mut piece[held..held + room])?;
        held += count;
        if count == 0 {
            return Ok(scan.finish(&piece[..held], each)?);
        }
        let taken = scan.feed(&piece[..held], each)?;
        piece.copy_within(taken..held, 0);
        held -= taken;
        if held == piece.len() {
            piece.resize(held + PIECE, 0);
        }
    }
}

/// Calls `each` with every line from `at` on, without its newline, until it returns false. A last line without a newline
/// is included.
///
/// It also stops at a line above the limit: the file may be a hole of any size.
pub(super) fn lines(log: &dyn Handle, mut at: u64, each: &mut impl FnMut(&[u8]) -> bool) -> Result<(), StorageError> {
    let (mut piece, mut held) = (vec![0; PIECE], 0);
    loop {
        let count = log.read_at(at, &mut piece[held..])?;
        if count == 0 {
            each(&piece[..held]);
            return Ok(());
        }
        (held, at) = (held + count, at + count as u64);
        let mut taken = 0;
        while let Some(len) = piece[taken..held].iter().position(|byte| *byte == b'\n') {
            if !each(&piece[taken..taken + len]) {
                return Ok(());
            }
            taken += len + 1;
        }
        piece.copy_within(taken..held, 0);
        held -= taken;
        if held > MAX_LINE {
            return Ok(());
        }
        if held == piece.len() {
            piece.resize(held + PIECE, 0);
        }
    }
}

/// Returns the bytes of a log from `offset` on; fewer than `len` where it ends.
pub(super) fn copy(handle: &dyn Handle, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    let count = handle.read_at(offset, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// The content of a cache.
#[derive(Clone)]
pub(super) struct Cache<M> {
    pub(super) state: M,
    pub(super) head: Head,
    ino: u64,
    mtime_ns: i64,
    ctime_ns: i64,
}

/// Whose caches are trusted.
pub(super) enum TrustedWriter {
    /// Everybody's: logs have no owner here.
    Anyone,
    /// Only what was written with this key.
    Holder(SealKey),
    /// No one's: the user has no key.
    NoOne,
}

/// The size limit of a cache; a larger file was not written by pairflow.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// Another version may have other rules, so its caches are not used.
const WRITER: &str = env!("CARGO_PKG_VERSION");

/// The part of `state.json` for pairflow itself.
#[derive(Serialize, Deserialize)]
struct StoredState<U> {
    v: u32,
    by: String,
    seq: u64,
    offset: u64,
    head: LineHash,
    last_len: u64,
    ino: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    state: U,
}

#[derive(Deserialize)]
struct StateFile<M> {
    cache: StoredState<M>,
}

/// Writes the content of `state.json`; `stat` is the log's, taken when it ended at `head`. Without a key it has no code.
pub(super) fn encode<M: Machine>(
    state: &M,
    head: &Head,
    stat: &FileStat,
    key: Option<&SealKey>,
) -> Result<Vec<u8>, serde_json::Error> {
    let Head { seq, offset, hash, last_len } = *head;
    let FileStat { ino, mtime_ns, ctime_ns, .. } = *stat;
    let by = WRITER.to_owned();
    let stored =
        StoredState { v: M::CACHE_FORMAT, by, seq, offset, head: hash, last_len, ino, mtime_ns, ctime_ns, state };
    let mut bytes = serde_json::to_vec(&state.shown())?;
    bytes.pop();
    bytes.extend_from_slice(b",\"cache\":");
    serde_json::to_writer(&mut bytes, &stored)?;
    let code = key.map(|key| code_field(&bytes, key)).unwrap_or_default();
    bytes.extend_from_slice(code.as_bytes());
    let end = ending(&bytes);
    bytes.extend_from_slice(end.as_bytes());
    Ok(bytes)
}

/// Reads `state.json`; nothing if it is damaged, by another version, of another bubble, or without the key's code.
pub(super) fn decode<M: Machine>(bytes: &[u8], id: &BubbleId, by: &TrustedWriter) -> Option<Cache<M>> {
    let body = whole(bytes)?;
    if !by.wrote(body) {
        return None;
    }
    let StateFile::<M> { cache } = serde_json::from_slice(bytes).ok()?;
    let ours = cache.v == M::CACHE_FORMAT && cache.by == WRITER && cache.state.id() == id;
    let head = Head { seq: cache.seq, offset: cache.offset, hash: cache.head, last_len: cache.last_len };
    let StoredState { state, ino, mtime_ns, ctime_ns, .. } = cache;
    ours.then_some(Cache { state, head, ino, mtime_ns, ctime_ns })
}

/// The condition of a `state.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheCondition<M = BubbleState> {
    /// It is missing; it is derived again from the log.
    Absent,
    /// Another version of pairflow wrote it; it is derived again from the log.
    OtherVersion,
    /// It is valid for the log up to this line.
    Says {
        /// The number of that line.
        seq: u64,
        /// The state that follows from it.
        state: Box<M>,
    },
    /// It was not written with this user's key; it is derived again from the log.
    NotYours,
    /// It is not what pairflow wrote, for this reason.
    Wrong(&'static str),
}

/// Judges the bytes of a `state.json`.
pub(super) fn judge<M: Machine>(bytes: &[u8], id: &BubbleId, by: &TrustedWriter) -> CacheCondition<M> {
    let Some(body) = whole(bytes) else {
        return CacheCondition::Wrong("it is damaged or was edited: its checksum does not match");
    };
    match serde_json::from_slice::<StateFile<IgnoredAny>>(bytes) {
        Ok(StateFile { cache }) if cache.v != M::CACHE_FORMAT || cache.by != WRITER => {
            return CacheCondition::OtherVersion;
        }
        Ok(_) if !by.wrote(body) => return CacheCondition::NotYours,
        Ok(_) => {}
        Err(_) => return CacheCondition::Wrong("it is not a state of this log"),
    }
    match decode(bytes, id, by) {
        Some(Cache { state, head, .. }) => CacheCondition::Says { seq: head.seq, state: Box::new(state) },
        None => CacheCondition::Wrong("it is the state of another bubble"),
    }
}

/// What the code is computed for.
const KIND: &str = "state.json";
/// `,"code":"…"` with 32 digits.
const CODE_FIELD: usize = 42;
/// `,"crc":"xxxxxxxx"}` and a newline.
const END_LEN: usize = 19;

/// Returns the part before the checksum, if the checksum matches.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let (body, end) = bytes.split_at_checked(bytes.len().checked_sub(END_LEN)?)?;
    (ending(body).as_bytes() == end).then_some(body)
}

impl TrustedWriter {
    /// Whether a trusted writer wrote the part before the checksum.
    fn wrote(&self, body: &[u8]) -> bool {
        let key = match self {
            Self::Anyone => return true,
            Self::NoOne => return false,
            Self::Holder(key) => key,
        };
        let parts = body.len().checked_sub(CODE_FIELD).and_then(|at| body.split_at_checked(at));
        parts.is_some_and(|(content, field)| field == code_field(content, key).as_bytes())
    }
}

fn code_field(content: &[u8], key: &SealKey) -> String {
    format!(",\"code\":\"{}\"", key.code_for(KIND, content))
}

fn ending(body: &[u8]) -> String {
    format!(",\"crc\":\"{:08x}\"}}\n", crc32c::crc32c(body))
}

impl<M> Cache<M> {
    /// Makes the cache of a state; `stat` is the log's, taken when it ended at `head`.
    pub(super) fn new(state: M, head: Head, stat: &FileStat) -> Self {
        Self { state, head, ino: stat.ino, mtime_ns: stat.mtime_ns, ctime_ns: stat.ctime_ns }
    }

    /// Whether the cache was made for this very file.
    pub(super) fn is_of(&self, log: &FileStat) -> bool {
        self.ino == log.ino
    }

    /// Whether the file is untouched since the cache was made.
    pub(super) fn is_exact(&self, log: &FileStat) -> bool {
        let then = (self.ino, self.head.offset, self.mtime_ns, self.ctime_ns);
        then == (log.ino, log.len, log.mtime_ns, log.ctime_ns)
    }
}
