//! What can go wrong with a workspace.

use std::path::{Path, PathBuf};

use pairflow_core::ids::CommitId;

use crate::git::GitError;

/// Why a workspace could not be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// git, or a file operation, failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The files could not be moved.
    #[error("cannot move {} to {}; move it yourself, then try again", .from.display(), .to.display())]
    Move {
        /// Where they are.
        from: PathBuf,
        /// Where they belong.
        to: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The branch is there and is not this bubble's.
    #[error(
        "branch {branch} already exists at {}; choose another id, or look at it and then remove it with `git branch -D {branch}`",
        .tip.short()
    )]
    BranchExists {
        /// The branch.
        branch: String,
        /// What it points to.
        tip: CommitId,
    },
    /// git cannot have both branches.
    #[error(
        "branch {branch} cannot exist beside branch {other}; rename that one with `git branch -m {other} NEW-NAME`"
    )]
    BranchBlocked {
        /// The branch that is wanted.
        branch: String,
        /// The one that is there.
        other: String,
    },
    /// The name cannot be one of a branch.
    #[error("{0:?} is not a valid branch name; choose another bubble_branch")]
    BadBranchName(String),
    /// The directory is there and is not this bubble's.
    #[error("{} already exists and does not belong to this bubble; move it away or choose another id", .0.display())]
    PathTaken(PathBuf),
    /// Every block of this many ports is leased or in use.
    #[error("no {0} consecutive free ports between 20000 and 29999; delete bubbles that are finished")]
    NoFreePorts(u16),
    /// The archive is there already.
    #[error("the archive {} already exists; try again", .0.display())]
    ArchiveExists(PathBuf),
}

impl WorkspaceError {
    /// Makes an error out of what the system said when `what` was tried with `path`.
    pub(super) fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self::Git(GitError::io(what, path)(source))
    }
}
