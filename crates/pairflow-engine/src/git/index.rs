//! An index of our own for each bubble, so that what a worktree contains is never read from an index that others write.
//!
//! It is a cache of file stamps: it can be deleted at any time, costs one full read of the files when it is missing, and
//! is named after the base, whose entries it starts from.

use std::path::{Path, PathBuf};

use super::error::GitError;
use super::repo::unique;
use super::workspace::Workspace;

/// A private copy of the cached index; removed when dropped, unless it is kept.
#[derive(Debug)]
pub(super) struct Index {
    path: PathBuf,
    cache: PathBuf,
    warm: bool,
}

impl Index {
    /// Copies the cached index of `workspace`, if there is one.
    pub(super) fn open(workspace: &Workspace) -> Result<Self, GitError> {
        let cache = cached(workspace);
        let own = format!("index.{}.{}", std::process::id(), unique());
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
        match std::fs::remove_file(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::io("remove", &self.path, source))
            }
            _ => Ok(()),
        }
    }

    /// Makes the index at `path` a copy of it.
    pub(super) fn copy_to(&self, path: &Path) -> Result<(), GitError> {
        let failed = |source| GitError::io("write", path, source);
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

/// Forgets what was remembered of a workspace that will not be looked at again.
pub(crate) fn forget_index(workspace: &Workspace) {
    // It is a cache, which is made anew when needed.
    let _ = std::fs::remove_file(cached(workspace));
}

fn cached(workspace: &Workspace) -> PathBuf {
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
