//! The log of one machine: reading it, and getting to write it.
//!
//! Reading needs no lock. A reader that meets a writer sees the log as before the append, as after it, or with a torn
//! tail, which it takes as before. Writing goes through [`Locked`], which the kernel frees when its holder dies.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pairflow_core::bubble::Unit;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::scan::{End, Head, Scan};
use pairflow_core::log::seal::{SealKey, Sealer};
use pairflow_core::log::{Envelope, Event, Machine};
use pairflow_core::time::Moment;

use super::artifacts::Artifacts;
use super::cache::{self, By, Cache};
use super::durable;
use super::error::StoreError;
use super::files::LogFiles;
use super::locked::{Locked, stamp};
use super::ownership::{Owner, Shown, first_line, places};
use super::read::{self, Loaded, ReadError, Source};
use super::registry::{Known, Registered, Registry};
use super::storage::{FileKind, Guard, Handle, LockMode, Stat, Storage, StorageError};

/// How long a reader that found damage waits for the writer that it may have met.
const READER_PATIENCE: Duration = Duration::from_secs(2);
/// How long `verify` waits for a writer.
const VERIFY_PATIENCE: Duration = Duration::from_secs(10);

/// The log of one machine; of a bubble where nothing else is said.
#[derive(Clone)]
pub struct Log<M = Unit> {
    pub(super) disk: Arc<dyn Storage>,
    pub(super) files: LogFiles,
    pub(super) id: BubbleId,
    /// Who knows whose the log is; without it every log is one's own, and nothing is sealed.
    pub(super) registry: Option<Registry>,
    /// The cache as it was last read, with what was known of its file: the same file is not read twice.
    known: Arc<Mutex<ReadCache<M>>>,
}

/// What a log holds, or was added to it.
pub type Appended<M = Unit> = Vec<Envelope<<M as Machine>::Body>>;

/// A cache, with what was known of its file when it was read.
type ReadCache<M> = Option<(Stat, Cache<M>)>;

/// An open log, and the cache beside it.
type Opened<M> = (Box<dyn Handle>, Option<Cache<M>>);

/// A log of which every byte was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified<M = Unit> {
    /// How many envelopes it has.
    pub envelopes: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The hash of its last line, which stands for all of it.
    pub hash: LineHash,
    /// The state that it tells.
    pub unit: M,
}

impl<M: Machine> Log<M> {
    /// Names a log; nothing is read yet.
    pub fn new(disk: Arc<dyn Storage>, files: LogFiles, id: BubbleId) -> Self {
        Self { disk, files, id, registry: None, known: Arc::default() }
    }

    /// Has the log written and acted on only if it is a bubble of the user with this registry.
    pub fn owned(self, registry: Registry) -> Self {
        Self { registry: Some(registry.of::<M>()), ..self }
    }

    /// Makes a new log with its first append, in one step: there is never half of it.
    pub fn create(&self, events: &[Event<M::Body>], at: Moment) -> Result<(Locked<M>, Appended<M>), StoreError> {
        self.create_after(events, at, || Ok(()))
    }

    /// Does the same, and `first` under the lock once it is known that there is no log yet.
    pub(super) fn create_after(
        &self,
        events: &[Event<M::Body>],
        at: Moment,
        first: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(Locked<M>, Appended<M>), StoreError> {
        let disk = &*self.disk;
        if let Some(why) = self.misplaced()? {
            return Err(StoreError::Foreign { id: self.id.clone(), why });
        }
        durable::make_dirs(disk, &self.files.dir)?;
        durable::make_dirs(disk, &self.files.artifacts())?;
        let guard = self.guard(LockMode::Exclusive, VERIFY_PATIENCE)?;
        let path = self.files.transcript();
        if disk.stat(&path)?.is_some() {
            return Err(StoreError::Exists { id: self.id.clone(), path });
        }
        first()?;
        let key = self.registry.as_ref().map(Registry::key_or_new).transpose()?;
        let beginning = key.clone().map(Sealer::beginning);
        let stamped = stamp(events, at, &self.id, &Head::default(), beginning.as_ref())?;
        let owner = self.enter(key, stamped.first, 0)?;
        let handle = self.first(&stamped.bytes).inspect_err(|_| {
            // Nothing was acknowledged, so nothing stays; if even that fails, the next attempt says what is there.
            let _ = disk.remove(&path).and_then(|()| disk.sync_dir(&self.files.dir));
        })?;
        let mut unit = M::new(self.id.clone());
        stamped.envelopes.iter().for_each(|envelope| unit.advance(envelope));
        let loaded = Loaded { unit, head: stamped.head, torn: None, unterminated: false, from: Source::Log };
        let locked = Locked::new(self.clone(), handle, guard, loaded).owned(owner);
        locked.save();
        Ok((locked, stamped.envelopes))
    }

    /// Puts the first bytes of a log there, durably, and opens it.
    fn first(&self, bytes: &[u8]) -> Result<Box<dyn Handle>, StoreError> {
        let path = self.files.transcript();
        durable::put(&*self.disk, &path, bytes)?;
        // Others may have made the directories above without making them durable.
        self.files.dir.ancestors().skip(1).take(3).try_for_each(|dir| self.disk.sync_dir(dir))?;
        self.disk.open_append(&path)?.ok_or_else(|| self.missing())
    }

    /// Reads the state. Writes nothing and takes no lock.
    pub fn load(&self) -> Result<Loaded<M>, StoreError> {
        let (handle, cache) = self.open()?;
        match self.read(&*handle, cache) {
            Err(StoreError::Damaged { .. }) => {}
            other => return other,
        }
        // A reader in the middle of a repair sees a mixture of old and new; without a writer only damage is left.
        let _guard = self.disk.lock(&self.files.lock, LockMode::Shared, READER_PATIENCE);
        let (handle, cache) = self.open()?;
        self.read(&*handle, cache)
    }

    /// Reads the state, and writes the cache if it is missing or old and nobody is in the way.
    pub fn refresh(&self) -> Result<Loaded<M>, StoreError> {
        let loaded = self.load()?;
        if loaded.from == Source::Cache || loaded.torn.is_some() || loaded.unterminated {
            return Ok(loaded);
        }
        match self.lock(Duration::ZERO) {
            Ok(locked) => Ok(locked.into_loaded()),
            // A cache that cannot be written is a slow one, not a wrong one.
            Err(_) => Ok(loaded),
        }
    }

    /// Takes the lock, waiting for it at most as long as `patience`, and mends the end of the log if a crash tore it.
    pub fn lock(&self, patience: Duration) -> Result<Locked<M>, StoreError> {
        if self.disk.stat(&self.files.transcript())?.is_none() {
            return Err(self.missing());
        }
        let guard = self.guard(LockMode::Exclusive, patience)?;
        let handle = self.disk.open_append(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let loaded = self.read(&*handle, self.cache()?)?;
        let owner = self.standing_of(&*handle)?.map_err(|why| StoreError::Foreign { id: self.id.clone(), why })?;
        let mut locked = Locked::new(self.clone(), handle, guard, loaded).owned(owner);
        locked.settle()?;
        Ok(locked)
    }

    /// Puts the bubble on record: this user's lines begin at the byte `since` with a line that has the hash `instance`.
    /// Returns what the writer of the lines after it needs.
    fn enter(&self, key: Option<SealKey>, instance: LineHash, since: u64) -> Result<Option<Owner>, StoreError> {
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
        let Loaded { unit, head, .. } = self.read(&*handle, None)?;
        Ok(Some(Shown { unit, head, why }))
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
        let events = events(&locked.loaded().unit);
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
        let guard = self.guard(LockMode::Exclusive, VERIFY_PATIENCE)?;
        let handle = self.disk.open_append(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        let loaded = self.read(&*handle, None)?;
        Ok(Locked::new(self.clone(), handle, guard, loaded))
    }

    /// Returns who knows whose the log is.
    pub fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref()
    }

    /// Reads all envelopes, each of them verified. A torn tail is left out.
    pub fn envelopes(&self) -> Result<Vec<Envelope<M::Body>>, StoreError> {
        let mut envelopes = Vec::new();
        self.visit(&mut |envelope| envelopes.push(envelope))?;
        Ok(envelopes)
    }

    /// Hands over all envelopes, each of them verified, without keeping them. A torn tail is left out.
    ///
    /// If the log is damaged, the envelopes before the damage have been handed over already.
    pub fn visit(&self, each: &mut impl FnMut(Envelope<M::Body>)) -> Result<End, StoreError> {
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let scan = Scan::new(&self.id, read::acknowledged_to(cache.as_ref(), &stat));
        let scanned = read::run(&*handle, stat.len, scan, each).map_err(|error| self.told(error))?;
        Ok(scanned.end)
    }

    /// Checks every byte, with writers kept away; fails on any damage, a torn tail and a missing newline included.
    pub fn verify(&self) -> Result<Verified<M>, StoreError> {
        if self.disk.stat(&self.files.transcript())?.is_none() {
            return Err(self.missing());
        }
        let _guard = match self.guard(LockMode::Shared, VERIFY_PATIENCE) {
            Ok(guard) => Some(guard),
            // On a read-only disk there is no lock to take, and no writer either.
            Err(StoreError::Storage(_)) => None,
            Err(other) => return Err(other),
        };
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let scan = Scan::new(&self.id, read::acknowledged_to(cache.as_ref(), &stat));
        let mut unit = M::new(self.id.clone());
        let mut each = |envelope| unit.advance(&envelope);
        let scanned = read::run(&*handle, stat.len, scan, &mut each).map_err(|error| self.told(error))?;
        let path = self.files.transcript();
        match scanned.end {
            End::Clean => {}
            End::Unterminated => return Err(StoreError::Unterminated { path, offset: stat.len }),
            End::Torn(torn) => return Err(StoreError::Torn { path, offset: torn.offset, len: torn.len }),
        }
        Ok(Verified { envelopes: scanned.head.seq, bytes: stat.len, hash: scanned.head.hash, unit })
    }

    /// Replaces a file that is derived from the log, in one step. It is not durable: it can be derived again.
    pub fn project(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let own = [self.files.transcript(), self.files.state()];
        let path = self.files.dir.join(name);
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !plain || own.contains(&path) {
            return Err(StoreError::BadName { name: name.to_owned() });
        }
        Ok(durable::replace(&*self.disk, &path, bytes)?)
    }

    /// Returns the artifacts beside it.
    pub fn artifacts(&self) -> Artifacts {
        Artifacts::new(Arc::clone(&self.disk), self.files.artifacts())
    }

    /// Returns whose log this is.
    pub fn id(&self) -> &BubbleId {
        &self.id
    }

    /// Returns where its files are.
    pub fn files(&self) -> &LogFiles {
        &self.files
    }

    pub(super) fn guard(&self, mode: LockMode, patience: Duration) -> Result<Guard, StoreError> {
        let lock = || self.disk.lock(&self.files.lock, mode, patience);
        let taken = match lock() {
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => {
                self.disk.create_dir(durable::parent(&self.files.lock))?;
                lock()?
            }
            other => other?,
        };
        let busy = || StoreError::Busy {
            id: self.id.clone(),
            holder: self.disk.lock_holder(&self.files.lock),
            waited: patience,
        };
        taken.ok_or_else(busy)
    }

    /// Opens the log and reads the cache; the cache first, so that it is never newer than the log.
    pub(super) fn open(&self) -> Result<Opened<M>, StoreError> {
        let cache = self.cache()?;
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        Ok((handle, cache))
    }

    /// Reads the cache; one that cannot be trusted, or is no file that can be read, is none.
    pub(super) fn cache(&self) -> Result<Option<Cache<M>>, StorageError> {
        let path = self.files.state();
        let stat = self.disk.stat(&path).ok().flatten();
        if stat.is_some_and(|stat| stat.len > cache::MOST_BYTES) {
            return Ok(None);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cache)) = known.as_ref().filter(|(then, _)| Some(*then) == stat) {
            return Ok(Some(cache.clone()));
        }
        match self.disk.read(&path) {
            Ok(bytes) => {
                let by = self.believed()?;
                let cache = bytes.and_then(|bytes| cache::decode(&bytes, &self.id, &by));
                *known = stat.zip(cache.clone());
                Ok(cache)
            }
            Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) => match self.disk.stat(&path)? {
                // The cache says what was acknowledged: a disk that fails to tell must not pass for one that has none.
                Some(stat) if stat.kind == FileKind::File => Err(error),
                _ => Ok(None),
            },
        }
    }

    /// Returns whose cache counts.
    pub(super) fn believed(&self) -> Result<By, StorageError> {
        let Some(registry) = &self.registry else { return Ok(By::Anyone) };
        Ok(registry.key()?.map_or(By::NoOne, By::Holder))
    }

    fn read(&self, handle: &dyn Handle, cache: Option<Cache<M>>) -> Result<Loaded<M>, StoreError> {
        let stat = handle.stat()?;
        let mut loaded = read::load(handle, &stat, &self.id, cache).map_err(|error| self.told(error))?;
        self.place(&mut loaded.unit);
        Ok(loaded)
    }

    pub(super) fn told(&self, error: ReadError) -> StoreError {
        match error {
            ReadError::Damaged(damaged) => StoreError::damaged(self.files.transcript(), damaged),
            ReadError::OtherFormat { found, read } => {
                let worktree = self.files.worktree();
                let there = self.disk.stat(&worktree).is_ok_and(|stat| stat.is_some());
                let path = self.files.transcript();
                StoreError::OtherFormat { path, found, read, worktree: there.then_some(worktree) }
            }
            ReadError::Storage(error) => StoreError::Storage(error),
        }
    }

    /// What to say where no log is: that there is no bubble, or that the bubble has lost it.
    pub(crate) fn missing(&self) -> StoreError {
        let (id, path) = (self.id.clone(), self.files.transcript());
        if self.is_gone() {
            StoreError::Gone { id, path, dir: self.files.dir.clone() }
        } else {
            StoreError::Missing { id, path }
        }
    }

    /// Returns a name in quarantine that is not taken.
    pub(super) fn quarantine(&self, stem: &str, ending: &str) -> Result<PathBuf, StorageError> {
        let dir = self.files.quarantine();
        durable::make_dirs(&*self.disk, &dir)?;
        let taken = self.disk.list_dir(&dir)?;
        let names = (1..).map(|n| if n == 1 { format!("{stem}.{ending}") } else { format!("{stem}-{n}.{ending}") });
        let free = names.into_iter().find(|name| !taken.contains(name));
        Ok(dir.join(free.expect("a directory does not hold every name")))
    }
}

impl<M> std::fmt::Debug for Log<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("id", &self.id).field("dir", &self.files.dir).finish_non_exhaustive()
    }
}
