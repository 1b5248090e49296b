//! Which directories and locks belong to the bubbles of a repository.

use std::fs::File;
use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;

use super::error::WorkspaceError;
use crate::git::Repo;

/// Returns the directory beside the repository that holds the worktrees of its bubbles.
pub fn worktrees_dir(repo: &Repo) -> PathBuf {
    let parent = repo.root.parent().unwrap_or(&repo.root);
    parent.join(".pairflow-worktrees").join(&repo.name)
}

/// Returns where the files of a bubble are, unless it was configured otherwise.
pub fn default_path(repo: &Repo, id: &BubbleId) -> PathBuf {
    crate::store::BubbleFiles::new(&repo.root.join(".pairflow"), id).worktree()
}

/// Waits until nobody else changes the list of worktrees. The kernel frees the lock if we die.
pub(super) fn lock_worktrees(repo: &Repo) -> Result<File, WorkspaceError> {
    lock(&repo.root.join(".pairflow/locks/worktrees.lock"))
        .map_err(|(path, source)| WorkspaceError::io("lock", &path, source))
}

/// Takes the kernel lock on a file, which is made if it is missing.
pub(super) fn lock(path: &Path) -> Result<File, (PathBuf, std::io::Error)> {
    let open = || {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(|source| (path.to_owned(), source))
}
