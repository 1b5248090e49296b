//! A bubble's place, as the git questions need it.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{BubbleId, CommitId};
use pairflow_core::log::Workspace as Record;

use super::error::GitError;
use super::repo::Repo;
use super::run::Git;

/// A bubble's worktree or clone, and the commit that it was cut from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Whose it is.
    pub id: BubbleId,
    /// The root of the repository's main checkout.
    pub root: PathBuf,
    /// The root of the bubble's files.
    pub path: PathBuf,
    /// Its git directory.
    pub git_dir: PathBuf,
    /// The git directory that it shares with the repository; its own, for a clone.
    pub common_dir: PathBuf,
    /// The commit that it was cut from, or last updated to.
    pub base: CommitId,
    /// Files that were copied in and are nobody's work.
    pub included: Vec<String>,
    /// The patterns of `info/exclude` that are in force; without them those of the file.
    pub excludes: Option<String>,
    /// The SHA-256 that `info/attributes` had at the start.
    pub attributes: Option<String>,
}

impl Workspace {
    /// Makes a workspace out of what the log says about it.
    pub fn recorded(root: &Path, id: &BubbleId, record: &Record) -> Self {
        Self {
            id: id.clone(),
            root: root.to_owned(),
            path: PathBuf::from(&record.path),
            git_dir: PathBuf::from(&record.git_dir),
            common_dir: PathBuf::from(&record.common_dir),
            base: record.base.clone(),
            included: record.included.clone(),
            excludes: record.ground.excludes.clone(),
            attributes: record.ground.attributes.clone(),
        }
    }

    /// Returns git, pinned to this workspace's files and the shared git directory.
    ///
    /// The worktree's own git directory is left out on purpose: agents write there, and git follows its `commondir`
    /// to another set of refs even when `GIT_COMMON_DIR` says otherwise. Its index is named where it is needed.
    pub fn git(&self) -> Git {
        Git::at(&self.common_dir, &self.common_dir, &self.path)
    }

    /// Returns git as an agent in the worktree sees it, with the worktree's own HEAD: for hooks, which expect that.
    pub(super) fn git_inside(&self) -> Git {
        Git::at(&self.git_dir, &self.common_dir, &self.path)
    }

    /// Returns the worktree's own index.
    pub(crate) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Returns the repository that the bubble belongs to.
    pub fn repo(&self) -> Result<Repo, GitError> {
        Repo::locate(&self.root)
    }

    /// Whether the bubble has a clone of its own.
    pub fn is_clone(&self) -> bool {
        self.git_dir == self.common_dir
    }

    /// Returns the ref `name` among the bubble's private ones.
    pub fn private_ref(&self, name: impl std::fmt::Display) -> String {
        format!("refs/pairflow/{}/{name}", self.id)
    }

    /// Returns the directory of pairflow's own throw-away files for this bubble.
    pub fn runtime_dir(&self) -> PathBuf {
        self.root.join(".pairflow/runtime").join(self.id.as_str())
    }

    /// Fails if the files are gone, or if a clone was made to point to somebody else's refs.
    pub(super) fn present(&self) -> Result<(), GitError> {
        if !self.path.is_dir() {
            return Err(GitError::WorktreeGone { path: self.path.clone() });
        }
        let redirect = self.common_dir.join("commondir");
        if redirect.exists() { Err(GitError::Redirected { path: redirect }) } else { Ok(()) }
    }
}
