//! What can go wrong with a log on disk, and why a log is foreign; each with what to do about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineError, MAX_LINE};
use pairflow_core::log::scan::{Damaged, MAX_APPEND};
use pairflow_core::log::seal::SealState;

use super::StorageError;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The log does not exist.
    #[error("there is no bubble {id}: {} does not exist", path.display())]
    Missing {
        /// The bubble.
        id: BubbleId,
        /// Where its log would be.
        path: PathBuf,
    },
    /// The log is missing, but other files of the bubble are there.
    #[error(
        "the log of bubble {id} is missing: {} does not exist, but other files of the bubble do; restore it from a copy, or move {} away",
        path.display(),
        dir.display()
    )]
    Gone {
        /// The bubble.
        id: BubbleId,
        /// Where its log was.
        path: PathBuf,
        /// Where the rest of it is.
        dir: PathBuf,
    },
    /// The log already exists.
    #[error("bubble {id} already exists in {}; choose another id", path.display())]
    Exists {
        /// The bubble.
        id: BubbleId,
        /// Where its log is.
        path: PathBuf,
    },
    /// The log is not this user's; nothing was changed.
    #[error("bubble {id} is foreign: {why}; pairflow does not act on it{}", if why.is_adoptable() { " until you adopt it" } else { "" })]
    Foreign {
        /// The bubble.
        id: BubbleId,
        /// Why it is foreign.
        why: Foreign,
    },
    /// Other users can write to the state directory.
    #[error("other users can write to {}, where pairflow records which bubbles are yours; make it writable by you alone", .0.display())]
    StateShared(PathBuf),
    /// The state directory is another user's.
    #[error(
        "{} belongs to another user; run pairflow as that user, or set XDG_STATE_HOME to a directory of yours",
        .0.display()
    )]
    StateOfOther(PathBuf),
    /// A part of the path of the state directory is a file.
    #[error(
        "cannot use the state directory {}: a part of this path is not a directory; move that file away, or set XDG_STATE_HOME",
        .0.display()
    )]
    StateNotDirectory(PathBuf),
    /// The log is not as it was shown; nothing was changed.
    #[error("the log of bubble {0} has changed since it was shown; review it again")]
    Changed(BubbleId),
    /// Another process holds the lock.
    #[error("another command has locked bubble {id} for {} s{}; try again when it has finished", waited.as_secs(), by(*holder))]
    Busy {
        /// The bubble.
        id: BubbleId,
        /// The process that holds the lock, if that is known.
        holder: Option<u32>,
        /// How long the lock was waited for.
        waited: Duration,
    },
    /// The log cannot be trusted; nothing was changed.
    #[error(
        "{} is damaged in line {line}, at byte {offset}: {reason}; `pairflow doctor --repair` keeps the lines before it",
        path.display()
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Where the damaged line begins.
        offset: u64,
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        reason: LineError,
    },
    /// Another version of pairflow wrote the log; nothing was changed.
    #[error("{} has format {found}; this version of pairflow reads format {read}; {}", path.display(), way_on(*found, *read, worktree.as_deref()))]
    OtherFormat {
        /// The log.
        path: PathBuf,
        /// The number of its format.
        found: u32,
        /// The number that this pairflow reads.
        read: u32,
        /// The worktree that belongs to it, if it is there.
        worktree: Option<PathBuf>,
    },
    /// The log ends in the remains of an append. Only `verify` reports it; the next command repairs it.
    #[error("{} ends in {len} bytes of an unfinished append, at byte {offset}; the next command moves them to quarantine", path.display())]
    Torn {
        /// The log.
        path: PathBuf,
        /// Where they begin.
        offset: u64,
        /// How many there are.
        len: u64,
    },
    /// The last line lacks its newline. Only `verify` reports it; the next command repairs it.
    #[error("the last line of {} lacks its newline, at byte {offset}; the next command adds it", path.display())]
    Unterminated {
        /// The log.
        path: PathBuf,
        /// Where the newline belongs.
        offset: u64,
    },
    /// Nothing was acknowledged.
    #[error("{source}; {}", if *undone { "nothing was recorded" } else { "it is unknown whether it was recorded; check the status" })]
    NotAppended {
        /// Whether the log is known to be as it was before.
        undone: bool,
        /// What failed.
        source: StorageError,
    },
    /// A message is too large to be written.
    #[error(
        "a message of {0} bytes is too large; the limit is {MAX_LINE} per line and {MAX_APPEND} per append; put the text into a file"
    )]
    TooLarge(usize),
    /// A damaged log is too large to be repaired; nothing was changed.
    #[error("{} is {bytes} bytes, which is too large to repair; move it away or truncate it", path.display())]
    TooLargeToRepair {
        /// The log.
        path: PathBuf,
        /// How many bytes it has.
        bytes: u64,
    },
    /// There is nothing to write.
    #[error("an append needs at least one event")]
    Nothing,
    /// An earlier write failed, so what is on disk has to be read again first.
    #[error("an earlier write to {} failed; run the command again", .0.display())]
    Poisoned(PathBuf),
    /// A name that could lead out of its directory.
    #[error("{0:?} is not the name of a file")]
    BadName(String),
    /// A file operation failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Returns what can be done about a log of another format.
fn way_on(found: u32, read: u32, worktree: Option<&Path>) -> String {
    match worktree {
        _ if found > read => "update pairflow to continue with it".to_owned(),
        Some(path) => format!(
            "finish it with the pairflow that wrote it, or commit the work in {} and create a new bubble from that branch",
            path.display()
        ),
        None => "finish it with the pairflow that wrote it, or create a new bubble".to_owned(),
    }
}

fn by(holder: Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl StoreError {
    pub(super) fn damaged(path: PathBuf, damaged: Damaged) -> Self {
        let Damaged { offset, line, reason } = damaged;
        Self::Damaged { path, offset, line, reason }
    }
}

/// Why a log is foreign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// It came with the repository, or was put there.
    #[error("it was not created by you on this machine")]
    Unknown,
    /// The repository is a copy of this one, which has the bubble.
    #[error("it is a copy of the bubble in {}", .0.display())]
    Copy(PathBuf),
    /// The repository was moved from here.
    #[error("it is registered for {} but no longer there; the repository was probably moved", .0.display())]
    Moved(PathBuf),
    /// It ends before this line, which is known to have been there.
    #[error(
        "its log ends before line {0}, which this machine has recorded; it was rolled back or restored from a backup"
    )]
    RolledBack(u64),
    /// It was replaced: this line differs.
    #[error("its log was replaced: line {0} differs from the one written here")]
    Replaced(u64),
    /// Lines were added that this user's pairflow did not write; their seals have this state.
    #[error("lines of its log were not written by your pairflow: {}", seal_words(*.0))]
    Forged(SealState),
    /// The key of this name, which sealed it, is gone.
    #[error(
        "the key that sealed its log (`{0}`) is no longer in your state directory; restore the key, or adopt all bubbles with 'pairflow adopt --all'"
    )]
    KeyLost(String),
    /// This file or directory belongs to another user.
    #[error("{} belongs to another user", .0.display())]
    OtherUser(PathBuf),
    /// This path is a link, so the files are elsewhere.
    #[error("{} is a link, not a directory of this repository", .0.display())]
    Linked(PathBuf),
}

impl Foreign {
    /// Whether the bubble can be adopted where it is.
    pub fn is_adoptable(&self) -> bool {
        !matches!(self, Self::Linked { .. } | Self::OtherUser { .. })
    }
}

/// Describes the state of seals, as part of a sentence.
pub fn seal_words(seal: SealState) -> &'static str {
    match seal {
        SealState::Own => "they are sealed by you",
        SealState::OtherKey => "they are sealed with another key",
        SealState::Unsealed => "they are not sealed",
        SealState::Broken => "their seal is broken",
    }
}
