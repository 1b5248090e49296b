//! Files that replace one another in one step, durable or not.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::storage::{Storage, StorageError};

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
