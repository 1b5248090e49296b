//! The log of one machine: where its files are, and reading it.
//!
//! Reading needs no lock. A reader that meets a writer sees the log as before the append, as after it, or with a torn
//! tail, which it takes as before. Paths follow from the repository and the name, never from what a log says: it may
//! come from anywhere, and a repository may have been moved.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::Places;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::scan::{End, Head, Scan, Scanned};
use pairflow_core::log::{Envelope, Machine};

use super::read::{self, Cache, ReadError, TrustedWriter};
use super::storage::{self, FileKind, FileStat, Guard, Handle, LockMode};
use super::{Artifacts, CacheCondition, Loaded, Registry, Storage, StorageError, StoreError};

/// How long a reader that found damage waits for a writer that may be at work.
const READER_PATIENCE: Duration = Duration::from_secs(2);
/// How long `verify` waits for a writer.
const VERIFY_PATIENCE: Duration = Duration::from_secs(10);

/// The log of one machine; of a bubble where nothing else is said.
#[derive(Clone)]
pub struct Log<M = BubbleState> {
    pub(super) disk: Arc<dyn Storage>,
    pub(super) files: LogFiles,
    pub(super) id: BubbleId,
    /// The registry of this user's logs; without it every log counts as own, and nothing is sealed.
    pub(super) registry: Option<Registry>,
    /// The cache as it was last read or written, with the metadata of its file, so that it is not read again.
    known: Arc<Mutex<ReadCache<M>>>,
}

/// What a log holds, or was added to it.
pub type Appended<M = BubbleState> = Vec<Envelope<<M as Machine>::Body>>;

/// A cache, with the metadata that its file had when it was read or written.
type ReadCache<M> = Option<(FileStat, Cache<M>)>;

/// An open log, and the cache beside it.
type OpenLog<M> = (Box<dyn Handle>, Option<Cache<M>>);

/// A log of which every byte was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified<M = BubbleState> {
    /// How many envelopes it has.
    pub envelopes: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The hash of its last line, which covers the whole log.
    pub hash: LineHash,
    /// The state that follows from it.
    pub state: M,
}

impl<M: Machine> Log<M> {
    /// Makes a handle; nothing is read yet.
    pub fn new(disk: Arc<dyn Storage>, files: LogFiles, id: BubbleId) -> Self {
        Self { disk, files, id, registry: None, known: Arc::default() }
    }

    /// Restricts writing and acting to logs in this registry.
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

    /// Returns the registry that decides whose the log is.
    pub fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref()
    }

    /// Reads all envelopes, each of them verified. A torn tail is left out.
    pub fn envelopes(&self) -> Result<Vec<Envelope<M::Body>>, StoreError> {
        let mut envelopes = Vec::new();
        self.visit(&mut |envelope| envelopes.push(envelope))?;
        Ok(envelopes)
    }

    /// Calls `each` with every verified envelope. A torn tail is left out.
    ///
    /// If the log is damaged, `each` has been called for the envelopes before the damage.
    pub fn visit(&self, each: &mut impl FnMut(Envelope<M::Body>)) -> Result<End, StoreError> {
        Ok(self.scan(each)?.1.end)
    }

    /// Reads the whole log. Returns how long it is, and what was found at its end.
    fn scan(&self, each: &mut impl FnMut(Envelope<M::Body>)) -> Result<(u64, Scanned), StoreError> {
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let scan = Scan::new(&self.id, read::acknowledged_to(cache.as_ref(), &stat));
        let scanned = read::run(&*handle, stat.len, scan, each).map_err(|error| self.store_error(error))?;
        Ok((stat.len, scanned))
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
        let mut state = M::new(self.id.clone());
        let (len, scanned) = self.scan(&mut |envelope| state.advance(&envelope))?;
        let path = self.files.transcript();
        match scanned.end {
            End::Clean => {}
            End::Unterminated => return Err(StoreError::Unterminated { path, offset: len }),
            End::Torn(torn) => return Err(StoreError::Torn { path, offset: torn.offset, len: torn.len }),
        }
        Ok(Verified { envelopes: scanned.head.seq, bytes: len, hash: scanned.head.hash, state })
    }

    /// Replaces a file that is derived from the log, in one step. It is not durable: it can be derived again.
    pub fn project(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let own = [self.files.transcript(), self.files.state()];
        let path = self.files.dir.join(name);
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !plain || own.contains(&path) {
            return Err(StoreError::BadName(name.to_owned()));
        }
        Ok(storage::replace(&*self.disk, &path, bytes)?)
    }

    /// Returns the artifacts beside it.
    pub fn artifacts(&self) -> Artifacts {
        Artifacts::new(Arc::clone(&self.disk), self.files.artifacts())
    }

    /// Returns the name of the bubble.
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
                self.disk.create_dir(storage::parent(&self.files.lock))?;
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
    pub(super) fn open(&self) -> Result<OpenLog<M>, StoreError> {
        let cache = self.cache()?;
        let handle = self.disk.open(&self.files.transcript())?.ok_or_else(|| self.missing())?;
        Ok((handle, cache))
    }

    /// Reads the cache; nothing if it cannot be read or trusted.
    pub(super) fn cache(&self) -> Result<Option<Cache<M>>, StorageError> {
        let path = self.files.state();
        let stat = self.disk.stat(&path).ok().flatten();
        if stat.is_some_and(|stat| stat.len > read::MOST_BYTES) {
            return Ok(None);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cache)) = known.as_ref().filter(|(then, _)| Some(*then) == stat) {
            return Ok(Some(cache.clone()));
        }
        match self.disk.read(&path) {
            Ok(bytes) => {
                let by = self.trusted_writer()?;
                let cache = bytes.and_then(|bytes| read::decode(&bytes, &self.id, &by));
                *known = stat.zip(cache.clone());
                Ok(cache)
            }
            Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) => match self.disk.stat(&path)? {
                // The cache says what was acknowledged: a failing disk must not look like a missing cache.
                Some(stat) if stat.kind == FileKind::File => Err(error),
                _ => Ok(None),
            },
        }
    }

    /// Keeps a cache that was just written, so that this process does not read it again.
    pub(super) fn remember(&self, cache: Cache<M>) {
        let stat = self.disk.stat(&self.files.state()).ok().flatten();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = stat.map(|stat| (stat, cache));
    }

    /// Returns whose cache is trusted.
    pub(super) fn trusted_writer(&self) -> Result<TrustedWriter, StorageError> {
        let Some(registry) = &self.registry else { return Ok(TrustedWriter::Anyone) };
        Ok(registry.key()?.map_or(TrustedWriter::NoOne, TrustedWriter::Holder))
    }

    pub(super) fn read(&self, handle: &dyn Handle, cache: Option<Cache<M>>) -> Result<Loaded<M>, StoreError> {
        let stat = handle.stat()?;
        let mut loaded = read::load(handle, &stat, &self.id, cache).map_err(|error| self.store_error(error))?;
        self.set_locations(&mut loaded.state);
        Ok(loaded)
    }

    pub(super) fn store_error(&self, error: ReadError) -> StoreError {
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

    /// Makes the error for a missing log: there is no bubble, or the bubble has lost its log.
    pub(crate) fn missing(&self) -> StoreError {
        let (id, path) = (self.id.clone(), self.files.transcript());
        if self.is_gone() {
            StoreError::Gone { id, path, dir: self.files.dir.clone() }
        } else {
            StoreError::Missing { id, path }
        }
    }

    /// Sets the paths in a state to where its files are; paths in a log are never used.
    pub fn set_locations(&self, state: &mut M) {
        let (repo, worktree) = (self.files.repo(), self.files.worktree());
        state.place(&Places { repo, worktree: &worktree, common_dir: &|| self.common_dir() });
    }

    /// Returns the git directory of the repository.
    fn common_dir(&self) -> PathBuf {
        let dot_git = self.files.repo().join(".git");
        let is_file = self.disk.stat(&dot_git).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == FileKind::File));
        let text = if is_file { self.disk.read(&dot_git).ok().flatten() } else { None };
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let named = text.as_deref().and_then(|text| text.trim_end().strip_prefix("gitdir: "));
        named.map_or(dot_git, |named| self.files.repo().join(named))
    }

    /// Returns a free file name in quarantine.
    pub(super) fn quarantine(&self, stem: &str, ending: &str) -> Result<PathBuf, StorageError> {
        let dir = self.files.quarantine();
        storage::make_dirs(&*self.disk, &dir)?;
        let taken = self.disk.list_dir(&dir)?;
        let names = (1..).map(|n| if n == 1 { format!("{stem}.{ending}") } else { format!("{stem}-{n}.{ending}") });
        let free = names.into_iter().find(|name| !taken.contains(name));
        Ok(dir.join(free.expect("a directory does not hold every name")))
    }

    /// Whether the bubble has a log; an error if the disk fails.
    pub fn is_there(&self) -> Result<bool, StoreError> {
        Ok(self.disk.stat(&self.files.transcript())?.is_some())
    }

    /// Whether the bubble is known to have a log.
    pub fn exists(&self) -> bool {
        matches!(self.disk.stat(&self.files.transcript()), Ok(Some(_)))
    }

    /// Whether the log is missing although there is a state: the state is always written after the log.
    pub fn is_gone(&self) -> bool {
        let (log, state) = (self.disk.stat(&self.files.transcript()), self.disk.stat(&self.files.state()));
        matches!((log, state), (Ok(None), Ok(Some(_))))
    }

    /// Returns the condition of `state.json`. Only reads.
    pub fn state_file(&self) -> Result<CacheCondition<M>, StoreError> {
        let path = self.files.state();
        match self.disk.stat(&path)? {
            None => Ok(CacheCondition::Absent),
            Some(stat) if stat.kind != FileKind::File => Ok(CacheCondition::Wrong("it is not a regular file")),
            Some(stat) if stat.len > read::MOST_BYTES => {
                Ok(CacheCondition::Wrong("it is larger than any state that pairflow writes"))
            }
            Some(_) => {
                let (bytes, by) = (self.disk.read(&path)?, self.trusted_writer()?);
                Ok(bytes.map_or(CacheCondition::Absent, |bytes| read::judge(&bytes, &self.id, &by)))
            }
        }
    }

    /// Calls `each` with every verified envelope after `head`, and returns where the log ends now.
    ///
    /// Returns nothing if the log does not continue from there: it was replaced and has to be read from its beginning.
    pub fn visit_after(
        &self,
        head: &Head,
        each: &mut impl FnMut(Envelope<M::Body>),
    ) -> Result<Option<Head>, StoreError> {
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let goes_on = *head == Head::default() || (stat.len >= head.offset && read::ends_at(&*handle, head)?);
        if !goes_on {
            return Ok(None);
        }
        let scan = Scan::resume(&self.id, *head, read::acknowledged_to(cache.as_ref(), &stat));
        let scanned = read::run(&*handle, stat.len, scan, each).map_err(|error| self.store_error(error))?;
        Ok(Some(scanned.head))
    }

    /// Waits up to 250 ms for the log to grow past `head`, and polls it every `pace`.
    pub fn wait_past(&self, head: &Head, pace: Duration) {
        let until = Instant::now() + AT_MOST;
        while Instant::now() < until {
            let grown = match self.disk.stat(&self.files.transcript()) {
                Ok(Some(stat)) => stat.len != head.offset,
                _ => true,
            };
            if grown {
                return;
            }
            std::thread::sleep(pace);
        }
    }

    /// Replaces a derived file below `artifacts/`, in one step. `name` may have one directory.
    pub fn project_artifact(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\0']);
        let parts: Vec<_> = name.split('/').collect();
        if parts.len() > 2 || !parts.iter().all(|part| plain(part)) {
            return Err(StoreError::BadName(name.to_owned()));
        }
        let path = self.files.artifacts().join(name);
        self.disk.create_dir(storage::parent(&path))?;
        Ok(storage::replace(&*self.disk, &path, bytes)?)
    }
}

impl<M> std::fmt::Debug for Log<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("id", &self.id).field("dir", &self.files.dir).finish_non_exhaustive()
    }
}

/// The longest wait for the log to grow.
const AT_MOST: Duration = Duration::from_millis(250);

/// The directory and the lock of one log beneath `.pairflow/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFiles {
    /// `.pairflow/bubbles/<id>` for a bubble.
    pub dir: PathBuf,
    /// `.pairflow/locks/<id>.lock` for a bubble.
    pub lock: PathBuf,
}

impl LogFiles {
    /// Returns the files of the log called `id` of a machine; `control` is the `.pairflow` directory.
    pub fn of<M: Machine>(control: &Path, id: &BubbleId) -> Self {
        let dir = control.join(M::DIR).join(id.as_str());
        Self { dir, lock: control.join("locks").join(format!("{id}.{}", M::LOCK)) }
    }

    /// Returns the root of the repository.
    pub fn repo(&self) -> &Path {
        self.dir.ancestors().nth(3).expect("the directory of a log is made three levels below its repository")
    }

    /// Returns the directories that must be real ones, and the repository's own.
    pub(super) fn own_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let control = self.repo().join(".pairflow");
        let logs = self.dir.parent().map(Path::to_owned);
        let below = ["locks", "runtime", "archive"].map(|name| control.join(name));
        let runtime = control.join("runtime").join(self.dir.file_name().unwrap_or_default());
        let own = [self.dir.clone(), self.artifacts(), self.quarantine(), runtime];
        std::iter::once(control).chain(logs).chain(below).chain(own)
    }

    /// Returns where the worktree of the bubble is: beside the repository, never where a log says.
    pub fn worktree(&self) -> PathBuf {
        let repo = self.repo();
        let name = repo.file_name().unwrap_or(OsStr::new("root"));
        let id = self.dir.file_name().unwrap_or_default();
        repo.parent().unwrap_or(repo).join(".pairflow-worktrees").join(name).join(id)
    }

    /// Returns the path of the log.
    pub fn transcript(&self) -> PathBuf {
        self.dir.join("transcript.ndjson")
    }

    /// Returns the path of the cache of the state.
    pub fn state(&self) -> PathBuf {
        self.dir.join("state.json")
    }

    /// Returns the path of the projected inbox.
    pub fn inbox(&self) -> PathBuf {
        self.dir.join("inbox.ndjson")
    }

    /// Returns the directory of the artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.dir.join("artifacts")
    }

    /// Returns the directory that keeps what was taken out of the log.
    pub fn quarantine(&self) -> PathBuf {
        self.dir.join("quarantine")
    }
}
