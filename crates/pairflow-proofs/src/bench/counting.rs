//! A disk that counts how often it is told to make something durable, for machines without `strace`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pairflow_engine::store::RealDisk;
use pairflow_engine::store::storage::{FileStat, Guard, Handle, LockMode, Storage, StorageError};

/// The disk of the machine, with a counter.
#[derive(Clone, Default)]
pub(super) struct Counting(Arc<AtomicU32>);

struct CountingFile(Arc<AtomicU32>, Box<dyn Handle>);

impl Counting {
    /// Returns how often something was made durable.
    pub(super) fn syncs(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn counted(&self, file: Option<Box<dyn Handle>>) -> Option<Box<dyn Handle>> {
        file.map(|file| Box::new(CountingFile(Arc::clone(&self.0), file)) as Box<dyn Handle>)
    }
}

impl Storage for Counting {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        RealDisk.open(path).map(|file| self.counted(file))
    }

    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        RealDisk.open_append(path).map(|file| self.counted(file))
    }

    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError> {
        RealDisk.stat(path)
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        RealDisk.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        RealDisk.write(path, bytes)
    }

    fn renew(&self, path: &Path, spare: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        RealDisk.renew(path, spare, bytes)
    }

    fn sync_file(&self, path: &Path) -> Result<(), StorageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        RealDisk.sync_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        RealDisk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> Result<bool, StorageError> {
        RealDisk.create_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), StorageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        RealDisk.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        RealDisk.list_dir(path)
    }

    fn lock(&self, path: &Path, mode: LockMode, patience: Duration) -> Result<Option<Guard>, StorageError> {
        RealDisk.lock(path, mode, patience)
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        RealDisk.lock_holder(path)
    }
}

impl Handle for CountingFile {
    fn stat(&self) -> Result<FileStat, StorageError> {
        self.1.stat()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        self.1.read_at(offset, buffer)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.1.append(bytes)
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.sync_data()
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.1.truncate(len)
    }
}
