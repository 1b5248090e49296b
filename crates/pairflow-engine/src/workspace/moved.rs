//! Brings the worktree of a bubble along after its repository was moved.

use std::path::{Path, PathBuf};

use super::error::WorkspaceError;
use super::link::{belongs, connect, not_ours, refuse_second};
use super::place::lock_worktrees;
use crate::git::{Call, Workspace};

/// A place at which the repository was, with the place at which the files of the bubble were then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Former {
    /// The root of the repository.
    pub root: PathBuf,
    /// The files of the bubble.
    pub worktree: PathBuf,
}

/// Moves the files from where they were for the repository at a former place to where they belong now, and lets git
/// know them there. They may have been moved along already, or be gone.
///
/// Returns whether there are files. Nothing is made anew, and nothing is touched that does not belong to the bubble.
pub fn move_here(workspace: &Workspace, former: &[Former]) -> Result<bool, WorkspaceError> {
    let repo = workspace.repo()?;
    let _lock = lock_worktrees(&repo)?;
    let new = workspace.path.as_path();
    let elsewhere = former.iter().map(|one| one.worktree.as_path()).filter(|path| *path != new);
    let places: Vec<&Path> = elsewhere.chain([new]).collect();
    let found: Vec<&Path> = places.iter().copied().filter(|path| is_dir(path)).collect();
    let from = match &found[..] {
        [] => return Ok(false),
        [one] => *one,
        [.., last] => return Err(WorkspaceError::PathTaken { path: (*last).to_owned() }),
    };
    if workspace.is_clone() {
        move_clone(workspace, from, former)?;
        return Ok(true);
    }
    let name = workspace.git_dir.file_name().unwrap_or_default();
    // A git directory beside the repository was not moved, and is named as before.
    let before = former.iter().map(|one| one.root.join(".git/worktrees").join(name));
    let git_dirs: Vec<PathBuf> = before.chain([workspace.git_dir.clone()]).collect();
    if !belongs(from, &git_dirs) {
        return Err(not_ours(from, "its .git file does not name the repository that was moved"));
    }
    refuse_second(&workspace.git_dir, &places, &git_dirs)?;
    if from != new {
        rename(from, new)?;
    }
    // Without git's record, the caller has it linked again.
    if workspace.git_dir.is_dir() {
        connect(new, &workspace.git_dir, &workspace.git_dir)?;
    }
    Ok(true)
}

/// Moves a clone, which names the repository as its origin, and lets it name the place where the repository is now.
fn move_clone(workspace: &Workspace, from: &Path, former: &[Former]) -> Result<(), WorkspaceError> {
    let git_dir = from.join(".git");
    let before = Workspace { path: from.to_owned(), common_dir: git_dir.clone(), git_dir, ..workspace.clone() };
    before.real_directory()?;
    let origin = before.cloned_from()?;
    let known = |origin: &PathBuf| *origin == workspace.root || former.iter().any(|one| one.root == *origin);
    if !origin.as_ref().is_some_and(known) {
        return Err(not_ours(from, "it is not a clone of the repository that was moved"));
    }
    if from != workspace.path {
        rename(from, &workspace.path)?;
    }
    workspace.git().run(Call::new(["config", "remote.origin.url"]).arg(&workspace.root))?;
    Ok(())
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
