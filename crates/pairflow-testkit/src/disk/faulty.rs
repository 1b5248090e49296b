//! A disk that fails one chosen operation, or kills the process at it.
//!
//! `PF_FAULT` chooses it for a process: `kill@17` ends the process with SIGKILL at its 17th operation on the disk,
//! `errno@17:ENOSPC` fails that operation, and `short@17` writes half of it.

use std::io;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pairflow_engine::store::storage::{FileStat, Guard, Handle, LockMode, Storage, StorageError};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// A disk that passes everything on to another one, but for the chosen operation.
#[derive(Clone)]
pub struct FaultyDisk(Arc<Faulty>);

/// What happens at the chosen operation.
#[derive(Clone)]
pub enum Fault {
    /// It fails with this error of the system and does nothing.
    Error(rustix::io::Errno),
    /// Half of the bytes are written, then it fails; what writes no bytes just fails.
    Short,
    /// It does nothing, and neither does any later one: the process is dead.
    Crash,
    /// This is called before the operation is done; a test binary can kill itself in it.
    Call(Arc<dyn Fn() + Send + Sync>),
}

struct Faulty {
    inner: Arc<dyn Storage>,
    /// Which operation, from 1.
    at: u64,
    fault: Fault,
    count: AtomicU64,
}

/// What to do with an operation.
enum Fate {
    Go,
    Half,
    Fail(io::Error),
}

impl FaultyDisk {
    /// Wraps a disk; its `at`-th operation, counted from 1, has the fault.
    pub fn new(inner: Arc<dyn Storage>, at: u64, fault: Fault) -> Self {
        Self(Arc::new(Faulty { inner, at, fault, count: AtomicU64::new(0) }))
    }

    /// Returns how many operations were asked for so far.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Whether the chosen operation was reached.
    pub fn struck(&self) -> bool {
        self.count() >= self.0.at
    }
}

impl Faulty {
    fn fate(&self) -> Fate {
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        match &self.fault {
            Fault::Crash if number >= self.at => Fate::Fail(io::Error::other("the process is dead")),
            _ if number != self.at => Fate::Go,
            Fault::Crash => Fate::Go,
            Fault::Error(errno) => Fate::Fail((*errno).into()),
            Fault::Short => Fate::Half,
            Fault::Call(call) => {
                call();
                Fate::Go
            }
        }
    }

    fn admit(&self, path: &Path) -> Result<(), StorageError> {
        match self.fate() {
            Fate::Go => Ok(()),
            Fate::Half => Err(StorageError::new("use", path, rustix::io::Errno::IO.into())),
            Fate::Fail(error) => Err(StorageError::new("use", path, error)),
        }
    }

    /// Writes all bytes, half of them or none.
    fn admit_write(
        &self,
        path: &Path,
        bytes: &[u8],
        write: impl Fn(&[u8]) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        match self.fate() {
            Fate::Go => write(bytes),
            Fate::Fail(error) => Err(StorageError::new("write", path, error)),
            Fate::Half => {
                write(&bytes[..bytes.len() / 2])?;
                let short = io::Error::new(ErrorKind::WriteZero, "only a part was written");
                Err(StorageError::new("write", path, short))
            }
        }
    }
}

impl FaultyDisk {
    fn wrap(&self, path: &Path, inner: Option<Box<dyn Handle>>) -> Option<Box<dyn Handle>> {
        let wrap = |inner| FaultyFile { disk: Arc::clone(&self.0), inner, path: path.to_owned() };
        inner.map(|inner| Box::new(wrap(inner)) as Box<dyn Handle>)
    }
}

impl Storage for FaultyDisk {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        self.0.admit(path)?;
        Ok(self.wrap(path, self.0.inner.open(path)?))
    }

    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        self.0.admit(path)?;
        Ok(self.wrap(path, self.0.inner.open_append(path)?))
    }

    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError> {
        self.0.admit(path)?;
        self.0.inner.stat(path)
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        self.0.admit(path)?;
        self.0.inner.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.admit_write(path, bytes, |bytes| self.0.inner.write(path, bytes))
    }

    fn sync_file(&self, path: &Path) -> Result<(), StorageError> {
        self.0.admit(path)?;
        self.0.inner.sync_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        self.0.admit(to)?;
        self.0.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        self.0.admit(path)?;
        self.0.inner.remove(path)
    }

    fn create_dir(&self, path: &Path) -> Result<bool, StorageError> {
        self.0.admit(path)?;
        self.0.inner.create_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), StorageError> {
        self.0.admit(path)?;
        self.0.inner.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        self.0.admit(path)?;
        self.0.inner.list_dir(path)
    }

    fn lock(&self, path: &Path, mode: LockMode, patience: Duration) -> Result<Option<Guard>, StorageError> {
        self.0.admit(path)?;
        self.0.inner.lock(path, mode, patience)
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        self.0.inner.lock_holder(path)
    }
}

struct FaultyFile {
    disk: Arc<Faulty>,
    inner: Box<dyn Handle>,
    path: PathBuf,
}

impl Handle for FaultyFile {
    fn stat(&self) -> Result<FileStat, StorageError> {
        self.disk.admit(&self.path)?;
        self.inner.stat()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        self.disk.admit(&self.path)?;
        self.inner.read_at(offset, buffer)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.disk.admit_write(&self.path, bytes, |bytes| self.inner.append(bytes))
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        self.disk.admit(&self.path)?;
        self.inner.sync_data()
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.disk.admit(&self.path)?;
        self.inner.truncate(len)
    }
}

/// Which operation, counted from 1, and what happens at it.
pub type Planned = (u64, Fault);

/// Reads `kill@17`, `short@17` or `errno@17:ENOSPC`; fails if it is none of these.
pub fn parse_fault(text: &str) -> Result<Planned, String> {
    let wrong = || format!("{text:?} is no fault such as kill@17 or errno@17:ENOSPC");
    let (what, rest) = text.split_once('@').ok_or_else(wrong)?;
    let (at, errno) = rest.split_once(':').map_or((rest, None), |(at, name)| (at, Some(name)));
    let at = at.parse().map_err(|_| wrong())?;
    let fault = match (what, errno) {
        ("kill", None) => Fault::Call(Arc::new(die)),
        ("short", None) => Fault::Short,
        ("errno", Some(name)) => Fault::Error(named(name).ok_or_else(wrong)?),
        _ => return Err(wrong()),
    };
    Ok((at, fault))
}

/// A fault that never strikes.
pub fn no_fault() -> Planned {
    (u64::MAX, Fault::Short)
}

fn named(name: &str) -> Option<Errno> {
    Some(match name {
        "ENOSPC" => Errno::NOSPC,
        "EIO" => Errno::IO,
        "EDQUOT" => Errno::DQUOT,
        "EINTR" => Errno::INTR,
        "EMFILE" => Errno::MFILE,
        "EROFS" => Errno::ROFS,
        "EACCES" => Errno::ACCESS,
        _ => return None,
    })
}

/// Ends this process as the kernel would end it for someone else.
fn die() {
    // If even this fails, the process goes on, and the run shows that it was not killed.
    let _ = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_and_nonsense_is_not_taken_for_one() {
        assert!(matches!(parse_fault("kill@17"), Ok((17, Fault::Call(_)))));
        assert!(matches!(parse_fault("short@3"), Ok((3, Fault::Short))));
        assert!(matches!(parse_fault("errno@3:ENOSPC"), Ok((3, Fault::Error(errno))) if errno == Errno::NOSPC));
        for nonsense in ["", "kill", "kill@", "kill@x", "errno@3", "errno@3:EWHAT", "kill@3:EIO", "slow@3"] {
            assert!(parse_fault(nonsense).is_err(), "{nonsense}");
        }
    }
}
