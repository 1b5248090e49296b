//! A throw-away worktree of one commit, to run checks on what a merge would give.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::{BubbleId, CommitId};

use super::error::WorkspaceError;
use super::include::copy_included;
use super::place::{lock_worktrees, worktrees_dir};
use super::prepare::{admin_dir, remove_worktree};
use crate::git::{Call, GitError, Repo, Workspace, unique};

const PREFIX: &str = ".scratch-";

/// A detached worktree; it is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    repo: Repo,
    path: PathBuf,
    commit: CommitId,
    included: Vec<String>,
}

impl Scratch {
    /// Checks `commit` out beside the bubbles of `repo`, with the files that `.worktreeinclude` names.
    pub fn new(repo: &Repo, commit: &CommitId) -> Result<Self, WorkspaceError> {
        let dir = worktrees_dir(repo);
        let lock = lock_worktrees(repo)?;
        sweep(repo, &dir);
        let path = dir.join(format!("{PREFIX}{}-{}", std::process::id(), unique()));
        let call = Call::new(["worktree", "add", "--quiet", "--detach"]).arg(&path).arg(&commit.0);
        let added = repo.git().run(call.whole().within(Duration::from_secs(600)));
        if let Err(error) = added {
            remove_worktree(repo, &path)?;
            return Err(error.into());
        }
        // Dropping a scratch takes the lock, so it may exist only once the lock is free.
        drop(lock);
        let mut scratch = Self { repo: repo.clone(), path, commit: commit.clone(), included: Vec::new() };
        scratch.included = copy_included(repo, &scratch.path)?;
        Ok(scratch)
    }

    /// Returns the root of its files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns it as the git questions need it, for the bubble `id`.
    pub fn workspace(&self, id: &BubbleId) -> Result<Workspace, WorkspaceError> {
        let gone = || GitError::WorktreeGone { path: self.path.clone() };
        Ok(Workspace {
            id: id.clone(),
            root: self.repo.root.clone(),
            path: self.path.clone(),
            git_dir: admin_dir(&self.repo, &self.path).ok_or_else(gone)?,
            common_dir: self.repo.common_dir.clone(),
            base: self.commit.clone(),
            included: self.included.clone(),
            excludes: None,
            attributes: None,
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lock = lock_worktrees(&self.repo);
        // What stays behind is swept by the next one.
        let _ = remove_worktree(&self.repo, &self.path);
        drop(lock);
    }
}

/// Removes what processes left behind that were killed.
fn sweep(repo: &Repo, dir: &Path) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
        let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { continue };
        let gone = rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
        if gone {
            // One that resists is tried again by the next sweep.
            let _ = remove_worktree(repo, &path);
        }
    }
}
