//! The one writer of a log: takes the lock, repairs a torn tail, and appends durably. The kernel frees the lock when its
//! holder dies.

use std::path::PathBuf;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineHash, MAX_LINE};
use pairflow_core::log::line::encode_append;
use pairflow_core::log::scan::{Head, MAX_APPEND, Torn};
use pairflow_core::log::seal::Sealer;
use pairflow_core::log::{Envelope, Event, Machine, Payload};
use pairflow_core::time::Moment;

use super::read::Cache;
use super::registry::LogOwner;
use super::storage::{self, Guard, Handle, LockMode};
use super::{Appended, Loaded, Log, Registry, StateSource, StorageError, StoreError, read};

/// How long the creation of a log waits for the lock.
const CREATE_PATIENCE: Duration = Duration::from_secs(10);

/// A locked log: no other process can write it.
pub struct Locked<M = BubbleState> {
    log: Log<M>,
    handle: Box<dyn Handle>,
    loaded: Loaded<M>,
    repaired: Option<Repaired>,
    poisoned: bool,
    owner: Option<LogOwner>,
    _guard: Guard,
}

/// What was repaired when a log was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repaired {
    /// The rest of an unacknowledged append was moved to quarantine.
    SetAside {
        /// Where it was.
        torn: Torn,
        /// The file that holds it now.
        kept: PathBuf,
    },
    /// The newline of the last line was added.
    Newline {
        /// Where it is.
        offset: u64,
    },
}

/// Events that have become lines.
pub(super) struct Stamped<B> {
    pub(super) envelopes: Vec<Envelope<B>>,
    pub(super) bytes: Vec<u8>,
    pub(super) head: Head,
    /// The hash of the first line.
    pub(super) first: LineHash,
}

impl<M: Machine> Log<M> {
    /// Creates a log with its first append, in one step.
    pub fn create(&self, events: &[Event<M::Body>], at: Moment) -> Result<(Locked<M>, Appended<M>), StoreError> {
        self.create_after(events, at, || Ok(()))
    }

    /// Creates the log of a new bubble, with its configuration beside it. If the log exists, neither is changed.
    pub fn create_configured(
        &self,
        config: &str,
        events: &[Event<M::Body>],
        at: Moment,
    ) -> Result<(Locked<M>, Appended<M>), StoreError> {
        self.create_after(events, at, || self.put_config(config))
    }

    /// Writes the configuration of a bubble, durably.
    pub fn put_config(&self, text: &str) -> Result<(), StoreError> {
        storage::make_dirs(&*self.disk, &self.files.dir)?;
        Ok(storage::put(&*self.disk, &self.files.dir.join("bubble.toml"), text.as_bytes())?)
    }

    /// Creates a log, and calls `first` under the lock once it is known that there is no log yet.
    pub(super) fn create_after(
        &self,
        events: &[Event<M::Body>],
        at: Moment,
        first: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(Locked<M>, Appended<M>), StoreError> {
        let disk = &*self.disk;
        self.insist_on_trusted_location()?;
        storage::make_dirs(disk, &self.files.dir)?;
        storage::make_dirs(disk, &self.files.artifacts())?;
        let guard = self.guard(LockMode::Exclusive, CREATE_PATIENCE)?;
        let path = self.files.transcript();
        if disk.stat(&path)?.is_some() {
            return Err(StoreError::Exists { id: self.id.clone(), path });
        }
        first()?;
        let key = self.registry.as_ref().map(Registry::key_or_new).transpose()?;
        let beginning = key.clone().map(Sealer::beginning);
        let stamped = stamp(events, at, &self.id, &Head::default(), beginning.as_ref())?;
        let owner = self.register_owner(key, stamped.first, 0)?;
        let handle = self.first(&stamped.bytes).inspect_err(|_| {
            // Nothing was acknowledged, so nothing stays. If the removal fails, too, the next attempt reports the rest.
            let _ = disk.remove(&path).and_then(|()| disk.sync_dir(&self.files.dir));
        })?;
        let mut state = M::new(self.id.clone());
        stamped.envelopes.iter().for_each(|envelope| state.advance(envelope));
        let loaded = Loaded { state, head: stamped.head, torn: None, unterminated: false, from: StateSource::Log };
        let locked = Locked::new(self.clone(), handle, guard, loaded).owned(owner);
        locked.save();
        Ok((locked, stamped.envelopes))
    }

    /// Writes the first bytes of a log, durably, and opens it.
    fn first(&self, bytes: &[u8]) -> Result<Box<dyn Handle>, StoreError> {
        let path = self.files.transcript();
        storage::put(&*self.disk, &path, bytes)?;
        // Others may have made the directories above without making them durable.
        self.files.dir.ancestors().skip(1).take(3).try_for_each(|dir| self.disk.sync_dir(dir))?;
        self.disk.open_append(&path)?.ok_or_else(|| self.missing())
    }

    /// Reads the state, and writes the cache if it is missing or old and the lock is free.
    pub fn refresh(&self) -> Result<Loaded<M>, StoreError> {
        let loaded = self.load()?;
        if loaded.from == StateSource::Cache || loaded.torn.is_some() || loaded.unterminated {
            return Ok(loaded);
        }
        match self.lock(Duration::ZERO) {
            Ok(locked) => Ok(locked.into_loaded()),
            // A missing cache only costs time.
            Err(_) => Ok(loaded),
        }
    }

    /// Takes the lock, waiting at most `patience`, and repairs a tail that a crash tore.
    pub fn lock(&self, patience: Duration) -> Result<Locked<M>, StoreError> {
        if self.disk.stat(&self.files.transcript())?.is_none() {
            return Err(self.missing());
        }
        let guard = self.guard(LockMode::Exclusive, patience)?;
        let handle = self.disk.open_append(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let loaded = self.read(&*handle, self.cache()?)?;
        let owner = self.ownership_of(&*handle)?.map_err(|why| StoreError::Foreign { id: self.id.clone(), why })?;
        let mut locked = Locked::new(self.clone(), handle, guard, loaded).owned(owner);
        locked.recover()?;
        Ok(locked)
    }
}

impl<M: Machine> Locked<M> {
    pub(super) fn new(log: Log<M>, handle: Box<dyn Handle>, guard: Guard, loaded: Loaded<M>) -> Self {
        Self { log, handle, loaded, repaired: None, poisoned: false, owner: None, _guard: guard }
    }

    /// Sets the owner that seals and notes later appends.
    pub(super) fn owned(self, owner: Option<LogOwner>) -> Self {
        Self { owner, ..self }
    }

    pub(super) fn handle(&self) -> &dyn Handle {
        &*self.handle
    }

    /// Returns the state, and where the log ends.
    pub fn loaded(&self) -> &Loaded<M> {
        &self.loaded
    }

    /// Gives up the lock and returns the state.
    pub fn into_loaded(self) -> Loaded<M> {
        self.loaded
    }

    /// Returns what was repaired when the lock was taken.
    pub fn repaired(&self) -> Option<&Repaired> {
        self.repaired.as_ref()
    }

    /// Appends events. When this returns, they survive a power loss; if it fails, nothing was recorded.
    ///
    /// One write, one sync. After a failure nothing more can be written: the log has to be locked and read again.
    pub fn append(&mut self, events: &[Event<M::Body>], at: Moment) -> Result<Vec<Envelope<M::Body>>, StoreError> {
        if self.poisoned {
            return Err(StoreError::Poisoned(self.log.files.transcript()));
        }
        let stamped =
            stamp(events, at, &self.log.id, &self.loaded.head, self.owner.as_ref().map(|owner| &owner.sealer))?;
        self.write(stamped)
    }

    /// Writes lines that continue the log.
    pub(super) fn write(&mut self, stamped: Stamped<M::Body>) -> Result<Vec<Envelope<M::Body>>, StoreError> {
        let written = self.handle.append(&stamped.bytes).and_then(|()| self.handle.sync_data());
        if let Err(source) = written {
            self.poisoned = true;
            return Err(StoreError::NotAppended { undone: self.undo(), source });
        }
        for envelope in &stamped.envelopes {
            self.loaded.state.advance(envelope);
        }
        self.loaded.head = stamped.head;
        self.save();
        Ok(stamped.envelopes)
    }

    /// Truncates what a failed append may have left. Returns whether that worked.
    ///
    /// The failed sync is not retried; the truncation is synced through a new handle.
    fn undo(&self) -> bool {
        let reopen = || self.log.disk.open_append(&self.log.files.transcript());
        let cut = self.handle.truncate(self.loaded.head.offset).is_ok();
        cut && reopen().is_ok_and(|handle| handle.is_some_and(|handle| handle.sync_data().is_ok()))
    }

    /// Writes the cache. The log must be durable up to its head. A missing cache only costs time.
    pub(super) fn save(&self) {
        let Loaded { state, head, .. } = &self.loaded;
        let save = || {
            let stat = self.handle.stat().ok().filter(|stat| stat.len == head.offset)?;
            let key = self.owner.as_ref().map(|owner| owner.sealer.key());
            let bytes = read::encode(state, head, &stat, key).ok()?;
            storage::renew(&*self.log.disk, &self.log.files.state(), &bytes).ok()?;
            self.log.remember(Cache::new(state.clone(), *head, &stat));
            Some(())
        };
        let _ = save();
        if let Some((registry, owner)) = self.log.registry.as_ref().zip(self.owner.as_ref()) {
            registry.note(&owner.entry, head);
        }
    }

    /// Repairs the tail, and syncs what a writer that died may have left unsynced.
    pub(super) fn recover(&mut self) -> Result<(), StoreError> {
        if self.loaded.from == StateSource::Cache {
            return Ok(());
        }
        self.repair_tail()?;
        self.save();
        Ok(())
    }

    /// Repairs the tail, for own and foreign logs.
    pub(super) fn repair_tail(&mut self) -> Result<(), StoreError> {
        self.repaired = match (self.loaded.torn, self.loaded.unterminated) {
            (Some(torn), _) => Some(self.set_aside(torn)?),
            (None, true) => {
                self.handle.append(b"\n")?;
                Some(Repaired::Newline { offset: self.loaded.head.offset - 1 })
            }
            (None, false) => None,
        };
        self.handle.sync_data()?;
        self.loaded.torn = None;
        self.loaded.unterminated = false;
        Ok(())
    }

    fn set_aside(&self, torn: Torn) -> Result<Repaired, StorageError> {
        let kept = quarantine_tail(&self.log, &*self.handle, torn, self.loaded.head.seq + 1)?;
        self.handle.truncate(torn.offset)?;
        Ok(Repaired::SetAside { torn, kept })
    }
}

impl<M> std::fmt::Debug for Locked<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Locked").field("log", &self.log).field("head", &self.loaded.head).finish_non_exhaustive()
    }
}

/// Turns events into the lines of one append, with their numbers, ids and time.
pub(super) fn stamp<B: Payload>(
    events: &[Event<B>],
    at: Moment,
    id: &BubbleId,
    head: &Head,
    sealer: Option<&Sealer>,
) -> Result<Stamped<B>, StoreError> {
    let count = u32::try_from(events.len()).map_err(|_| StoreError::TooLarge(usize::MAX))?;
    let numbered = events.iter().zip(1..=count).map(|(event, n)| {
        let seq = head.seq + u64::from(n);
        let name = Envelope::name(seq, at);
        Envelope { seq, id: name, at, bubble_id: id.clone(), more: count - n, event: event.clone() }
    });
    let envelopes: Vec<Envelope<B>> = numbered.collect();
    let last = envelopes.last().ok_or(StoreError::Nothing)?;
    let (bytes, hash, last_len) = encode_append(&envelopes, head.hash, sealer);
    let first = LineHash::of(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default());
    let longest = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0);
    if longest > MAX_LINE || bytes.len() > MAX_APPEND {
        return Err(StoreError::TooLarge(longest.max(bytes.len())));
    }
    let offset = head.offset + bytes.len() as u64;
    let head = Head { seq: last.seq, offset, hash, last_len: last_len as u64 };
    Ok(Stamped { envelopes, bytes, head, first })
}

/// Copies a torn tail into quarantine, durably, and returns where it is.
fn quarantine_tail<M: Machine>(
    log: &Log<M>,
    handle: &dyn Handle,
    torn: Torn,
    seq: u64,
) -> Result<PathBuf, StorageError> {
    let bytes = read::copy(handle, torn.offset, torn.len)?;
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
    storage::put(&*log.disk, &path, &bytes)?;
    Ok(path)
}
