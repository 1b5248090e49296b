//! How it is decided whose a log is. pairflow acts for its own bubbles only.
//!
//! A log is own when it is on record in the user's state directory, does not end before what is known of it there, and
//! everything that came since is sealed with the user's key. A log that arrived in any other way (a clone, a copy, a
//! restored backup, somebody else's) can be read, and causes nothing.

use std::path::PathBuf;

use pairflow_core::log::Machine;
use pairflow_core::log::frame::{LineHash, MAX_LINE};
use pairflow_core::log::scan::{Head, Scan};
use pairflow_core::log::seal::{JudgedSeals, SealKey, SealScan, SealState, Sealer, TailScan};

use super::error::StoreError;
use super::files::LogFiles;
use super::log::Log;
use super::read::{self, ReadError};
use super::registry::{Known, Registered, Registry};
use super::standing::{Foreign, Standing};
use super::storage::{Handle, StorageError};

/// What the writer of an own log needs: its record, and what seals it.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) entry: Registered,
    pub(super) sealer: Sealer,
}

impl<M: Machine> Log<M> {
    /// Says whose the log is. Reads the end of it only.
    pub fn standing(&self) -> Result<Standing, StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        match self.standing_of(&*handle)? {
            Ok(_) => Ok(Standing::Own),
            Err(why) => {
                // Whose ever it is, nothing can be done with a log of another version.
                self.insist_on_format(&*handle)?;
                // What looks as if it had been replaced may be damaged, which is another thing to tell.
                if matches!(why, Foreign::RolledBack { .. } | Foreign::Replaced { .. } | Foreign::Forged { .. }) {
                    self.load()?;
                }
                Ok(Standing::Foreign(why))
            }
        }
    }

    /// Fails for a log that another version of pairflow wrote.
    pub(super) fn insist_on_format(&self, handle: &dyn Handle) -> Result<(), StoreError> {
        let Some(line) = first_bytes(handle)? else { return Ok(()) };
        match Scan::<M::Body>::new(&self.id, 0).feed(&line, &mut |_| {}).map_err(ReadError::from) {
            Err(error @ ReadError::OtherFormat { .. }) => Err(self.told(error)),
            // What else may be wrong with it is told when it is read.
            _ => Ok(()),
        }
    }

    /// Judges an open log: what seals its next append if it is this user's, or why it is foreign.
    ///
    /// Without a registry nothing is sealed, and every log is one's own.
    pub(super) fn standing_of(&self, handle: &dyn Handle) -> Result<Result<Option<Owner>, Foreign>, StoreError> {
        let Some(registry) = &self.registry else { return Ok(Ok(None)) };
        if let Some(why) = self.misplaced()? {
            return Ok(Err(why));
        }
        if !handle.stat()?.own {
            return Ok(Err(Foreign::OtherUser { path: self.files.transcript() }));
        }
        let known = registry.find(self.files.repo(), &self.id)?;
        let Some(known) = known.filter(|known| known.entry.moving.is_empty()) else {
            return Ok(Err(self.origin(registry, handle)?));
        };
        let expected = known.entry.first;
        let why = match judge::<M>(registry.key()?, known, handle)? {
            Ok(owner) => return Ok(Ok(Some(owner))),
            Err(why) => why,
        };
        if first_line(handle)?.is_none_or(|first| first == expected) {
            return Ok(Err(why));
        }
        // The record is about another bubble, which was at this place before.
        Ok(Err(match self.origin(registry, handle)? {
            Foreign::Unknown => Foreign::Replaced { known: 1 },
            other => other,
        }))
    }

    /// Puts the bubble on record: this user's lines begin at the byte `since` with a line that has the hash `instance`.
    /// Returns what the writer of the lines after it needs.
    pub(super) fn enter(
        &self,
        key: Option<SealKey>,
        instance: LineHash,
        since: u64,
    ) -> Result<Option<Owner>, StoreError> {
        let Some((registry, key)) = self.registry.as_ref().zip(key) else { return Ok(None) };
        let first = match self.disk.open(&self.files.transcript())? {
            Some(handle) => first_line(&*handle)?.unwrap_or(instance),
            None => instance,
        };
        let (repo, id, name) = (self.files.repo().to_owned(), self.id.clone(), key.id().to_owned());
        let entry = Registered { repo, id, instance, first, since, key: name, moving: Vec::new() };
        registry.register(&entry, None)?;
        Ok(Some(Owner { entry, sealer: Sealer::new(key, instance) }))
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

    /// Whether the log would be this user's if nothing were known of its end: it may only have been shortened.
    pub(super) fn is_own_but_shortened(&self, handle: &dyn Handle) -> Result<bool, StoreError> {
        let Some(registry) = &self.registry else { return Ok(true) };
        let Some(Known { entry, .. }) = registry.find(self.files.repo(), &self.id)? else { return Ok(false) };
        Ok(entry.moving.is_empty() && judge::<M>(registry.key()?, Known { entry, head: None }, handle)?.is_ok())
    }

    /// Says where a log comes from that is not on record here.
    fn origin(&self, registry: &Registry, handle: &dyn Handle) -> Result<Foreign, StoreError> {
        let here = self.files.repo();
        Ok(match self.moved(registry, handle)? {
            Ok(records) => {
                let from = places(&records).into_iter().find(|place| place != here);
                Foreign::Moved { from: from.unwrap_or_else(|| here.to_owned()) }
            }
            Err(why) => why,
        })
    }

    /// Returns the records of a log that was moved here, or what it is instead.
    ///
    /// It was moved if it is the continuation of a log on record whose place is empty now. Two records of the same
    /// first line may be an original and its adopted copy; the seals tell them apart.
    pub(super) fn moved(
        &self,
        registry: &Registry,
        handle: &dyn Handle,
    ) -> Result<Result<Vec<Known>, Foreign>, StoreError> {
        let Some(first) = first_line(handle)? else { return Ok(Err(Foreign::Unknown)) };
        let here = self.files.repo();
        let is_there = |known: &Known| known.entry.repo != here && self.is_at(&known.entry);
        let (there, gone): (Vec<_>, Vec<_>) = registry.with_first(&self.id, first)?.into_iter().partition(is_there);
        let mut refused = None;
        for known in &gone {
            // A move that was interrupted leaves several records of the same lines.
            let same = |one: &&Known| one.entry.instance == known.entry.instance;
            if there.iter().any(|one| same(&one)) {
                continue;
            }
            match judge::<M>(registry.key()?, known.clone(), handle)? {
                Ok(_) => return Ok(Ok(gone.iter().filter(same).cloned().collect())),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        let copy = there.into_iter().next().map(|one| Foreign::Copy { of: one.entry.repo });
        Ok(Err(copy.or(refused).unwrap_or(Foreign::Unknown)))
    }

    /// Whether the log of a record is where it was. Only the absence of a log or that of another bubble shows that it
    /// is not; what cannot be read may be it.
    fn is_at(&self, entry: &Registered) -> bool {
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
}

/// Returns the repositories in which a bubble with these records may have been.
pub(super) fn places(records: &[Known]) -> Vec<PathBuf> {
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

/// Judges a log that is on record.
fn judge<M: Machine>(
    key: Option<SealKey>,
    known: Known,
    handle: &dyn Handle,
) -> Result<Result<Owner, Foreign>, StorageError> {
    let Known { entry, head: known } = known;
    let Some(key) = key.filter(|key| key.id() == entry.key) else {
        return Ok(Err(Foreign::KeyLost { key: entry.key.clone() }));
    };
    let sealer = Sealer::new(key, entry.instance);
    let len = handle.stat()?.len;
    let begins = known.map_or(entry.since, |known| known.offset);
    if let Some(known) = known {
        // The newline of the last line may be missing; the next command adds it.
        if len + 1 < known.offset {
            return Ok(Err(Foreign::RolledBack { known: known.seq }));
        }
        if !holds(handle, &known)? {
            return Ok(Err(Foreign::Replaced { known: known.seq }));
        }
        if len <= begins {
            return Ok(Ok(Owner { entry, sealer }));
        }
    }
    let mut scan = TailScan::<M::Body>::new(&sealer, known.is_none());
    read::lines(handle, begins, &mut |line| line.is_empty() || scan.take(line))?;
    let (judged, first) = scan.finish();
    // Without anything that is known, the log has to begin with this user's first line.
    let why = match (judged.worst, known.is_some()) {
        (_, false) if judged.appends == 0 => Some(Foreign::Forged { seal: SealState::Unsealed }),
        (_, false) if first != Some(entry.instance) => Some(Foreign::Unknown),
        (SealState::Own, _) => None,
        (seal, _) => Some(Foreign::Forged { seal }),
    };
    Ok(why.map_or(Ok(Owner { entry, sealer }), Err))
}

/// Whether the line that ends at `known` is the one that was there, its newline left aside.
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
