//! The log of one machine: where it is, and reading it.
//!
//! Reading needs no lock. A reader that meets a writer sees the log as before the append, as after it, or with a torn
//! tail, which it takes as before.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::scan::{End, Scan};
use pairflow_core::log::{Envelope, Machine};

use super::artifacts::Artifacts;
use super::cache::{self, By, Cache};
use super::durable;
use super::error::StoreError;
use super::files::LogFiles;
use super::read::{self, Loaded, ReadError};
use super::registry::Registry;
use super::storage::{FileKind, Guard, Handle, LockMode, Stat, Storage, StorageError};

/// How long a reader that found damage waits for the writer that it may have met.
const READER_PATIENCE: Duration = Duration::from_secs(2);
/// How long `verify` waits for a writer.
const VERIFY_PATIENCE: Duration = Duration::from_secs(10);

/// The log of one machine; of a bubble where nothing else is said.
#[derive(Clone)]
pub struct Log<M = BubbleState> {
    pub(super) disk: Arc<dyn Storage>,
    pub(super) files: LogFiles,
    pub(super) id: BubbleId,
    /// Who knows whose the log is; without it every log is one's own, and nothing is sealed.
    pub(super) registry: Option<Registry>,
    /// The cache as it was last read, with what was known of its file: the same file is not read twice.
    known: Arc<Mutex<ReadCache<M>>>,
}

/// What a log holds, or was added to it.
pub type Appended<M = BubbleState> = Vec<Envelope<<M as Machine>::Body>>;

/// A cache, with what was known of its file when it was read.
type ReadCache<M> = Option<(Stat, Cache<M>)>;

/// An open log, and the cache beside it.
type Opened<M> = (Box<dyn Handle>, Option<Cache<M>>);

/// A log of which every byte was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified<M = BubbleState> {
    /// How many envelopes it has.
    pub envelopes: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The hash of its last line, which stands for all of it.
    pub hash: LineHash,
    /// The state that it tells.
    pub state: M,
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
        let mut state = M::new(self.id.clone());
        let mut each = |envelope| state.advance(&envelope);
        let scanned = read::run(&*handle, stat.len, scan, &mut each).map_err(|error| self.told(error))?;
        let path = self.files.transcript();
        match scanned.end {
            End::Clean => {}
            End::Unterminated => return Err(StoreError::Unterminated { path, offset: stat.len }),
            End::Torn(torn) => return Err(StoreError::Torn { path, offset: torn.offset, len: torn.len }),
        }
        Ok(Verified { envelopes: scanned.head.seq, bytes: stat.len, hash: scanned.head.hash, state })
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

    pub(super) fn read(&self, handle: &dyn Handle, cache: Option<Cache<M>>) -> Result<Loaded<M>, StoreError> {
        let stat = handle.stat()?;
        let mut loaded = read::load(handle, &stat, &self.id, cache).map_err(|error| self.told(error))?;
        self.place(&mut loaded.state);
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
