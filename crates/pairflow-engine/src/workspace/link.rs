//! The two files by which a worktree and git's record of it name each other.

use std::path::{Path, PathBuf};

use super::error::WorkspaceError;
use crate::git::{GitError, replace};
use crate::regular;

/// Gives git's record `made` the name `git_dir`, and lets it and the worktree at `path` point to each other.
pub(super) fn connect(path: &Path, made: &Path, git_dir: &Path) -> Result<(), WorkspaceError> {
    let failed = |source| WorkspaceError::io("repair", path, source);
    if made != git_dir {
        std::fs::rename(made, git_dir).map_err(failed)?;
    }
    let (dot_git, back) = (path.join(".git"), git_dir.join("gitdir"));
    replace(&back, format!("{}\n", dot_git.display()).as_bytes()).map_err(failed)?;
    replace(&dot_git, format!("gitdir: {}\n", git_dir.display()).as_bytes()).map_err(failed)
}

/// Refuses to link a worktree at one of `own` to `git_dir` while that record names a worktree elsewhere that names one of
/// `git_dirs`: one record cannot be that of two worktrees.
pub(super) fn refuse_second(git_dir: &Path, own: &[&Path], git_dirs: &[PathBuf]) -> Result<(), WorkspaceError> {
    let text = regular::read_text(&git_dir.join("gitdir")).unwrap_or_default();
    let Some(other) = Path::new(text.trim_end()).parent() else { return Ok(()) };
    if own.contains(&other) || !belongs(other, git_dirs) {
        return Ok(());
    }
    let why = format!("git has recorded the worktree of this bubble at {}", other.display());
    Err(not_ours(own.last().unwrap_or(&other), &why))
}

/// Whether the `.git` file of a worktree names one of these git directories.
pub(super) fn belongs(worktree: &Path, git_dirs: &[PathBuf]) -> bool {
    let text = regular::read_text(&worktree.join(".git")).unwrap_or_default();
    let named = worktree.join(text.trim_end().strip_prefix("gitdir: ").unwrap_or_default());
    git_dirs.contains(&named)
}

/// The error about files at `path` that are not the bubble's.
pub(super) fn not_ours(path: &Path, why: &str) -> WorkspaceError {
    GitError::NotOurs { path: path.to_owned(), why: why.to_owned() }.into()
}
