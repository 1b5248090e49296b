//! Which directories and locks belong to the bubbles of a repository.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;

use super::error::WorkspaceError;
use crate::git::Repo;
use crate::store::storage::{Guard, LockMode, Storage};
use crate::store::{LogFiles, RealDisk};

/// How long other commands may hold a lock: making a worktree of a large repository takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Returns the directory beside the repository that holds the worktrees of its bubbles.
pub fn worktrees_dir(repo: &Repo) -> PathBuf {
    let parent = repo.root.parent().unwrap_or(&repo.root);
    parent.join(".pairflow-worktrees").join(&repo.name)
}

/// Returns where the files of a bubble are, unless it was configured otherwise.
pub fn default_path(repo: &Repo, id: &BubbleId) -> PathBuf {
    LogFiles::of::<BubbleState>(&repo.root.join(".pairflow"), id).worktree()
}

/// Waits until nobody else changes the list of worktrees. The kernel frees the lock if we die.
pub(super) fn lock_worktrees(repo: &Repo) -> Result<Guard, WorkspaceError> {
    lock(&repo.root.join(".pairflow/locks/worktrees.lock"))
        .map_err(|(path, source)| WorkspaceError::io("lock", &path, source))
}

/// Takes the kernel lock on a file, which is made if it is missing.
pub(super) fn lock(path: &Path) -> Result<Guard, (PathBuf, io::Error)> {
    let take = || {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        let taken = RealDisk.lock(path, LockMode::Exclusive, PATIENCE).map_err(|error| error.source)?;
        let held = || RealDisk.lock_holder(path).map_or_else(String::new, |pid| format!(" (process {pid})"));
        taken.ok_or_else(|| {
            let why = format!("another process{} has held it for {} s", held(), PATIENCE.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, why)
        })
    };
    take().map_err(|source| (path.to_owned(), source))
}
