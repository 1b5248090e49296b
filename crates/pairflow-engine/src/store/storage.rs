//! The file operations that the store stands on, and nothing more.
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

    /// Returns what is known of a name, itself and not what it points to; nothing if there is none.
    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError>;

    /// Returns the whole content of a file; nothing if there is none.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError>;

    /// Makes a file with this content, or replaces the content of one. Readers may see half of it.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError>;

    /// Gives a file other content in one step, with `spare` beside it to write to first; it has one writer at a time.
    ///
    /// Readers see the old content or the new, and now and then a mixture. After a power loss anything may be there.
    fn renew(&self, path: &Path, spare: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        self.write(spare, bytes)?;
        self.rename(spare, path)
    }

    /// Makes the content of a file durable.
    fn sync_file(&self, path: &Path) -> Result<(), StorageError>;

    /// Gives a file another name; a file that has that name already is replaced, in one step.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError>;

    /// Removes a file, if there is one.
    fn remove(&self, path: &Path) -> Result<(), StorageError>;

    /// Makes a directory, and says whether there was none.
    fn create_dir(&self, path: &Path) -> Result<bool, StorageError>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<(), StorageError>;

    /// Returns the names in a directory, sorted; none if there is no directory.
    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError>;

    /// Takes the lock of a path, and waits for it at most as long as `patience`; nothing if others hold it still.
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

    /// Writes at the end of the file, in one write. After a failure any part of the bytes may stand there.
    fn append(&self, bytes: &[u8]) -> Result<(), StorageError>;

    /// Makes content and length durable. After a failure it is unknown what is; it must not be tried again.
    fn sync_data(&self) -> Result<(), StorageError>;

    /// Cuts the file.
    fn truncate(&self, len: u64) -> Result<(), StorageError>;
}

/// What is known of a file without reading it.
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
    /// Which file it is, whatever its name.
    pub ino: u64,
    /// Whether it belongs to the user of this process.
    pub own: bool,
    /// Whether other users may write to it, by its mode.
    pub shared: bool,
}

/// What a name stands for.
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

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// By one alone.
    Exclusive,
    /// By any number that only read.
    Shared,
}

/// A lock that is held; dropping it, or the end of the process, frees it.
pub type Guard = Box<dyn Any + Send + Sync>;

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {}", path.display(), cause(source))]
pub struct StorageError {
    /// What was tried, as a verb.
    pub action: &'static str,
    /// With which file or directory.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Words the causes that a person can fix so that they say how.
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
    /// Names what was tried and with what.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_owned(), source }
    }
}

/// Two writers of one process must not share a temporary file.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Replaces a file in one step. After a power loss the old content, the new or none may be there.
pub(super) fn replace(disk: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let temp = temp_of(path);
    let replaced = disk.write(&temp, bytes).and_then(|()| disk.rename(&temp, path));
    if replaced.is_err() {
        // The first failure is the one to tell.
        let _ = disk.remove(&temp);
    }
    replaced
}

/// Gives a file that is a cache, and has one writer at a time, other content in one step.
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
    // Its maker may have died before making it durable; but nothing is put into it before that.
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
