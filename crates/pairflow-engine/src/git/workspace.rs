//! A bubble's worktree as git calls need it: its directories, its private index, and which untracked files count.
//!
//! What a worktree contains is never read from an index that others write. The private index is a cache of file stamps:
//! it can be deleted at any time, and costs one full read of the files when it is missing. `.gitignore` files are part of
//! the tree. The repository's `info/exclude` lies where agents can write and no diff shows it, so the patterns that it
//! had at the start stay in force.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pairflow_core::facts::FileChange;
use pairflow_core::hash::sha256;
use pairflow_core::ids::{BubbleId, CommitId};
use pairflow_core::log::WorkspaceRecord as Record;
use tempfile::TempDir;

use super::isolation::IsolatedGitDir;
use super::{Git, GitCall, GitError, Repo};
use crate::regular;

/// A bubble's worktree or clone, and the commit that it was cut from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
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
    /// Files that were copied in and are not part of the work.
    pub included: Vec<String>,
    /// The patterns of `info/exclude` that are in force; without them those of the file.
    pub excludes: Option<String>,
    /// The SHA-256 that `info/attributes` had at the start.
    pub attributes: Option<String>,
}

impl Worktree {
    /// Makes a worktree out of its record in the log.
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

    /// Makes a temporary directory below the runtime directory that only this user can enter.
    pub(super) fn private_dir(&self, prefix: &str) -> Result<TempDir, GitError> {
        let runtime = self.runtime_dir();
        let make = || {
            std::fs::create_dir_all(&runtime)?;
            tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(&runtime)
        };
        make().map_err(GitError::io("make a directory in", &runtime))
    }

    /// Fails unless the files are a real directory, and no file in its git directory leads git elsewhere.
    pub(crate) fn real_directory(&self) -> Result<(), GitError> {
        let not_ours = |why: &str| Err(GitError::NotOurs { path: self.path.clone(), why: why.to_owned() });
        match std::fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(GitError::WorktreeGone(self.path.clone()))
            }
            Err(source) => Err(GitError::io("look at", &self.path)(source)),
            Ok(meta) if meta.is_symlink() => not_ours("it is a link to another place"),
            Ok(meta) if !meta.is_dir() => not_ours("it is not a directory"),
            Ok(_) => Ok(()),
        }?;
        let redirect = self.common_dir.join("commondir");
        if redirect.exists() { Err(GitError::Redirected(redirect)) } else { Ok(()) }
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
        let origin = GitCall::new(["config", "--get", "remote.origin.url"]).unpinned_config().accept(&[0, 1]);
        Ok(Some(PathBuf::from(self.git().run(origin)?.line()?)))
    }

    /// Fails unless the files are certainly this bubble's. Called before anything is removed.
    pub fn removable(&self) -> Result<(), GitError> {
        match self.connected() {
            // The files themselves name this repository and this bubble.
            Err(GitError::Unlinked { named: true, .. }) => {}
            Err(GitError::WorktreeGone { .. }) => return Ok(()),
            other => other?,
        }
        let real = self.path.canonicalize().map_err(GitError::io("look at", &self.path))?;
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

/// A private copy of the cached index; removed when dropped, unless it is kept.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    cache: PathBuf,
    warm: bool,
}

impl Index {
    /// Copies the cached index of `workspace`, if there is one.
    pub(super) fn open(workspace: &Worktree) -> Result<Self, GitError> {
        let cache = cached(workspace);
        let own = format!("index.{}.{}", std::process::id(), regular::unique());
        let dir = workspace.runtime_dir();
        // Where the control directory cannot be written, the look is slower, not impossible.
        let writable =
            std::fs::create_dir_all(&dir).is_ok() && rustix::fs::access(&dir, rustix::fs::Access::WRITE_OK).is_ok();
        let dir = if writable { dir } else { std::env::temp_dir() };
        let mut index = Self { path: dir.join(format!("{}-{own}", workspace.id)), cache, warm: false };
        index.warm = copy_with_stamp(&index.cache, &index.path).is_ok();
        if !index.warm {
            index.clear()?;
        }
        Ok(index)
    }

    /// Returns where git finds it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was copied from the cache.
    pub(super) fn is_warm(&self) -> bool {
        self.warm
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) -> Result<(), GitError> {
        self.warm = false;
        regular::remove(&self.path).map_err(GitError::io("remove", &self.path))
    }

    /// Makes the index at `path` a copy of it.
    pub(super) fn copy_to(&self, path: &Path) -> Result<(), GitError> {
        let failed = GitError::io("write", path);
        let aside = path.with_extension("pairflow");
        copy_with_stamp(&self.path, &aside).and_then(|()| std::fs::rename(&aside, path)).map_err(failed)
    }

    /// Makes it the cached one.
    pub(super) fn keep(self) {
        // It is a cache: the next look works without it.
        let _ = std::fs::rename(&self.path, &self.cache);
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut lock = self.path.as_os_str().to_owned();
        lock.push(".lock");
        for path in [&self.path, Path::new(&lock)] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes the cached index of a worktree that is no longer used.
pub(crate) fn forget_index(workspace: &Worktree) {
    let _ = std::fs::remove_file(cached(workspace));
}

fn cached(workspace: &Worktree) -> PathBuf {
    // The stamps are those of one directory: another one of the same bubble has its own.
    let place = workspace.path.file_name().unwrap_or_default().to_string_lossy();
    workspace.runtime_dir().join(format!("index-{}-{place}", workspace.base.short()))
}

/// Copies an index together with the time at which it was written: git re-reads files that are younger than that.
fn copy_with_stamp(from: &Path, to: &Path) -> std::io::Result<()> {
    let stamp = std::fs::metadata(from)?.modified()?;
    crate::regular::copy(from, to)?;
    crate::regular::open_to_lock(to)?.set_modified(stamp)
}

/// Returns git for reading the files of a worktree, by the rules for ignored files that are in force.
pub(super) fn reading_git(workspace: &Worktree, index: &Index) -> Result<Git, GitError> {
    let excludes = workspace.excludes.clone().unwrap_or_else(|| exclude_patterns(&workspace.common_dir));
    let path = workspace.common_dir.join("info/attributes");
    let read = regular::optional(regular::read(&path)).map_err(GitError::io("read", &path))?;
    let attributes = read.unwrap_or_default();
    // What was put there since the start changes neither what a tree holds nor what a checkout of it contains.
    let known = workspace.attributes.as_ref().is_none_or(|known| *known == sha256(&attributes));
    let attributes = if known { attributes } else { Vec::new() };
    let place = index.path().parent().unwrap_or(&workspace.path);
    let isolated =
        IsolatedGitDir::make(place, &workspace.common_dir, &workspace.base.0)?.with(&excludes, &attributes)?;
    Ok(Git::isolated(isolated, Some(&workspace.path)))
}

/// Returns the patterns of a repository's `info/exclude`, without comments and empty lines.
pub(crate) fn exclude_patterns(common_dir: &Path) -> String {
    let text = regular::read(&common_dir.join("info/exclude")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let says = |line: &&str| !line.starts_with('#') && !line.trim().is_empty();
    text.lines().filter(says).fold(String::new(), |all, line| all + line + "\n")
}

/// Returns the SHA-256 of a repository's `info/attributes`; a missing file is an empty one.
pub(crate) fn attributes_hash(common_dir: &Path) -> String {
    sha256(&regular::read(&common_dir.join("info/attributes")).unwrap_or_default())
}

/// Names changed files that decide which files count: among `changed`, and outside of the tree.
pub fn ignore_changes(workspace: &Worktree, changed: &[FileChange]) -> Vec<String> {
    let paths = changed.iter().map(|change| &change.path);
    let mut found: Vec<String> = paths.filter(|path| is_ignore_file(path)).cloned().collect();
    if workspace.excludes.as_ref().is_some_and(|known| *known != exclude_patterns(&workspace.common_dir)) {
        found.push(".git/info/exclude (what it said at the start is in force)".to_owned());
    }
    if workspace.attributes.as_ref().is_some_and(|known| *known != attributes_hash(&workspace.common_dir)) {
        found.push(".git/info/attributes (it no longer counts)".to_owned());
    }
    found
}

/// Whether a file tells git or a tool which files to ignore, or how to read them.
fn is_ignore_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == ".gitattributes" || name.starts_with('.') && name.ends_with("ignore")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_files_are_told_by_their_names() {
        for path in [".gitignore", "web/.gitignore", ".dockerignore", ".ignore", ".gitattributes"] {
            assert!(is_ignore_file(path), "{path}");
        }
        for path in ["gitignore", "src/ignore.rs", ".env"] {
            assert!(!is_ignore_file(path), "{path}");
        }
    }

    #[test]
    fn comments_of_the_exclude_file_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(exclude_patterns(dir.path()), "");
        std::fs::create_dir(dir.path().join("info")).unwrap();
        std::fs::write(dir.path().join("info/exclude"), "# a\n\n*.o\n/x\n").unwrap();
        assert_eq!(exclude_patterns(dir.path()), "*.o\n/x\n");
    }
}
