//! The file operations that the store needs: the [`Storage`] trait, and files that are replaced in one step.
//!
//! They are few and explicit about what is durable, so that a simulated disk can drop, tear and reorder everything
//! that was not synced. Nothing here knows what a log is.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A disk.
///
/// A write is durable after a sync of its file, a new, renamed or removed name after a sync of its directory.
pub trait Storage: Send + Sync {
    /// Opens a file for reading; nothing if there is none.
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError>;

    /// Opens a file for reading and appending; nothing if there is none.
    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError>;

    /// Returns the metadata of a name, without following links; nothing if there is none.
    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError>;

    /// Returns the whole content of a file; nothing if there is none.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError>;

    /// Writes a file, new or existing. Readers may see half of the content.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError>;

    /// Replaces the content of a file that has one writer at a time; `spare`, beside it, is written first.
    ///
    /// Readers see the old content, the new, or rarely a mixture. After a power loss the content is undefined.
    fn renew(&self, path: &Path, spare: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        self.write(spare, bytes)?;
        self.rename(spare, path)
    }

    /// Makes the content of a file durable.
    fn sync_file(&self, path: &Path) -> Result<(), StorageError>;

    /// Renames a file; an existing file of that name is replaced in one step.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError>;

    /// Removes a file, if there is one.
    fn remove(&self, path: &Path) -> Result<(), StorageError>;

    /// Makes a directory. Returns whether there was none.
    fn create_dir(&self, path: &Path) -> Result<bool, StorageError>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<(), StorageError>;

    /// Returns the names in a directory, sorted; none if there is no directory.
    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError>;

    /// Takes the lock of a path, waiting at most `patience`; nothing if another process still holds it.
    fn lock(&self, path: &Path, mode: LockMode, patience: Duration) -> Result<Option<Guard>, StorageError>;

    /// Returns the process that holds the lock of a path, where that can be known. For messages only.
    fn lock_holder(&self, path: &Path) -> Option<u32>;
}

/// An open file.
pub trait Handle: Send + Sync {
    /// Returns what is known of the file.
    fn stat(&self) -> Result<FileStat, StorageError>;

    /// Fills `buffer` from `offset` on, and returns how many bytes there were.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError>;

    /// Appends in one write. After a failure any part of the bytes may be in the file.
    fn append(&self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Makes content and length durable. After a failure the result is unknown; it must not be retried.
    fn sync_data(&self) -> Result<(), StorageError>;

    /// Truncates the file.
    fn truncate(&self, len: u64) -> Result<(), StorageError>;
}

/// The metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// What it is.
    pub kind: FileKind,
    /// How many bytes it has.
    pub len: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When anything of it last changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// The inode number.
    pub ino: u64,
    /// Whether it belongs to the user of this process.
    pub own: bool,
    /// Whether other users may write to it, by its mode.
    pub shared: bool,
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A plain file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// Something else: a socket, a device.
    Other,
}

/// The mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// One holder.
    Exclusive,
    /// Any number of readers.
    Shared,
}

/// A lock that is held; dropping it, or the end of the process, frees it.
pub type Guard = Box<dyn Any + Send + Sync>;

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {}", path.display(), cause(source))]
pub struct StorageError {
    /// The operation, as a verb.
    pub action: &'static str,
    /// With which file or directory.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Describes a cause, with the fix where a person can fix it.
pub(crate) fn cause(error: &io::Error) -> String {
    let code = error.raw_os_error();
    let no_locks = [rustix::io::Errno::NOLCK, rustix::io::Errno::OPNOTSUPP].map(|errno| Some(errno.raw_os_error()));
    match error.kind() {
        _ if no_locks.contains(&code) => {
            "the file system has no locks; use a local disk, or mount it with locks".to_owned()
        }
        io::ErrorKind::PermissionDenied if code.is_some() => {
            "permission denied; run pairflow as the owner, or give yourself access".to_owned()
        }
        io::ErrorKind::StorageFull => "the disk is full; free some space and try again".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up; free some space and try again".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only; make it writable and try again".to_owned(),
        _ => error.to_string(),
    }
}

impl StorageError {
    /// Makes an error out of what the system said.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_owned(), source }
    }
}

/// Numbers temporary files, so that two writers of one process never share one.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Replaces a file in one step. After a power loss the old content, the new or none may be there.
pub(super) fn replace(disk: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let temp = temp_of(path);
    let replaced = disk.write(&temp, bytes).and_then(|()| disk.rename(&temp, path));
    if replaced.is_err() {
        // The first failure is the one to report.
        let _ = disk.remove(&temp);
    }
    replaced
}

/// Replaces a cache file that has one writer at a time, without a sync.
pub(super) fn renew(disk: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let spare = path.with_file_name(format!(".{name}.spare"));
    let renewed = disk.renew(path, &spare, bytes);
    if renewed.is_err() {
        let _ = disk.remove(&spare);
    }
    renewed
}

/// Replaces a file in one step; when this returns, content and name survive a power loss.
pub(super) fn put(disk: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let temp = temp_of(path);
    let written = disk.write(&temp, bytes).and_then(|()| disk.sync_file(&temp));
    let replaced = written.and_then(|()| disk.rename(&temp, path));
    if replaced.is_err() {
        let _ = disk.remove(&temp);
    }
    replaced.and_then(|()| disk.sync_dir(parent(path)))
}

/// Makes a directory and those above it, durably.
pub(super) fn make_dirs(disk: &dyn Storage, path: &Path) -> Result<(), StorageError> {
    let there = disk.stat(path)?.is_some();
    // A process may have died between making the directory and syncing it. It puts nothing into it before that.
    if path.parent().is_none() || there && !disk.list_dir(path)?.is_empty() {
        return Ok(());
    }
    if !there {
        make_dirs(disk, parent(path))?;
        disk.create_dir(path)?;
    }
    disk.sync_dir(parent(path))
}

/// Returns the directory that a path is in.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn temp_of(path: &Path) -> std::path::PathBuf {
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()))
}
