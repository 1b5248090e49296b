//! A disk with one bad moment, named after what happens there: it fails from then on, or the process is killed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pairflow_engine::store::RealDisk;
use pairflow_engine::store::storage::{FileStat, Guard, Handle, LockMode, Storage, StorageError};
use rustix::io::Errno;

/// A moment in the life of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Everything is decided; the lock is about to be taken.
    BeforeLock,
    /// The line is about to be written.
    BeforeAppend,
    /// Half of the line is written.
    HalfALine,
    /// The line is written, and not yet synced.
    AfterAppend,
    /// The line is synced; `state.json` is as before.
    AfterSync,
    /// The new `state.json` is written beside the old one.
    BeforeRename,
    /// The new `state.json` is in place.
    AfterRename,
    /// The torn tail is kept, and not yet cut off.
    BeforeCut,
    /// The torn tail is cut off.
    AfterCut,
}

/// What happens at the moment.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    /// The kernel kills the process.
    Kill,
    /// The disk fails, and everything that would write fails with it from then on.
    Fail(Errno),
    /// The process says that it is there, and waits until the file `go` in this directory appears.
    Wait(PathBuf),
}

/// The disk of the machine, but for one moment.
#[derive(Clone)]
pub(crate) struct BadDisk {
    at: Moment,
    deed: Deed,
    failing: Arc<AtomicBool>,
}

impl BadDisk {
    pub(crate) fn new(at: Moment, deed: Deed) -> Self {
        Self { at, deed, failing: Arc::default() }
    }

    /// A disk on which nothing can be written at all.
    pub(crate) fn read_only() -> Self {
        let disk = Self::new(Moment::BeforeLock, Deed::Fail(Errno::ROFS));
        disk.failing.store(true, Ordering::SeqCst);
        disk
    }

    fn reach(&self, moment: Moment) {
        if self.at != moment {
            return;
        }
        match &self.deed {
            Deed::Kill => {
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("a process may kill itself");
            }
            Deed::Fail(_) => self.failing.store(true, Ordering::SeqCst),
            Deed::Wait(dir) => wait(dir),
        }
    }

    fn writable(&self, path: &Path) -> Result<(), StorageError> {
        match &self.deed {
            Deed::Fail(errno) if self.failing.load(Ordering::SeqCst) => {
                Err(StorageError::new("write", path, (*errno).into()))
            }
            _ => Ok(()),
        }
    }
}

fn wait(dir: &Path) {
    std::fs::write(dir.join(std::process::id().to_string()), "").expect("the directory of the test is writable");
    let until = Instant::now() + Duration::from_secs(60);
    while !dir.join("go").exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_state(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "state.json")
}

impl Storage for BadDisk {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        RealDisk.open(path)
    }

    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        let handle = RealDisk.open_append(path)?;
        let wrap = |inner| Box::new(BadFile { disk: self.clone(), inner, path: path.to_owned() }) as Box<dyn Handle>;
        Ok(handle.map(wrap))
    }

    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError> {
        RealDisk.stat(path)
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        RealDisk.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        self.writable(path)?;
        RealDisk.write(path, bytes)
    }

    fn sync_file(&self, path: &Path) -> Result<(), StorageError> {
        RealDisk.sync_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        if is_state(to) {
            self.reach(Moment::BeforeRename);
        }
        self.writable(to)?;
        RealDisk.rename(from, to)?;
        if is_state(to) {
            self.reach(Moment::AfterRename);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        self.writable(path)?;
        RealDisk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> Result<bool, StorageError> {
        self.writable(path)?;
        RealDisk.create_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), StorageError> {
        RealDisk.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        RealDisk.list_dir(path)
    }

    fn lock(&self, path: &Path, mode: LockMode, patience: Duration) -> Result<Option<Guard>, StorageError> {
        // Only whoever is about to write waits at this moment.
        if !patience.is_zero() && mode == LockMode::Exclusive {
            self.reach(Moment::BeforeLock);
        }
        self.writable(path)?;
        RealDisk.lock(path, mode, patience)
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        RealDisk.lock_holder(path)
    }
}

struct BadFile {
    disk: BadDisk,
    inner: Box<dyn Handle>,
    path: PathBuf,
}

impl Handle for BadFile {
    fn stat(&self) -> Result<FileStat, StorageError> {
        self.inner.stat()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        self.inner.read_at(offset, buffer)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.disk.reach(Moment::BeforeAppend);
        self.disk.writable(&self.path)?;
        if self.disk.at == Moment::HalfALine {
            self.inner.append(&bytes[..bytes.len() / 2])?;
            self.disk.reach(Moment::HalfALine);
            return self.disk.writable(&self.path);
        }
        self.inner.append(bytes)?;
        self.disk.reach(Moment::AfterAppend);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        self.disk.writable(&self.path)?;
        self.inner.sync_data()?;
        self.disk.reach(Moment::AfterSync);
        Ok(())
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.disk.reach(Moment::BeforeCut);
        // A full disk lets a file shrink; a read-only one does not.
        if matches!(self.disk.deed, Deed::Fail(Errno::ROFS)) {
            self.disk.writable(&self.path)?;
        }
        self.inner.truncate(len)?;
        self.disk.reach(Moment::AfterCut);
        Ok(())
    }
}
