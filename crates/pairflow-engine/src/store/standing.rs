//! Whose a log is: this user's, or foreign, and why.

use std::path::PathBuf;

use pairflow_core::log::seal::SealState;

/// Whose a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// This user's.
    Own,
    /// Not this user's, or not provably so.
    Foreign(Foreign),
}

/// Why a log is foreign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// It arrived with the repository, or was put there.
    #[error("it was not created here: no bubble of yours on this machine has this log")]
    Unknown,
    /// The repository is a copy of one in which the bubble is.
    #[error("it is a copy of the bubble in {}", .of.display())]
    Copy {
        /// The repository with the original.
        of: PathBuf,
    },
    /// The repository was moved.
    #[error("it is on record for {}, and is not there any more; the repository seems to have been moved", .from.display())]
    Moved {
        /// Where it was.
        from: PathBuf,
    },
    /// It ends earlier than it once did.
    #[error(
        "its log ends before line {known}, which this machine has seen; it was rolled back, or restored from a backup"
    )]
    RolledBack {
        /// The last line that is known to have been there.
        known: u64,
    },
    /// Another log stands in its place.
    #[error("its log is not the one that was written here: line {known} is another one")]
    Replaced {
        /// The line that differs.
        known: u64,
    },
    /// Lines were added that this user's pairflow did not write.
    #[error("lines of its log were not written by your pairflow: {}", seal_words(*.seal))]
    Forged {
        /// What their seals are worth.
        seal: SealState,
    },
    /// The key that sealed it is gone.
    #[error(
        "the key that sealed its log (`{key}`) is not in your state directory any more; restore the key, or adopt all with 'pairflow adopt --all'"
    )]
    KeyLost {
        /// The name of the key.
        key: String,
    },
    /// Its files are another user's.
    #[error("{} belongs to another user", .path.display())]
    OtherUser {
        /// The file or directory.
        path: PathBuf,
    },
    /// Its files stand elsewhere.
    #[error("{} is a link, not a directory of this repository", .path.display())]
    Linked {
        /// The link.
        path: PathBuf,
    },
}

impl Standing {
    /// Whether it is this user's.
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }

    /// Returns why it is foreign, if it is.
    pub fn foreign(&self) -> Option<&Foreign> {
        match self {
            Self::Own => None,
            Self::Foreign(why) => Some(why),
        }
    }
}

impl Foreign {
    /// Whether the bubble can be adopted where it is.
    pub fn is_adoptable(&self) -> bool {
        !matches!(self, Self::Linked { .. } | Self::OtherUser { .. })
    }
}

/// Says what a seal is worth, as part of a sentence.
pub fn seal_words(seal: SealState) -> &'static str {
    match seal {
        SealState::Own => "they are sealed by you",
        SealState::OtherKey => "they are sealed with another key",
        SealState::Unsealed => "they are not sealed",
        SealState::Broken => "their seal is broken",
    }
}
