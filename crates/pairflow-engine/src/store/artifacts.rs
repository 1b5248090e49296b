//! Files that messages point to: written and synced before the message that names them.
//!
//! A file whose name is its own hash can be checked for ever after. References have the form `artifact://<name>` and
//! never lead out of the bubble's `artifacts/` directory.

use std::path::PathBuf;
use std::sync::Arc;

use pairflow_core::hash::sha256;

use super::storage::{self, FileKind};
use super::{Storage, StorageError};

/// The artifacts of one bubble.
#[derive(Clone)]
pub struct Artifacts {
    disk: Arc<dyn Storage>,
    dir: PathBuf,
}

/// Why an artifact could not be written, found or trusted.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not a name that can be beneath `artifacts/`.
    #[error("{0:?} is not the name of an artifact: parts of letters, digits, '.', '_' and '-', joined by '/'")]
    BadName(String),
    /// Not a reference.
    #[error("{0:?} is not a reference such as artifact://round-001.diff")]
    NotAReference(String),
    /// There is no such artifact.
    #[error("there is no artifact {0}")]
    Missing(String),
    /// This is not a regular file or directory.
    #[error("{} is not a regular file or directory, so it is not used", .0.display())]
    NotPlain(PathBuf),
    /// The name is not made of the content's hash.
    #[error("the name {0} contains no SHA-256, so its content cannot be verified")]
    NotHashed(String),
    /// The content is not what it was.
    #[error("artifact {name} was changed: the SHA-256 of its content is {found}")]
    Changed {
        /// The name.
        name: String,
        /// The hash of what is there now.
        found: String,
    },
    /// A file operation failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Artifacts {
    /// Names a directory of artifacts.
    pub fn new(disk: Arc<dyn Storage>, dir: PathBuf) -> Self {
        Self { disk, dir }
    }

    /// Writes an artifact, or replaces it; when this returns, it survives a power loss.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        let path = self.place(name)?;
        if hash_in(name) == Some(&sha256(bytes)) && self.check(name).is_ok() {
            return Ok(());
        }
        storage::make_dirs(&*self.disk, storage::parent(&path))?;
        Ok(storage::put(&*self.disk, &path, bytes)?)
    }

    /// Writes an artifact that is named by its hash, unless it is there, and returns the name: `kind/<sha256>.ext`.
    pub fn put_hashed(&self, kind: &str, ext: &str, bytes: &[u8]) -> Result<String, ArtifactError> {
        let name = format!("{kind}/{}.{ext}", sha256(bytes));
        self.put(&name, bytes)?;
        Ok(name)
    }

    /// Reads an artifact.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, ArtifactError> {
        let path = self.place(name)?;
        self.disk.read(&path)?.ok_or_else(|| ArtifactError::Missing(name.to_owned()))
    }

    /// Checks that an artifact that is named by its hash is what it was.
    pub fn check(&self, name: &str) -> Result<(), ArtifactError> {
        let hash = hash_in(name).ok_or_else(|| ArtifactError::NotHashed(name.to_owned()))?;
        let found = sha256(&self.read(name)?);
        if found == hash { Ok(()) } else { Err(ArtifactError::Changed { name: name.to_owned(), found }) }
    }

    /// Returns the file of a reference such as `artifact://round-001.diff`.
    pub fn resolve(&self, reference: &str) -> Result<PathBuf, ArtifactError> {
        let name =
            reference.strip_prefix("artifact://").ok_or_else(|| ArtifactError::NotAReference(reference.to_owned()))?;
        let name = alias(name).unwrap_or_else(|| name.to_owned());
        let path = self.place(&name)?;
        match self.disk.stat(&path)? {
            Some(stat) if stat.kind == FileKind::File => Ok(path),
            Some(_) => Err(ArtifactError::NotPlain(path)),
            None => Err(ArtifactError::Missing(name)),
        }
    }

    /// Returns the path of a name, which never leads out of the directory: not by its parts, not by a link.
    fn place(&self, name: &str) -> Result<PathBuf, ArtifactError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let part_ok = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && part.chars().all(fits);
        if name.len() > 200 || !name.split('/').all(part_ok) {
            return Err(ArtifactError::BadName(name.to_owned()));
        }
        let mut path = self.dir.clone();
        let above = name.split('/').rev().skip(1).collect::<Vec<_>>();
        for part in std::iter::once(None).chain(above.into_iter().rev().map(Some)) {
            path.extend(part);
            if self.disk.stat(&path)?.is_some_and(|stat| stat.kind != FileKind::Dir) {
                return Err(ArtifactError::NotPlain(path));
            }
        }
        path.extend(name.rsplit('/').next());
        if self.disk.stat(&path)?.is_some_and(|stat| stat.kind != FileKind::File) {
            return Err(ArtifactError::NotPlain(path));
        }
        Ok(path)
    }
}

/// Returns the file name for `diff/round-3.patch`, which is how the protocol spells it.
fn alias(name: &str) -> Option<String> {
    let round: u32 = name.strip_prefix("diff/round-")?.strip_suffix(".patch")?.parse().ok()?;
    Some(format!("round-{round:03}.diff"))
}

/// Returns the SHA-256 that a name consists of, directory and ending aside.
fn hash_in(name: &str) -> Option<&str> {
    let stem = name.rsplit('/').next()?.split('.').next()?;
    let digits = stem.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (stem.len() == 64 && digits).then_some(stem)
}
