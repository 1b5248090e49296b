//! A bubble's place, as the git questions need it.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{BubbleId, CommitId};
use pairflow_core::log::WorkspaceRecord as Record;

use super::error::GitError;
use super::repo::Repo;
use super::run::{Call, Git};
use crate::regular;

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

    /// Fails unless the files are a real directory, and no file in its git directory leads git elsewhere.
    pub(crate) fn real_directory(&self) -> Result<(), GitError> {
        let not_ours = |why: &str| Err(GitError::NotOurs { path: self.path.clone(), why: why.to_owned() });
        match std::fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(GitError::WorktreeGone { path: self.path.clone() })
            }
            Err(source) => Err(GitError::io("look at", &self.path, source)),
            Ok(meta) if meta.is_symlink() => not_ours("it is a link to another place"),
            Ok(meta) if !meta.is_dir() => not_ours("it is not a directory"),
            Ok(_) => Ok(()),
        }?;
        let redirect = self.common_dir.join("commondir");
        if redirect.exists() { Err(GitError::Redirected { path: redirect }) } else { Ok(()) }
    }

    /// Fails unless the files are this bubble's: a real directory, and it and the repository point to each other.
    ///
    /// Every read of the files and every write to them goes through here first. The `.git` file is compared with the
    /// derived path, and never followed. If only one side points to the other, that can be repaired.
    pub fn connected(&self) -> Result<(), GitError> {
        self.real_directory()?;
        let dot_git = self.path.join(".git");
        if self.is_clone() {
            let ours = self.cloned_from()?.is_some_and(|origin| origin == self.root);
            let why = "it is not a clone of this repository".to_owned();
            return if ours { Ok(()) } else { Err(GitError::NotOurs { path: self.path.clone(), why }) };
        }
        let bare = std::fs::symlink_metadata(&dot_git).is_err();
        let text = |path: &Path| regular::read_text(path).unwrap_or_default();
        let (forth, back) = (text(&dot_git), text(&self.git_dir.join("gitdir")));
        let named = forth.trim_end().strip_prefix("gitdir: ").map(|named| self.path.join(named));
        let forth = named.as_ref().is_some_and(|named| same_place(named, &self.git_dir));
        let back = same_place(Path::new(back.trim_end()), &dot_git);
        match (forth, back) {
            (true, true) => Ok(()),
            (false, _) if !(back && bare) => {
                let why = match named {
                    Some(named) => format!("its .git file names {}, not {}", named.display(), self.git_dir.display()),
                    None if dot_git.is_dir() => "it is a repository of its own".to_owned(),
                    None => "its .git file names no repository".to_owned(),
                };
                Err(GitError::NotOurs { path: self.path.clone(), why })
            }
            _ => Err(GitError::Unlinked { path: self.path.clone(), git_dir: self.git_dir.clone(), named: forth }),
        }
    }

    /// Returns the repository that a clone names as its origin; nothing if the files have no git directory of their own.
    pub(crate) fn cloned_from(&self) -> Result<Option<PathBuf>, GitError> {
        if !std::fs::symlink_metadata(self.path.join(".git")).is_ok_and(|meta| meta.is_dir()) {
            return Ok(None);
        }
        let origin = Call::new(["config", "--get", "remote.origin.url"]).raw_config().accept(&[0, 1]);
        Ok(Some(PathBuf::from(self.git().run(origin)?.line()?)))
    }

    /// Fails unless the files are this bubble's beyond doubt: what is removed goes through here first.
    pub fn removable(&self) -> Result<(), GitError> {
        match self.connected() {
            // The files themselves name this repository and this bubble.
            Err(GitError::Unlinked { named: true, .. }) => {}
            Err(GitError::WorktreeGone { .. }) => return Ok(()),
            other => other?,
        }
        let real = self.path.canonicalize().map_err(|source| GitError::io("look at", &self.path, source))?;
        let why = format!("it is reached through a link, at {}", real.display());
        if real == self.path { Ok(()) } else { Err(GitError::NotOurs { path: self.path.clone(), why }) }
    }
}

/// Whether two paths name the same place. A directory that is gone is compared by its name below its real parent.
fn same_place(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        parent.map(|parent| parent.join(path.file_name().unwrap_or_default()))
    };
    a == b || real(a).is_some_and(|a| Some(a) == real(b))
}
