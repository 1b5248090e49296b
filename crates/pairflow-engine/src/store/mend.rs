//! What is taken out of a log is kept: torn tails by themselves, damage when a person asks for it.

use std::path::PathBuf;
use std::time::Duration;

use pairflow_core::log::scan::{Damaged, Head, Scan, Torn};

use super::durable;
use super::error::StoreError;
use super::log::Log;
use super::read::{self, ReadError};
use super::storage::{Handle, LockMode, StorageError};

/// What was mended when a log was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repaired {
    /// The remains of an append that never counted were set aside.
    SetAside {
        /// Where they stood.
        torn: Torn,
        /// The file that has them now.
        kept: PathBuf,
    },
    /// The newline of the last line was added.
    Newline {
        /// Where it stands now.
        offset: u64,
    },
}

/// What a repair of a damaged log did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// How many envelopes are left; with none the bubble is gone.
    pub envelopes: u64,
    /// How many bytes are left.
    pub bytes: u64,
    /// What was wrong, if anything.
    pub damage: Option<Damaged>,
    /// The whole damaged log, as it was found.
    pub moved: Option<PathBuf>,
}

/// How long a repair waits for the lock.
const PATIENCE: Duration = Duration::from_secs(10);

impl Log {
    /// Keeps the whole appends before the first damage, and moves the damaged log aside as it is.
    ///
    /// Meant for a person who was told of the damage: acknowledged messages may be given up.
    pub fn repair(&self) -> Result<Salvage, StoreError> {
        let guard = self.guard(LockMode::Exclusive, PATIENCE)?;
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let known = read::acknowledged_to(cache.as_ref(), &stat);
        let mut head = Head::default();
        let Some(damage) = self.damage(&*handle, stat.len, known, &mut head)? else {
            drop(guard);
            // Nothing that needs a decision; what a crash left is mended by taking the lock.
            let locked = self.lock(PATIENCE)?;
            let Head { seq, offset, .. } = locked.loaded().head;
            return Ok(Salvage { envelopes: seq, bytes: offset, damage: None, moved: None });
        };
        let moved = self.quarantine(&format!("transcript-{}", damage.offset), "ndjson")?;
        self.salvage(&*handle, &head, stat.len, &moved)?;
        Ok(Salvage { envelopes: head.seq, bytes: head.offset, damage: Some(damage), moved: Some(moved) })
    }

    /// Finds the first damage, and the end of the last whole append before it.
    fn damage(
        &self,
        handle: &dyn Handle,
        len: u64,
        known: u64,
        head: &mut Head,
    ) -> Result<Option<Damaged>, StoreError> {
        let full = Scan::new(&self.id, known);
        let damage = match read::run(handle, len, full, &mut |_| {}) {
            Ok(_) => return Ok(None),
            Err(ReadError::Damaged(damage)) => damage,
            Err(error) => return Err(self.told(error)),
        };
        // Up to the damaged line every line is sound, so this much is read without complaint.
        let sound = Scan::new(&self.id, 0);
        *head = read::run(handle, damage.offset.min(len), sound, &mut |_| {}).map_err(|error| self.told(error))?.head;
        Ok(Some(damage))
    }

    /// Copies the log aside, drops the cache that vouches for what is given up, and replaces the log by its good part.
    fn salvage(&self, handle: &dyn Handle, head: &Head, len: u64, moved: &std::path::Path) -> Result<(), StoreError> {
        let (disk, path) = (&*self.disk, self.files.transcript());
        let mut good = copy(handle, 0, len)?;
        durable::put(disk, moved, &good)?;
        disk.remove(&self.files.state())?;
        disk.sync_dir(&self.files.dir)?;
        if head.seq == 0 {
            disk.remove(&path)?;
            return Ok(disk.sync_dir(&self.files.dir)?);
        }
        good.resize(usize::try_from(head.offset).unwrap_or(usize::MAX), b'\n');
        Ok(durable::put(disk, &path, &good)?)
    }
}

/// Copies a torn tail into quarantine, durably, and returns where it is.
pub(super) fn keep(log: &Log, handle: &dyn Handle, torn: Torn, seq: u64) -> Result<PathBuf, StorageError> {
    let bytes = copy(handle, torn.offset, torn.len)?;
    let stem = format!("{seq}-{}", torn.offset);
    let dir = log.files.quarantine();
    // A crash between keeping and cutting leaves the bytes in both places.
    let before = log.disk.list_dir(&dir)?.into_iter().filter(|name| name.starts_with(&stem)).map(|name| dir.join(name));
    for path in before {
        if log.disk.read(&path)?.is_some_and(|kept| kept == bytes) {
            log.disk.sync_dir(&dir)?;
            return Ok(path);
        }
    }
    let path = log.quarantine(&stem, "bin")?;
    durable::put(&*log.disk, &path, &bytes)?;
    Ok(path)
}

fn copy(handle: &dyn Handle, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    let count = handle.read_at(offset, &mut bytes)?;
    bytes.truncate(count);
    Ok(bytes)
}
