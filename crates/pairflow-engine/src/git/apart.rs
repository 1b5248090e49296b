//! A git directory of our own over the objects of a repository.
//!
//! What decides how git reads files and shows differences lies where agents can write: the repository's configuration,
//! its `info/attributes`, its `info/exclude`. Here git finds none of it, so there is nothing to switch off.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::error::GitError;

/// The directory; it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Apart {
    dir: TempDir,
    /// Where the objects are.
    pub(super) objects: PathBuf,
    /// Whether the person's own configuration counts.
    pub(super) personal: bool,
}

impl Apart {
    /// Makes a directory in `place` for objects that have names like `object`.
    pub(super) fn make(place: &Path, common_dir: &Path, object: &str) -> Result<Self, GitError> {
        let failed = |source| GitError::io("make a directory in", place, source);
        let dir = tempfile::Builder::new().prefix("pairflow-git-").tempdir_in(place).map_err(failed)?;
        let apart = Self { dir, objects: common_dir.join("objects"), personal: false };
        for name in ["objects", "refs", "info"] {
            let path = apart.path().join(name);
            std::fs::create_dir(&path).map_err(|source| GitError::io("create", &path, source))?;
        }
        apart.write("HEAD", "ref: refs/heads/none\n")?;
        // A file system that gives every file the same permissions says nothing about them.
        let odd = apart.path().join("HEAD").metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
        let format = if object.len() == 64 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        };
        apart.write("config", format!("[core]\n\tbare = false\n\tfilemode = {}\n{format}", !odd))?;
        Ok(apart)
    }

    /// Lets the person's own configuration, these patterns of ignored files and these attributes count.
    pub(super) fn with(mut self, excludes: &str, attributes: &[u8]) -> Result<Self, GitError> {
        self.personal = true;
        self.write("info/exclude", excludes)?;
        self.write("info/attributes", attributes)?;
        Ok(self)
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), GitError> {
        let path = self.path().join(name);
        crate::regular::write(&path, content).map_err(|source| GitError::io("write", &path, source))
    }
}
