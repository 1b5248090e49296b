//! Foreign logs: they are shown to a person, adopted, or taken along by a repository that was moved.

use std::path::PathBuf;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::scan::Head;
use pairflow_core::log::seal::Sealer;
use pairflow_core::log::{Event, Machine};
use pairflow_core::time::Moment;

use super::error::StoreError;
use super::locked::{Locked, stamp};
use super::log::Log;
use super::ownership::places;
use super::read::Loaded;
use super::registry::{Known, Registry};
use super::standing::Foreign;
use super::storage::LockMode;

/// How long the lock on a foreign log is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A foreign log as it is shown to the person who may adopt it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown<M = BubbleState> {
    /// The state that the log itself tells.
    pub state: M,
    /// Where it ends. The hash of its last line stands for all of it.
    pub head: Head,
    /// Why it is foreign.
    pub why: Foreign,
}

impl<M: Machine> Log<M> {
    /// Reads a foreign log for the person who may adopt it; nothing if it is this user's.
    ///
    /// The state is read from the log itself: what came along with a foreign log has no say. Fails for a log that cannot
    /// be adopted.
    pub fn examine(&self) -> Result<Option<Shown<M>>, StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        self.insist_on_format(&*handle)?;
        let Err(why) = self.standing_of(&*handle)? else { return Ok(None) };
        if !why.is_adoptable() {
            return Err(StoreError::Foreign { id: self.id.clone(), why });
        }
        let Loaded { state, head, .. } = self.read(&*handle, None)?;
        Ok(Some(Shown { state, head, why }))
    }

    /// Makes a foreign log this user's: `events` are its first lines here. The log has to be as it was shown.
    ///
    /// The record comes first; a log that has not got these lines is foreign still, whatever became of this process.
    pub fn adopt(&self, shown: &Shown<M>, events: &[Event<M::Body>], at: Moment) -> Result<Locked<M>, StoreError> {
        self.take_over(self.hold(shown)?, events, at)
    }

    /// Makes a log this user's anew that has been shortened and else is theirs; nothing if it is not. `events` says what
    /// its first lines are in the state that is left.
    pub fn take_up(
        &self,
        events: impl FnOnce(&M) -> Vec<Event<M::Body>>,
        at: Moment,
    ) -> Result<Option<Locked<M>>, StoreError> {
        let locked = self.hold_any()?;
        if !self.is_own_but_shortened(locked.handle())? {
            return Ok(None);
        }
        let events = events(&locked.loaded().state);
        self.take_over(locked, &events, at).map(Some)
    }

    fn take_over(&self, mut locked: Locked<M>, events: &[Event<M::Body>], at: Moment) -> Result<Locked<M>, StoreError> {
        let key = self.registry.as_ref().map(Registry::key_or_new).transpose()?;
        locked.mend()?;
        let beginning = key.clone().map(Sealer::beginning);
        let head = locked.loaded().head;
        let stamped = stamp(events, at, &self.id, &head, beginning.as_ref())?;
        let owner = self.enter(key, stamped.first, head.offset)?;
        let mut locked = locked.owned(owner);
        locked.write(stamped)?;
        Ok(locked)
    }

    /// Puts a log on record here that was moved from another repository, after `bring` has brought along what belongs to
    /// it from the repositories in which it may have been. The log has to be as it was shown.
    pub fn settle_in<E: From<StoreError>>(
        &self,
        shown: &Shown<M>,
        bring: impl FnOnce(&[PathBuf]) -> Result<(), E>,
    ) -> Result<(), E> {
        let _locked = self.hold(shown)?;
        let (registry, records) = self.moved_records()?;
        let here = self.files.repo();
        registry.begin_move(&records, here).map_err(StoreError::from)?;
        bring(&places(&records))?;
        Ok(registry.end_move(&records, here, &shown.head).map_err(StoreError::from)?)
    }

    fn moved_records(&self) -> Result<(&Registry, Vec<Known>), StoreError> {
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let changed = || StoreError::Changed { id: self.id.clone() };
        let registry = self.registry.as_ref().ok_or_else(changed)?;
        Ok((registry, self.moved(registry, &*handle)?.map_err(|_| changed())?))
    }

    /// Takes the lock on a foreign log that still is as it was shown.
    fn hold(&self, shown: &Shown<M>) -> Result<Locked<M>, StoreError> {
        let locked = self.hold_any()?;
        let why = self.standing_of(locked.handle())?.err();
        if locked.loaded().head != shown.head || why.as_ref() != Some(&shown.why) {
            return Err(StoreError::Changed { id: self.id.clone() });
        }
        Ok(locked)
    }

    /// Takes the lock on a log at its place, whose ever it is.
    fn hold_any(&self) -> Result<Locked<M>, StoreError> {
        if let Some(why) = self.misplaced()? {
            return Err(StoreError::Foreign { id: self.id.clone(), why });
        }
        let guard = self.guard(LockMode::Exclusive, PATIENCE)?;
        let handle = self.disk.open_append(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let loaded = self.read(&*handle, None)?;
        Ok(Locked::new(self.clone(), handle, guard, loaded))
    }
}
