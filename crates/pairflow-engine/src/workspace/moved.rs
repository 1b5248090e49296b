//! Brings the worktree of a bubble along after its repository was moved.

use std::path::{Path, PathBuf};

use super::error::WorkspaceError;
use super::place::lock_worktrees;
use super::restore::connect;
use crate::git::{GitError, Workspace};
use crate::regular;

/// Moves the files from where they were for the repository at its old place to where they belong now, and lets git
/// know them there. `old` is where they were; they may have been moved along already, or be gone.
///
/// Returns whether there are files. Nothing is made anew, and nothing is touched that does not belong to the bubble.
pub fn move_here(workspace: &Workspace, old: &Path, old_root: &Path) -> Result<bool, WorkspaceError> {
    let repo = workspace.repo()?;
    let _lock = lock_worktrees(&repo)?;
    if workspace.is_clone() {
        return move_clone(workspace, old);
    }
    let new = &workspace.path;
    let (there, here) = (is_dir(old), is_dir(new));
    let from = match (there, here) {
        (false, false) => return Ok(false),
        (true, true) => return Err(WorkspaceError::PathTaken { path: new.clone() }),
        (true, false) => old,
        (false, true) => new,
    };
    let name = workspace.git_dir.file_name().unwrap_or_default();
    let expected = old_root.join(".git/worktrees").join(name);
    if !belongs(from, &[&expected, &workspace.git_dir]) {
        let why = "its .git file does not name the repository that was moved".to_owned();
        return Err(GitError::NotOurs { path: from.to_owned(), why }.into());
    }
    if there {
        rename(old, new)?;
    }
    if !workspace.git_dir.is_dir() {
        // The caller has it linked again.
        return Ok(true);
    }
    connect(new, &workspace.git_dir, &workspace.git_dir)?;
    Ok(true)
}

fn move_clone(workspace: &Workspace, old: &Path) -> Result<bool, WorkspaceError> {
    if is_dir(old) && !is_dir(&workspace.path) {
        rename(old, &workspace.path)?;
    }
    Ok(is_dir(&workspace.path))
}

/// Whether the `.git` file of a worktree names one of these git directories.
fn belongs(worktree: &Path, git_dirs: &[&PathBuf]) -> bool {
    let text = regular::read_text(&worktree.join(".git")).unwrap_or_default();
    let named = Path::new(text.trim_end().strip_prefix("gitdir: ").unwrap_or_default());
    git_dirs.iter().any(|dir| named == dir.as_path())
}

fn is_dir(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn rename(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    let parent = to.parent().unwrap_or(to);
    std::fs::create_dir_all(parent).map_err(|source| WorkspaceError::io("create", parent, source))?;
    std::fs::rename(from, to).map_err(|source| WorkspaceError::Move {
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    })
}
