//! Decides whose a log is, and adopts foreign ones. pairflow acts for its own bubbles only.
//!
//! A log is own when it is registered in the user's state directory, does not end before the end known there, and
//! everything after that is sealed with the user's key. A log that arrived in any other way (a clone, a copy, a restored
//! backup, from another user) can be read and is never acted on, until a person has seen it and adopts it.

use std::path::PathBuf;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::frame::{LineHash, MAX_LINE};
use pairflow_core::log::scan::{Head, Scan};
use pairflow_core::log::seal::{JudgedSeals, SealKey, SealScan, SealState, Sealer, TailScan};
use pairflow_core::log::{Event, Machine};
use pairflow_core::time::Moment;

use super::locked::stamp;
use super::read::{self, ReadError};
use super::registry::LogOwner;
use super::storage::{FileKind, Handle, LockMode};
use super::{Foreign, KnownBubble, Loaded, Locked, Log, LogFiles, Registered, Registry, StorageError, StoreError};

impl<M: Machine> Log<M> {
    /// Returns why the log is foreign; nothing if it is this user's. Reads the end of it only.
    pub fn foreign(&self) -> Result<Option<Foreign>, StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        match self.ownership_of(&*handle)? {
            Ok(_) => Ok(None),
            Err(why) => {
                // A log of another version cannot be used, own or foreign.
                self.check_format(&*handle)?;
                // A log that looks replaced may be damaged, which is another error.
                if matches!(why, Foreign::RolledBack { .. } | Foreign::Replaced { .. } | Foreign::Forged { .. }) {
                    self.load()?;
                }
                Ok(Some(why))
            }
        }
    }

    /// Fails for a log that another version of pairflow wrote.
    pub(super) fn check_format(&self, handle: &dyn Handle) -> Result<(), StoreError> {
        let Some(line) = first_bytes(handle)? else { return Ok(()) };
        match Scan::<M::Body>::new(&self.id, 0).feed(&line, &mut |_| {}).map_err(ReadError::from) {
            Err(error @ ReadError::OtherFormat { .. }) => Err(self.store_error(error)),
            // Any other damage is reported when the log is read.
            _ => Ok(()),
        }
    }

    /// Returns why the places of the log make it foreign; fails if those of the registry cannot be trusted.
    pub(super) fn untrusted_location(&self) -> Result<Option<Foreign>, StoreError> {
        self.registry.as_ref().map_or(Ok(()), Registry::insist_private)?;
        for path in self.files.own_dirs() {
            match self.disk.stat(&path)? {
                Some(stat) if stat.kind != FileKind::Dir => return Ok(Some(Foreign::Linked(path))),
                Some(stat) if !stat.own => return Ok(Some(Foreign::OtherUser(path))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Fails if the places of the log make it foreign.
    pub(super) fn insist_on_trusted_location(&self) -> Result<(), StoreError> {
        let id = self.id.clone();
        self.untrusted_location()?.map_or(Ok(()), |why| Err(StoreError::Foreign { id, why }))
    }

    /// Judges an open log: its owner, who seals the next append, or why it is foreign.
    ///
    /// Without a registry nothing is sealed, and every log counts as own.
    pub(super) fn ownership_of(&self, handle: &dyn Handle) -> Result<Result<Option<LogOwner>, Foreign>, StoreError> {
        let Some(registry) = &self.registry else { return Ok(Ok(None)) };
        if let Some(why) = self.untrusted_location()? {
            return Ok(Err(why));
        }
        if !handle.stat()?.own {
            return Ok(Err(Foreign::OtherUser(self.files.transcript())));
        }
        let known = registry.find(self.files.repo(), &self.id)?;
        let Some(known) = known.filter(|known| known.entry.moving.is_empty()) else {
            return Ok(Err(self.foreign_reason(registry, handle)?));
        };
        let expected = known.entry.first;
        let why = match judge::<M>(registry.key()?, known, handle)? {
            Ok(owner) => return Ok(Ok(Some(owner))),
            Err(why) => why,
        };
        if first_line(handle)?.is_none_or(|first| first == expected) {
            return Ok(Err(why));
        }
        // The record is about another bubble that was here before.
        Ok(Err(match self.foreign_reason(registry, handle)? {
            Foreign::Unknown => Foreign::Replaced(1),
            other => other,
        }))
    }

    /// Registers the bubble: this user's lines begin at byte `since` with a line of the hash `instance`. Returns the owner.
    pub(super) fn register_owner(
        &self,
        key: Option<SealKey>,
        instance: LineHash,
        since: u64,
    ) -> Result<Option<LogOwner>, StoreError> {
        let Some((registry, key)) = self.registry.as_ref().zip(key) else { return Ok(None) };
        let first = match self.disk.open(&self.files.transcript())? {
            Some(handle) => first_line(&*handle)?.unwrap_or(instance),
            None => instance,
        };
        let (repo, id, name) = (self.files.repo().to_owned(), self.id.clone(), key.id().to_owned());
        let entry = Registered { repo, id, instance, first, since, key: name, moving: Vec::new() };
        registry.register(&entry, None)?;
        Ok(Some(LogOwner { entry, sealer: Sealer::new(key, instance) }))
    }

    /// Returns the hash of the log's first line, which tells it from every other log; nothing if it has none.
    pub fn first_line(&self) -> Result<Option<LineHash>, StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        Ok(first_line(&*handle)?)
    }

    /// Judges every seal since the log was created or last adopted, and counts the appends before that.
    pub fn seals(&self, key: &SealKey) -> Result<(JudgedSeals, usize), StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let mut scan = SealScan::<M::Body>::new(key);
        read::lines(&*handle, 0, &mut |line| {
            scan.take(line);
            true
        })?;
        Ok(scan.finish())
    }

    /// Whether the log is this user's except that it may have been shortened.
    pub(super) fn is_own_but_shortened(&self, handle: &dyn Handle) -> Result<bool, StoreError> {
        let Some(registry) = &self.registry else { return Ok(true) };
        let Some(KnownBubble { entry, .. }) = registry.find(self.files.repo(), &self.id)? else { return Ok(false) };
        Ok(entry.moving.is_empty() && judge::<M>(registry.key()?, KnownBubble { entry, head: None }, handle)?.is_ok())
    }

    /// Returns why a log that is not registered here is foreign.
    fn foreign_reason(&self, registry: &Registry, handle: &dyn Handle) -> Result<Foreign, StoreError> {
        let here = self.files.repo();
        Ok(match self.find_moved(registry, handle)? {
            Ok(records) => {
                let from = places(&records).into_iter().find(|place| place != here);
                Foreign::Moved(from.unwrap_or_else(|| here.to_owned()))
            }
            Err(why) => why,
        })
    }

    /// Returns the records of a log that was moved here, or what it is instead.
    ///
    /// It was moved if it continues a registered log that is no longer at its path. Two records of the same first line may
    /// be an original and its adopted copy; the seals tell them apart.
    pub(super) fn find_moved(
        &self,
        registry: &Registry,
        handle: &dyn Handle,
    ) -> Result<Result<Vec<KnownBubble>, Foreign>, StoreError> {
        let Some(first) = first_line(handle)? else { return Ok(Err(Foreign::Unknown)) };
        let here = self.files.repo();
        let is_there = |known: &KnownBubble| known.entry.repo != here && self.is_present(&known.entry);
        let (there, gone): (Vec<_>, Vec<_>) = registry.with_first(&self.id, first)?.into_iter().partition(is_there);
        let mut refused = None;
        for known in &gone {
            // A move that was interrupted leaves several records of the same lines.
            let same = |one: &&KnownBubble| one.entry.instance == known.entry.instance;
            if there.iter().any(|one| same(&one)) {
                continue;
            }
            match judge::<M>(registry.key()?, known.clone(), handle)? {
                Ok(_) => return Ok(Ok(gone.iter().filter(same).cloned().collect())),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        let copy = there.into_iter().next().map(|one| Foreign::Copy(one.entry.repo));
        Ok(Err(copy.or(refused).unwrap_or(Foreign::Unknown)))
    }

    /// Whether the log of a record is still at its path. It is not if there is no log, or that of another bubble; a log
    /// that cannot be read may be it.
    fn is_present(&self, entry: &Registered) -> bool {
        let there = LogFiles::of::<M>(&entry.repo.join(".pairflow"), &entry.id).transcript();
        let other = |handle: &dyn Handle| -> Result<bool, StorageError> {
            let Some(line) = first_bytes(handle)? else { return Ok(false) };
            let sound = Scan::<M::Body>::new(&entry.id, 0).feed(&line, &mut |_| {}).is_ok();
            Ok(sound && LineHash::of(&line[..line.len() - 1]) != entry.first)
        };
        match self.disk.open(&there) {
            Ok(None) => false,
            Ok(Some(handle)) => !other(&*handle).unwrap_or(false),
            Err(_) => self.disk.stat(&there).is_ok_and(|stat| stat.is_some()),
        }
    }

    /// Reads a foreign log for the person who may adopt it; nothing if it is this user's.
    ///
    /// The state is read from the log itself: a cache that came with it is not used. Fails for a log that cannot be
    /// adopted.
    pub fn examine(&self) -> Result<Option<ForeignLog<M>>, StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        self.check_format(&*handle)?;
        let Err(why) = self.ownership_of(&*handle)? else { return Ok(None) };
        if !why.is_adoptable() {
            return Err(StoreError::Foreign { id: self.id.clone(), why });
        }
        let Loaded { state, head, .. } = self.read(&*handle, None)?;
        Ok(Some(ForeignLog { state, head, why }))
    }

    /// Makes a foreign log this user's: `events` are its first lines here. The log has to be as it was shown.
    ///
    /// The record is written first; until the log has these lines, it stays foreign even if this process dies.
    pub fn adopt(&self, shown: &ForeignLog<M>, events: &[Event<M::Body>], at: Moment) -> Result<Locked<M>, StoreError> {
        self.adopt_locked(self.lock_shown(shown)?, events, at)
    }

    /// Adopts a log again that is this user's but was shortened; nothing if it is not. `events` returns its first lines
    /// for the state that is left.
    pub fn readopt(
        &self,
        events: impl FnOnce(&M) -> Vec<Event<M::Body>>,
        at: Moment,
    ) -> Result<Option<Locked<M>>, StoreError> {
        let locked = self.lock_foreign()?;
        if !self.is_own_but_shortened(locked.handle())? {
            return Ok(None);
        }
        let events = events(&locked.loaded().state);
        self.adopt_locked(locked, &events, at).map(Some)
    }

    fn adopt_locked(
        &self,
        mut locked: Locked<M>,
        events: &[Event<M::Body>],
        at: Moment,
    ) -> Result<Locked<M>, StoreError> {
        let key = self.registry.as_ref().map(Registry::key_or_new).transpose()?;
        locked.repair_tail()?;
        let beginning = key.clone().map(Sealer::beginning);
        let head = locked.loaded().head;
        let stamped = stamp(events, at, &self.id, &head, beginning.as_ref())?;
        let owner = self.register_owner(key, stamped.first, head.offset)?;
        let mut locked = locked.owned(owner);
        locked.write(stamped)?;
        Ok(locked)
    }

    /// Registers a log that was moved here with its repository, after `bring` has moved its worktree from one of the
    /// repositories that it may have been in. The log has to be as it was shown.
    pub fn complete_move<E: From<StoreError>>(
        &self,
        shown: &ForeignLog<M>,
        bring: impl FnOnce(&[PathBuf]) -> Result<(), E>,
    ) -> Result<(), E> {
        let _locked = self.lock_shown(shown)?;
        let (registry, records) = self.moved_records()?;
        let here = self.files.repo();
        registry.begin_move(&records, here).map_err(StoreError::from)?;
        bring(&places(&records))?;
        Ok(registry.end_move(&records, here, &shown.head).map_err(StoreError::from)?)
    }

    fn moved_records(&self) -> Result<(&Registry, Vec<KnownBubble>), StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let changed = || StoreError::Changed(self.id.clone());
        let registry = self.registry.as_ref().ok_or_else(changed)?;
        Ok((registry, self.find_moved(registry, &*handle)?.map_err(|_| changed())?))
    }

    /// Locks a foreign log that has not changed since it was shown.
    fn lock_shown(&self, shown: &ForeignLog<M>) -> Result<Locked<M>, StoreError> {
        let locked = self.lock_foreign()?;
        let why = self.ownership_of(locked.handle())?.err();
        if locked.loaded().head != shown.head || why.as_ref() != Some(&shown.why) {
            return Err(StoreError::Changed(self.id.clone()));
        }
        Ok(locked)
    }

    /// Locks a log, own or foreign.
    fn lock_foreign(&self) -> Result<Locked<M>, StoreError> {
        self.insist_on_trusted_location()?;
        let guard = self.guard(LockMode::Exclusive, PATIENCE)?;
        let handle = self.disk.open_append(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let loaded = self.read(&*handle, None)?;
        Ok(Locked::new(self.clone(), handle, guard, loaded))
    }
}

/// Returns the repositories that a bubble with these records may have been in.
pub(super) fn places(records: &[KnownBubble]) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for entry in records.iter().map(|known| &known.entry) {
        for place in std::iter::once(&entry.repo).chain(&entry.moving) {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
    }
    places
}

/// Judges a registered log.
fn judge<M: Machine>(
    key: Option<SealKey>,
    known: KnownBubble,
    handle: &dyn Handle,
) -> Result<Result<LogOwner, Foreign>, StorageError> {
    let KnownBubble { entry, head: known } = known;
    let Some(key) = key.filter(|key| key.id() == entry.key) else {
        return Ok(Err(Foreign::KeyLost(entry.key.clone())));
    };
    let sealer = Sealer::new(key, entry.instance);
    let len = handle.stat()?.len;
    let begins = known.map_or(entry.since, |known| known.offset);
    if let Some(known) = known {
        // The newline of the last line may be missing; the next command adds it.
        if len + 1 < known.offset {
            return Ok(Err(Foreign::RolledBack(known.seq)));
        }
        if !holds(handle, &known)? {
            return Ok(Err(Foreign::Replaced(known.seq)));
        }
        if len <= begins {
            return Ok(Ok(LogOwner { entry, sealer }));
        }
    }
    let mut scan = TailScan::<M::Body>::new(&sealer, known.is_none());
    read::lines(handle, begins, &mut |line| line.is_empty() || scan.take(line))?;
    let (judged, first) = scan.finish();
    // Without a known end, the log has to begin with this user's first line.
    let why = match (judged.worst, known.is_some()) {
        (_, false) if judged.appends == 0 => Some(Foreign::Forged(SealState::Unsealed)),
        (_, false) if first != Some(entry.instance) => Some(Foreign::Unknown),
        (SealState::Own, _) => None,
        (seal, _) => Some(Foreign::Forged(seal)),
    };
    Ok(why.map_or(Ok(LogOwner { entry, sealer }), Err))
}

/// Whether the line that ends at `known` is still the same, except for its newline.
fn holds(handle: &dyn Handle, known: &Head) -> Result<bool, StorageError> {
    let plausible = (1..=MAX_LINE as u64).contains(&known.last_len) && known.last_len <= known.offset;
    let mut line = vec![0; if plausible { known.last_len as usize - 1 } else { 0 }];
    let count = handle.read_at(known.offset.saturating_sub(known.last_len), &mut line)?;
    Ok(plausible && count == line.len() && LineHash::of(&line) == known.hash)
}

/// Returns the hash of the first line.
pub(super) fn first_line(handle: &dyn Handle) -> Result<Option<LineHash>, StorageError> {
    Ok(first_bytes(handle)?.map(|line| LineHash::of(&line[..line.len() - 1])))
}

/// Returns the first line with its newline.
fn first_bytes(handle: &dyn Handle) -> Result<Option<Vec<u8>>, StorageError> {
    let len = usize::try_from(handle.stat()?.len).unwrap_or(usize::MAX).min(MAX_LINE);
    let mut bytes = vec![0; len];
    let count = handle.read_at(0, &mut bytes)?;
    let end = bytes[..count].iter().position(|byte| *byte == b'\n');
    Ok(end.map(|end| {
        bytes.truncate(end + 1);
        bytes
    }))
}

/// How long to wait for the lock of a foreign log.
const PATIENCE: Duration = Duration::from_secs(10);

/// A foreign log as it is shown to the person who may adopt it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignLog<M = BubbleState> {
    /// The state, read from the log itself.
    pub state: M,
    /// Where it ends. The hash of its last line covers the whole log.
    pub head: Head,
    /// Why it is foreign.
    pub why: Foreign,
}
