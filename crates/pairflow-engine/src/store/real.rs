//! The real disk: files that only their owner may read, and kernel locks.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pairflow_core::time::BackOff;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::storage::{FileKind, FileStat, Guard, Handle, LockMode};
use super::{Storage, StorageError};
use crate::regular::{self, Symlinks, optional};

/// The disk of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

/// The largest file that is read at once; every one of ours is much smaller.
const MOST_BYTES: u64 = 256 << 20;

/// The pauses between two attempts to take a lock.
const PAUSES: BackOff = BackOff::new(Duration::from_micros(200), Duration::from_millis(5));

impl Storage for RealDisk {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        handle(path, OpenOptions::new().read(true))
    }

    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        handle(path, OpenOptions::new().read(true).append(true))
    }

    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError> {
        let found = optional(fs::symlink_metadata(path)).map_err(|e| StorageError::new("look at", path, e))?;
        Ok(found.map(|meta| stat(&meta)))
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        optional(regular::read_at(path, MOST_BYTES, Symlinks::Refuse)).map_err(|e| StorageError::new("read", path, e))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true);
        let mut write = || plain(path, options)?.write_all(bytes);
        write().map_err(|e| StorageError::new("write", path, e))
    }

    /// The two files swap names each time. A new file for each content would need blocks to be allocated, and the next
    /// sync of the log would wait for that.
    fn renew(&self, path: &Path, spare: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        let write = || {
            let file = plain(spare, OpenOptions::new().write(true).create(true))?;
            file.write_all_at(bytes, 0)?;
            let len = bytes.len() as u64;
            if file.metadata()?.len() == len { Ok(()) } else { file.set_len(len) }
        };
        write().map_err(|e| StorageError::new("write", spare, e))?;
        // Anything else in its place, such as a link, is replaced and never kept.
        let there = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
        let swapped = there && renameat_with(CWD, spare, CWD, path, RenameFlags::EXCHANGE).is_ok();
        // There may be no file to swap with yet, or the file system cannot do it.
        if swapped { Ok(()) } else { self.rename(spare, path) }
    }

    fn sync_file(&self, path: &Path) -> Result<(), StorageError> {
        let sync = || plain(path, OpenOptions::new().read(true))?.sync_all();
        sync().map_err(|e| StorageError::new("sync", path, e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        fs::rename(from, to).map_err(|e| StorageError::new("replace", to, e))
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        regular::remove(path).map_err(|e| StorageError::new("remove", path, e))
    }

    fn create_dir(&self, path: &Path) -> Result<bool, StorageError> {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
            Err(e) => Err(StorageError::new("make the directory", path, e)),
        }
    }

    fn sync_dir(&self, path: &Path) -> Result<(), StorageError> {
        let sync = || regular::open_dir(path)?.sync_all();
        sync().map_err(|e| StorageError::new("sync the directory", path, e))
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        let list = || {
            let Some(entries) = optional(fs::read_dir(path))? else { return Ok(Vec::new()) };
            let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            let mut names = entries.map(|entry| entry.map(name)).collect::<io::Result<Vec<_>>>()?;
            names.sort();
            Ok(names)
        };
        list().map_err(|e| StorageError::new("list", path, e))
    }

    fn lock(&self, path: &Path, mode: LockMode, patience: Duration) -> Result<Option<Guard>, StorageError> {
        let until = Instant::now() + patience;
        let mut pauses = PAUSES;
        loop {
            if let Some(file) = try_lock(path, mode).map_err(|e| StorageError::new("lock", path, e))? {
                return Ok(Some(Box::new(file)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            std::thread::sleep(pauses.pause().min(left));
        }
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        lock_holders(path).first().copied()
    }
}

/// Returns the processes that hold the lock of a path, by `/proc/locks`. It may include holders of locks on files of
/// other file systems that have the same inode number.
pub(crate) fn lock_holders(path: &Path) -> Vec<u32> {
    let Ok(ino) = fs::metadata(path).map(|meta| meta.ino().to_string()) else { return Vec::new() };
    let locks = regular::read_text(Path::new("/proc/locks")).unwrap_or_default();
    let holder = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let flock = words.next()? == "FLOCK";
        let (pid, file) = (words.nth(2)?, words.next()?);
        (flock && file.rsplit(':').next() == Some(&ino)).then(|| pid.parse().ok())?
    };
    locks.lines().filter_map(holder).filter(|pid| *pid > 0).collect()
}

/// Tries once to lock a file. A file that was replaced in the meantime does not count: others would lock the new one.
fn try_lock(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    let file = plain(path, OpenOptions::new().read(true).write(true).create(true))?;
    let locked = match mode {
        LockMode::Exclusive => file.try_lock(),
        LockMode::Shared => file.try_lock_shared(),
    };
    match locked {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let named = optional(fs::symlink_metadata(path))?;
    let same =
        named.is_some_and(|meta| file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (meta.dev(), meta.ino())));
    Ok(same.then_some(file))
}

/// An open file, with its name for messages.
struct RealFile {
    file: File,
    path: PathBuf,
}

fn handle(path: &Path, options: &mut OpenOptions) -> Result<Option<Box<dyn Handle>>, StorageError> {
    let file = optional(plain(path, options)).map_err(|e| StorageError::new("open", path, e))?;
    Ok(file.map(|file| Box::new(RealFile { file, path: path.to_owned() }) as Box<dyn Handle>))
}

impl RealFile {
    fn tried<T>(&self, action: &'static str, outcome: io::Result<T>) -> Result<T, StorageError> {
        outcome.map_err(|e| StorageError::new(action, &self.path, e))
    }
}

impl Handle for RealFile {
    fn stat(&self) -> Result<FileStat, StorageError> {
        self.tried("look at", self.file.metadata().map(|meta| stat(&meta)))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return self.tried("read", Err(e)),
            }
        }
        Ok(filled)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StorageError> {
        let written = loop {
            match (&self.file).write(bytes) {
                // Nothing was written yet, so it is still one write.
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => break self.tried("append to", other)?,
            }
        };
        if written == bytes.len() {
            return Ok(());
        }
        // The next write returns the reason of a short one: almost always a full disk.
        let rest = (&self.file).write(&bytes[written..]);
        let reason = rest.err().unwrap_or_else(|| io::Error::new(ErrorKind::WriteZero, "only a part was written"));
        self.tried("append to", Err(reason))
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        self.tried("sync", self.file.sync_data())
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.tried("cut", self.file.set_len(len))
    }
}

/// Opens a regular file with permissions for its owner only. A symbolic link is never followed, a FIFO never waited for.
fn plain(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    regular::open_with(path, options.mode(0o600), Symlinks::Refuse)
}

fn stat(meta: &fs::Metadata) -> FileStat {
    let kind = meta.file_type();
    let kind = match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
        (true, ..) => FileKind::File,
        (_, true, _) => FileKind::Dir,
        (.., true) => FileKind::Link,
        _ => FileKind::Other,
    };
    let nanos = |secs: i64, nanos: i64| secs.saturating_mul(1_000_000_000).saturating_add(nanos);
    FileStat {
        kind,
        len: meta.len(),
        mtime_ns: nanos(meta.mtime(), meta.mtime_nsec()),
        ctime_ns: nanos(meta.ctime(), meta.ctime_nsec()),
        ino: meta.ino(),
        own: meta.uid() == rustix::process::geteuid().as_raw(),
        shared: meta.mode() & 0o022 != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_file_has_exactly_the_new_content_and_its_spare_stays_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let (path, spare) = (dir.path().join("state"), dir.path().join("spare"));
        for text in ["first", "a longer second", "3rd", "and the fourth one"] {
            RealDisk.renew(&path, &spare, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_to_string(&spare).unwrap(), "3rd");
    }

    #[test]
    fn a_link_in_the_place_of_a_renewed_file_is_replaced_and_what_it_points_to_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, spare, other) = (dir.path().join("state"), dir.path().join("spare"), dir.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        RealDisk.renew(&path, &spare, b"new").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    }
}
