//! Repairs a damaged log when a person asks for it. The damaged log is kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::Machine;
use pairflow_core::log::scan::{Damaged, Scan};

use super::read::{self, Cache, ReadError};
use super::storage::{self, FileStat, Handle, LockMode};
use super::{Loaded, Log, StoreError};

/// What a repair of a damaged log did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage<M = BubbleState> {
    /// How many envelopes are left; with none the log is gone.
    pub envelopes: u64,
    /// How many bytes are left.
    pub bytes: u64,
    /// How many lines are lost.
    pub lost: u64,
    /// The state that is left; nothing without an envelope.
    pub state: Option<Box<M>>,
    /// What was wrong, if anything.
    pub damage: Option<Damaged>,
    /// The whole damaged log, as it was found.
    pub moved: Option<PathBuf>,
}

/// The prefix of the names of damaged logs in quarantine.
const SET_ASIDE: &str = "transcript-";

/// The size limit of a repair, which holds the whole log in memory.
const LARGEST: u64 = 1 << 30;

/// How long a repair waits for the lock.
const PATIENCE: Duration = Duration::from_secs(10);

impl<M: Machine> Log<M> {
    /// Keeps the whole appends before the first damage, and moves the damaged log to quarantine.
    ///
    /// Acknowledged messages may be lost, so only a person may ask for it.
    pub fn repair(&self) -> Result<Salvage<M>, StoreError> {
        self.insist_on_trusted_location()?;
        let guard = self.guard(LockMode::Exclusive, PATIENCE)?;
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let Some(found) = self.sound_part(&*handle, &stat, cache.as_ref())? else {
            drop(guard);
            // No decision is needed; taking the lock repairs what a crash left.
            let locked = self.lock(PATIENCE)?;
            let Loaded { state, head, .. } = locked.into_loaded();
            let (envelopes, bytes, state) = (head.seq, head.offset, Some(Box::new(state)));
            return Ok(Salvage { envelopes, bytes, lost: 0, state, damage: None, moved: None });
        };
        let offset = found.damage.as_ref().map_or(0, |damage| damage.offset);
        let moved = self.quarantine(&format!("{SET_ASIDE}{offset}"), "ndjson")?;
        self.salvage(&*handle, &found, stat.len, &moved)?;
        Ok(Salvage { moved: Some(moved), ..found })
    }

    /// Returns what a repair would keep and lose; nothing if no damage is found.
    pub fn salvageable(&self) -> Result<Option<Salvage<M>>, StoreError> {
        let _guard = self.guard(LockMode::Shared, PATIENCE)?;
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        self.sound_part(&*handle, &stat, cache.as_ref())
    }

    /// Returns the damaged logs in quarantine.
    pub fn set_aside(&self) -> Vec<PathBuf> {
        let dir = self.files.quarantine();
        // The log itself is complete without them.
        let names = self.disk.list_dir(&dir).unwrap_or_default();
        names.iter().filter(|name| name.starts_with(SET_ASIDE)).map(|name| dir.join(name)).collect()
    }

    /// Finds the first damage, and the whole appends before it.
    fn sound_part(
        &self,
        handle: &dyn Handle,
        stat: &FileStat,
        cache: Option<&Cache<M>>,
    ) -> Result<Option<Salvage<M>>, StoreError> {
        let len = stat.len;
        let full = Scan::<M::Body>::new(&self.id, read::acknowledged_to(cache, stat));
        let damage = match read::run(handle, len, full, &mut |_| {}) {
            Ok(_) => return Ok(None),
            Err(ReadError::Damaged(damage)) => damage,
            Err(error) => return Err(self.store_error(error)),
        };
        // Every line before the damaged one is valid, so this read succeeds.
        let sound = Scan::new(&self.id, 0);
        let mut state = M::new(self.id.clone());
        let mut each = |envelope| state.advance(&envelope);
        let head =
            read::run(handle, damage.offset.min(len), sound, &mut each).map_err(|error| self.store_error(error))?.head;
        if len > LARGEST {
            return Err(StoreError::TooLargeToRepair { path: self.files.transcript(), bytes: len });
        }
        let lines = read::copy(handle, 0, len)?.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        let known = cache.filter(|cache| cache.is_of(stat)).map_or(0, |cache| cache.head.seq);
        let lost = u64::try_from(lines).unwrap_or(u64::MAX).max(known).saturating_sub(head.seq);
        let state = (head.seq > 0).then(|| Box::new(state));
        Ok(Some(Salvage { envelopes: head.seq, bytes: head.offset, lost, state, damage: Some(damage), moved: None }))
    }

    /// Copies the log to quarantine, removes the cache, which covers the lost part, and keeps the valid part as the log.
    fn salvage(&self, handle: &dyn Handle, sound: &Salvage<M>, len: u64, moved: &Path) -> Result<(), StoreError> {
        let (disk, path) = (&*self.disk, self.files.transcript());
        let mut good = read::copy(handle, 0, len)?;
        storage::put(disk, moved, &good)?;
        disk.remove(&self.files.state())?;
        disk.sync_dir(&self.files.dir)?;
        if sound.envelopes == 0 {
            disk.remove(&path)?;
            return Ok(disk.sync_dir(&self.files.dir)?);
        }
        good.resize(usize::try_from(sound.bytes).unwrap_or(usize::MAX), b'\n');
        Ok(storage::put(disk, &path, &good)?)
    }
}
