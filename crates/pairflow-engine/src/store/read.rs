//! Reading a log from disk: as little of it as the cache allows, and in pieces.

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineError, MAX_LINE};
use pairflow_core::log::scan::{Damaged, End, Head, Scan, Scanned, Torn};
use pairflow_core::log::{Envelope, Machine, Payload};

use super::cache::Cache;
use super::storage::{Handle, Stat, StorageError};

/// A state as its log tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<M = BubbleState> {
    /// The state.
    pub state: M,
    /// After the last whole append.
    pub head: Head,
    /// The remains of an append that never counted, if there are any.
    pub torn: Option<Torn>,
    /// Whether the last line lacks only its newline; the head counts it nevertheless.
    pub unterminated: bool,
    /// Where the state came from.
    pub from: Source,
}

/// Where a state came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
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

/// How much is read at once; fits into the caches of a processor.
const PIECE: usize = 256 << 10;

/// A log is made in one step with its first append, so an empty one is never what a crash left.
const NEVER_EMPTY: u64 = 1;

/// Reads the state of a log, from the cache as far as it can be trusted.
pub(super) fn load<M: Machine>(
    log: &dyn Handle,
    stat: &Stat,
    id: &BubbleId,
    cache: Option<Cache<M>>,
) -> Result<Loaded<M>, ReadError> {
    let acknowledged_to = acknowledged_to(cache.as_ref(), stat);
    let (head, mut state, from) = match cache {
        Some(cache) if cache.is_exact(stat) => {
            let Cache { state, head, .. } = cache;
            return Ok(Loaded { state, head, torn: None, unterminated: false, from: Source::Cache });
        }
        Some(cache) if cache.is_of(stat) && stat.len > cache.head.offset && ends_at(log, &cache.head)? => {
            (cache.head, cache.state, Source::Tail)
        }
        _ => (Head::default(), M::new(id.clone()), Source::Log),
    };
    let scan = Scan::resume(id, head, acknowledged_to);
    let Scanned { head, end } = run(log, stat.len, scan, &mut |envelope| state.advance(&envelope))?;
    let torn = if let End::Torn(torn) = end { Some(torn) } else { None };
    Ok(Loaded { state, head, torn, unterminated: end == End::Unterminated, from })
}

/// Returns how much of a log is known to have been acknowledged.
pub(super) fn acknowledged_to<M>(cache: Option<&Cache<M>>, stat: &Stat) -> u64 {
    cache.filter(|cache| cache.is_of(stat)).map_or(NEVER_EMPTY, |cache| cache.head.offset.max(NEVER_EMPTY))
}

/// Whether the line that ends at `head` is the one that the head speaks of.
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

/// Hands over every line of a log from `at` on, without its newline, also a last one that lacks it; until one says no.
///
/// A line that is longer than a line may be ends it, too: the file may be a hole of any size.
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
