//! `state.json`: the state for people and tools to read, with what a later load needs to skip the log.
//!
//! It is a cache. It is replaced in one step and never synced, it ends in a checksum of itself and a code made with the
//! user's key, and whatever is wrong with it, the log is read instead. It is written only when the log is known to be
//! durable up to its head, so its offset also says how much of the log was acknowledged.

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::Machine;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::scan::Head;
use pairflow_core::log::seal::SealKey;
use serde::{Deserialize, Serialize};

use super::storage::Stat;

/// What a cache says of a log.
#[derive(Clone)]
pub(super) struct Cache<M> {
    pub(super) state: M,
    pub(super) head: Head,
    ino: u64,
    mtime_ns: i64,
    ctime_ns: i64,
}

/// Whose cache is believed.
pub(super) enum By {
    /// Everybody's: no log has an owner here.
    Anyone,
    /// Only what was written with this key.
    Holder(SealKey),
    /// Nobody's: the user has no key.
    NoOne,
}

/// No state is larger; what is, was not written by pairflow and is not read.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// A state is only as good as the rules that made it.
const WRITER: &str = env!("CARGO_PKG_VERSION");

/// The part of `state.json` that is not for people.
#[derive(Serialize, Deserialize)]
struct Stored<U> {
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
    cache: Stored<M>,
}

/// Writes the content of `state.json`; `stat` is the log's, taken when it ended at `head`. Without a key it has no code.
pub(super) fn encode<M: Machine>(
    state: &M,
    head: &Head,
    stat: &Stat,
    key: Option<&SealKey>,
) -> Result<Vec<u8>, serde_json::Error> {
    let Head { seq, offset, hash, last_len } = *head;
    let Stat { ino, mtime_ns, ctime_ns, .. } = *stat;
    let by = WRITER.to_owned();
    let stored = Stored { v: M::CACHE_FORMAT, by, seq, offset, head: hash, last_len, ino, mtime_ns, ctime_ns, state };
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

/// Reads `state.json`; nothing if it is not whole, not by this version, of another bubble, or without the key's code.
pub(super) fn decode<M: Machine>(bytes: &[u8], id: &BubbleId, by: &By) -> Option<Cache<M>> {
    let body = whole(bytes)?;
    if !by.wrote(body) {
        return None;
    }
    let StateFile::<M> { cache } = serde_json::from_slice(bytes).ok()?;
    let ours = cache.v == M::CACHE_FORMAT && cache.by == WRITER && cache.state.id() == id;
    let head = Head { seq: cache.seq, offset: cache.offset, hash: cache.head, last_len: cache.last_len };
    let Stored { state, ino, mtime_ns, ctime_ns, .. } = cache;
    ours.then_some(Cache { state, head, ino, mtime_ns, ctime_ns })
}

/// What is to be said of a `state.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheStand<M = BubbleState> {
    /// There is none; it is made again from the log.
    Absent,
    /// Another version of pairflow wrote it; it is made again from the log.
    OtherVersion,
    /// It is whole, and speaks of the log up to this line.
    Says {
        /// The number of the last line that it knows.
        seq: u64,
        /// The state that it tells.
        state: Box<M>,
    },
    /// It was not written with this user's key; it is made again from the log.
    NotYours,
    /// It is not what pairflow wrote, and this is why.
    Wrong(&'static str),
}

/// Says what is to be thought of the bytes of a `state.json`.
pub(super) fn judge<M: Machine>(bytes: &[u8], id: &BubbleId, by: &By) -> CacheStand<M> {
    #[derive(Deserialize)]
    struct Outline {
        cache: Stored<serde::de::IgnoredAny>,
    }
    let Some(body) = whole(bytes) else {
        return CacheStand::Wrong("it is broken, or was edited: its checksum does not fit");
    };
    match serde_json::from_slice::<Outline>(bytes) {
        Ok(Outline { cache }) if cache.v != M::CACHE_FORMAT || cache.by != WRITER => return CacheStand::OtherVersion,
        Ok(_) if !by.wrote(body) => return CacheStand::NotYours,
        Ok(_) => {}
        Err(_) => return CacheStand::Wrong("it is no state of this log"),
    }
    match decode(bytes, id, by) {
        Some(Cache { state, head, .. }) => CacheStand::Says { seq: head.seq, state: Box::new(state) },
        None => CacheStand::Wrong("it is the state of another bubble"),
    }
}

/// What the code in `state.json` is made for.
const KIND: &str = "state.json";
/// `,"code":"…"` with 32 digits.
const CODE_FIELD: usize = 42;
/// `,"crc":"xxxxxxxx"}` and a newline.
const END_LEN: usize = 19;

/// Returns what stands before the checksum, if that fits.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let (body, end) = bytes.split_at_checked(bytes.len().checked_sub(END_LEN)?)?;
    (ending(body).as_bytes() == end).then_some(body)
}

impl By {
    /// Whether one who is believed wrote what stands before the checksum.
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
    /// Whether the cache was made for this very file.
    pub(super) fn is_of(&self, log: &Stat) -> bool {
        self.ino == log.ino
    }

    /// Whether the file is untouched since the cache was made.
    pub(super) fn is_exact(&self, log: &Stat) -> bool {
        let then = (self.ino, self.head.offset, self.mtime_ns, self.ctime_ns);
        then == (log.ino, log.len, log.mtime_ns, log.ctime_ns)
    }
}
