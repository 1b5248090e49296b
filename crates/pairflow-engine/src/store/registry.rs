//! The registry of this user's bubbles: a record of each in the state directory, and the key that seals their logs.
//!
//! A record is durable before the first line of its log is written. Beside it is a note that repeats it with the newest
//! known end of the log: written after each append, never synced, and never ahead of the log. The record of another log
//! at the same path is set aside, not lost. Whose a log is is decided in `ownership`.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::hash::{hex, sha256};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::Machine;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::scan::Head;
use pairflow_core::log::seal::{SealKey, Sealer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::storage::{self, FileKind, FileStat, LockMode};
use super::{Storage, StorageError, StoreError};

/// How long to wait for another process that creates the key.
const PATIENCE: Duration = Duration::from_secs(10);

/// The size limit of a record and of the key.
const MOST_BYTES: u64 = 64 << 10;

/// The bubbles of one user on one machine.
#[derive(Clone)]
pub struct Registry {
    pub(super) disk: Arc<dyn Storage>,
    pub(super) state: PathBuf,
    /// The directory of the records in it.
    records: &'static str,
    /// The key as it was last read, with the metadata of its file, so that the same file is not read twice.
    known: Arc<Mutex<Option<(FileStat, SealKey)>>>,
}

/// One bubble of this user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// The root of its repository.
    pub repo: PathBuf,
    /// Its name.
    pub id: BubbleId,
    /// The hash of the first line that this user's pairflow wrote: the creation, or the last adoption.
    pub instance: LineHash,
    /// The hash of the first line of the log, by which a copy of it is recognised.
    pub first: LineHash,
    /// Where the lines of this user begin.
    pub since: u64,
    /// The name of the key that seals them.
    pub key: String,
    /// Where the repository may be instead, while the record is being moved. Until that is done, it makes no log this
    /// user's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moving: Vec<PathBuf>,
}

/// The record of a bubble, with the known end of its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBubble {
    /// Its record.
    pub entry: Registered,
    /// The newest known end of its log.
    pub head: Option<Head>,
}

/// The owner of a log as its writer needs it: the record, and what seals appends.
#[derive(Debug, Clone)]
pub(super) struct LogOwner {
    pub(super) entry: Registered,
    pub(super) sealer: Sealer,
}

impl Registry {
    /// Returns the registry of bubbles in the state directory `state`.
    pub fn new(disk: Arc<dyn Storage>, state: PathBuf) -> Self {
        Self { disk, state, records: BubbleState::DIR, known: Arc::default() }
    }

    /// Returns the registry of another machine's logs in the same state directory.
    pub(super) fn of<M: Machine>(self) -> Self {
        Self { records: M::DIR, ..self }
    }

    /// Returns the user's key; nothing if there is none yet.
    pub fn key(&self) -> Result<Option<SealKey>, StorageError> {
        let path = self.key_path();
        let stat = self.disk.stat(&path)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, key)) = known.as_ref().filter(|(then, _)| Some(*then) == stat) {
            return Ok(Some(key.clone()));
        }
        let Some((stat, bytes)) = stat.zip(self.read_as(&path, stat)?) else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        let unusable = || {
            let why =
                "it is not a pairflow key; restore it from a backup, or move it away and run 'pairflow adopt --all'";
            StorageError::new("use", &path, io::Error::new(ErrorKind::InvalidData, why))
        };
        let key = secret_of(text.trim_end()).map(SealKey::new).ok_or_else(unusable)?;
        *known = Some((stat, key.clone()));
        Ok(Some(key))
    }

    /// Returns the user's key; creates it if there is none yet.
    pub fn key_or_new(&self) -> Result<SealKey, StorageError> {
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        storage::make_dirs(&*self.disk, &self.state)?;
        let busy = || io::Error::new(ErrorKind::TimedOut, "another process holds it");
        let lock = self.state.join("key.lock");
        let guard = self.disk.lock(&lock, LockMode::Exclusive, PATIENCE)?;
        let _guard = guard.ok_or_else(|| StorageError::new("lock", &lock, busy()))?;
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        let path = self.key_path();
        let secret = random().map_err(|error| StorageError::new("draw random numbers for", &path, error))?;
        storage::put(&*self.disk, &path, format!("{}\n", hex(&secret)).as_bytes())?;
        Ok(SealKey::new(secret))
    }

    /// Returns the record of a bubble, with the newest known end of its log.
    ///
    /// A damaged record counts as none: the log is then foreign until it is adopted.
    pub fn find(&self, repo: &Path, id: &BubbleId) -> Result<Option<KnownBubble>, StorageError> {
        self.known_at(&self.dir_of(repo), id, |entry| entry.repo == repo && entry.id == *id)
    }

    /// Returns every record of a bubble called `id` whose log begins with the line `first`, in whatever repository;
    /// also those that were set aside.
    pub fn with_first(&self, id: &BubbleId, first: LineHash) -> Result<Vec<KnownBubble>, StorageError> {
        let mut found = Vec::new();
        let fits = |entry: &Registered| entry.first == first && entry.id == *id;
        for dir in self.disk.list_dir(&self.dir())? {
            let dir = self.dir().join(dir);
            // A record that cannot be read counts as none.
            let aside = self.read_json::<KnownBubble>(&dir.join(aside_name(id, first))).unwrap_or_default();
            found.extend(aside.filter(|known| fits(&known.entry)));
            found.extend(self.known_at(&dir, id, fits).unwrap_or_default());
        }
        found.sort_by(|a, b| a.entry.repo.cmp(&b.entry.repo));
        Ok(found)
    }

    /// Reads the record in `dir`: the note, or else the entry alone.
    fn known_at(
        &self,
        dir: &Path,
        id: &BubbleId,
        fits: impl Fn(&Registered) -> bool,
    ) -> Result<Option<KnownBubble>, StorageError> {
        let note = self.read(&dir.join(format!("{id}.head")))?.and_then(|bytes| read_note(&bytes));
        if let Some(known) = note.filter(|known| fits(&known.entry)) {
            return Ok(Some(known));
        }
        let entry: Option<Registered> = self.read_json(&dir.join(format!("{id}.json")))?;
        Ok(entry.filter(fits).map(|entry| KnownBubble { entry, head: None }))
    }

    /// Records a bubble; when this returns, the record survives a power loss.
    ///
    /// `head` is the newest known end of its log and replaces an earlier one. The record of another log at this path is set
    /// aside.
    pub fn register(&self, bubble: &Registered, head: Option<&Head>) -> Result<(), StorageError> {
        let path = self.record(&bubble.repo, &bubble.id, "json");
        storage::make_dirs(&*self.disk, storage::parent(&path))?;
        let other = self.find(&bubble.repo, &bubble.id)?.filter(|known| known.entry.first != bubble.first);
        other.map_or(Ok(()), |other| self.set_aside(&other))?;
        self.put_json(&path, bubble)?;
        // The note is written last: without it the record would know less than before.
        let note = self.record(&bubble.repo, &bubble.id, "head");
        if let Some(head) = head {
            return storage::put(&*self.disk, &note, &write_note(bubble, head));
        }
        self.disk.remove(&note)?;
        self.disk.sync_dir(storage::parent(&path))
    }

    /// Records that a bubble is about to be moved to the repository `here`. Even if this process dies, none of its `records`
    /// makes a log own until the move is complete, and the worktree is looked for in both places.
    pub fn begin_move(&self, records: &[KnownBubble], here: &Path) -> Result<(), StorageError> {
        for KnownBubble { entry, head } in records {
            let mut entry = entry.clone();
            entry.moving.retain(|place| place != here);
            entry.moving.push(here.to_owned());
            if !self.is_current(&entry)? {
                self.set_aside(&KnownBubble { entry, head: *head })?;
                continue;
            }
            self.register(&entry, head.as_ref())?;
        }
        Ok(())
    }

    /// Records that a bubble is now in the repository `here` and its log ends at `head`, and removes its other records.
    pub fn end_move(&self, records: &[KnownBubble], here: &Path, head: &Head) -> Result<(), StorageError> {
        let Some(KnownBubble { entry, .. }) = records.first() else { return Ok(()) };
        let moved = Registered { repo: here.to_owned(), moving: Vec::new(), ..entry.clone() };
        self.register(&moved, Some(head))?;
        for KnownBubble { entry, .. } in records {
            if entry.repo != here && self.is_current(entry)? {
                self.forget(&entry.repo, &entry.id)?;
            }
            self.disk.remove(&self.aside(entry))?;
        }
        Ok(())
    }

    /// Whether the current record at the path of `entry` is about the same log.
    fn is_current(&self, entry: &Registered) -> Result<bool, StorageError> {
        Ok(self.find(&entry.repo, &entry.id)?.is_some_and(|current| current.entry.first == entry.first))
    }

    fn set_aside(&self, known: &KnownBubble) -> Result<(), StorageError> {
        self.put_json(&self.aside(&known.entry), known)
    }

    /// Forgets a deleted bubble, and keeps its record in case it is restored. The kept record makes no log own.
    pub fn retire(&self, repo: &Path, id: &BubbleId) -> Result<(), StorageError> {
        if let Some(known) = self.find(repo, id)? {
            self.put_json(&self.retired(repo, id, known.entry.first), &known)?;
        }
        self.forget(repo, id)
    }

    /// Whether this user has deleted the bubble whose log begins with the line `first`.
    pub fn is_retired(&self, repo: &Path, id: &BubbleId, first: LineHash) -> Result<bool, StorageError> {
        Ok(self.read(&self.retired(repo, id, first))?.is_some())
    }

    /// Registers a deleted bubble again. Returns whether its record was kept.
    pub fn reinstate(&self, repo: &Path, id: &BubbleId, first: LineHash) -> Result<bool, StorageError> {
        let path = self.retired(repo, id, first);
        let known: Option<KnownBubble> = self.read_json(&path)?;
        let fits =
            |known: &KnownBubble| known.entry.repo == repo && known.entry.id == *id && known.entry.first == first;
        let Some(KnownBubble { entry, head }) = known.filter(fits) else { return Ok(false) };
        self.register(&entry, head.as_ref())?;
        self.disk.remove(&path)?;
        Ok(true)
    }

    /// Where the record of a deleted bubble is kept.
    fn retired(&self, repo: &Path, id: &BubbleId, first: LineHash) -> PathBuf {
        self.dir_of(repo).join(format!("{id}@{first}.deleted"))
    }

    /// Forgets a bubble.
    pub fn forget(&self, repo: &Path, id: &BubbleId) -> Result<(), StorageError> {
        self.disk.remove(&self.record(repo, id, "head"))?;
        self.disk.remove(&self.record(repo, id, "json"))
    }

    /// Notes where a bubble's log ends. It is not durable: an old note is not wrong.
    pub fn note(&self, entry: &Registered, head: &Head) {
        let path = self.record(&entry.repo, &entry.id, "head");
        let _ = storage::renew(&*self.disk, &path, &write_note(entry, head));
    }

    /// Returns every bubble on record, by repository and name. Records that cannot be read are passed over.
    pub fn all(&self) -> Result<Vec<Registered>, StorageError> {
        let mut found: Vec<_> = self.records()?.iter().flatten().filter_map(|path| self.parsed(path)).collect();
        found.sort_by(|a, b| (&a.repo, &a.id).cmp(&(&b.repo, &b.id)));
        Ok(found)
    }

    /// Returns every repository with a bubble on record; one record of each is read.
    pub fn repositories(&self) -> Result<Vec<PathBuf>, StorageError> {
        let records = self.records()?;
        let first = |of_one: &Vec<PathBuf>| of_one.iter().find_map(|path| Some(self.parsed(path)?.repo));
        let mut found: Vec<_> = records.iter().filter_map(first).collect();
        found.sort();
        Ok(found)
    }

    /// Returns the records that cannot be read.
    pub fn damaged(&self) -> Result<Vec<PathBuf>, StorageError> {
        Ok(self.records()?.into_iter().flatten().filter(|path| self.parsed(path).is_none()).collect())
    }

    /// Returns the files of all records, grouped by repository. Other files there are ignored.
    fn records(&self) -> Result<Vec<Vec<PathBuf>>, StorageError> {
        let is_record = |name: &String| !name.starts_with('.') && name.ends_with(".json");
        let of_one = |dir: String| {
            let dir = self.dir().join(dir);
            let names = self.disk.list_dir(&dir).unwrap_or_default();
            names.iter().filter(|name| is_record(name)).map(|name| dir.join(name)).collect()
        };
        Ok(self.disk.list_dir(&self.dir())?.into_iter().map(of_one).collect())
    }

    /// Reads a record; nothing if that is not possible.
    fn parsed(&self, path: &Path) -> Option<Registered> {
        self.read_json(path).ok()?
    }

    /// Reads a file of this user; one that is missing or cannot be understood is none.
    fn read_json<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, StorageError> {
        Ok(self.read(path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Writes a file; when this returns, it survives a power loss.
    fn put_json(&self, path: &Path, value: &impl Serialize) -> Result<(), StorageError> {
        let json = serde_json::to_vec(value).expect("a record holds texts and numbers only");
        storage::put(&*self.disk, path, &json)
    }

    /// Restores the damaged record at `path` from the note beside it. Returns the bubble; nothing without a note.
    pub fn rebuild(&self, path: &Path) -> Result<Option<Registered>, StorageError> {
        let note = self.read(&path.with_extension("head"))?.and_then(|bytes| read_note(&bytes));
        let of = |known: &KnownBubble| self.record(&known.entry.repo, &known.entry.id, "json") == path;
        let Some(KnownBubble { entry, head }) = note.filter(of) else { return Ok(None) };
        self.register(&entry, head.as_ref())?;
        Ok(Some(entry))
    }

    /// Returns the file that holds the key.
    pub fn key_path(&self) -> PathBuf {
        self.state.join("key")
    }

    /// Reads a file of this user; one that belongs to somebody else is refused.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        self.read_as(path, self.disk.stat(path)?)
    }

    /// Reads a file of this user whose metadata is known.
    fn read_as(&self, path: &Path, stat: Option<FileStat>) -> Result<Option<Vec<u8>>, StorageError> {
        match stat {
            None => Ok(None),
            Some(stat) if stat.kind == FileKind::File && stat.own && stat.len <= MOST_BYTES => self.disk.read(path),
            Some(stat) => {
                let large = stat.kind == FileKind::File && stat.own;
                let what = if large {
                    "much larger than any file that pairflow writes there"
                } else {
                    "not a regular file of yours"
                };
                let why = format!("it is {what}; move it away, then run the command again");
                Err(StorageError::new("use", path, io::Error::new(ErrorKind::PermissionDenied, why)))
            }
        }
    }

    /// Returns the directory of the records.
    pub(super) fn dir(&self) -> PathBuf {
        self.state.join(self.records)
    }

    fn dir_of(&self, repo: &Path) -> PathBuf {
        let place = sha256(repo.as_os_str().as_encoded_bytes());
        self.dir().join(&place[..16])
    }

    fn record(&self, repo: &Path, id: &BubbleId, ending: &str) -> PathBuf {
        self.dir_of(repo).join(format!("{id}.{ending}"))
    }

    /// Where a record is set aside.
    fn aside(&self, entry: &Registered) -> PathBuf {
        self.dir_of(&entry.repo).join(aside_name(&entry.id, entry.first))
    }

    /// Fails if another user owns the state directory, or can write to it: it says which logs are this user's.
    ///
    /// A sticky directory is refused, too: others can still put files into it. A link to a directory is followed, and the
    /// directories above are not checked.
    pub fn insist_private(&self) -> Result<(), StoreError> {
        for path in [self.state.clone(), self.dir()] {
            match self.disk.stat(&path.join(".")) {
                Err(error) if error.source.kind() == ErrorKind::NotADirectory => {
                    return Err(StoreError::StateNotDirectory(path));
                }
                Err(error) => return Err(error.into()),
                Ok(Some(stat)) if !stat.own => return Err(StoreError::StateOfOther(path)),
                Ok(Some(stat)) if stat.shared => return Err(StoreError::StateShared(path)),
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("state", &self.state).finish_non_exhaustive()
    }
}

fn aside_name(id: &BubbleId, first: LineHash) -> String {
    format!("{id}@{first}.aside")
}

/// Writes a note with a checksum, by which a torn note is recognised.
fn write_note(entry: &Registered, head: &Head) -> Vec<u8> {
    let note = KnownBubble { entry: entry.clone(), head: Some(*head) };
    let mut bytes = serde_json::to_vec(&note).expect("a record holds texts and numbers only");
    let sum = format!(" {:08x}\n", crc32c::crc32c(&bytes));
    bytes.extend_from_slice(sum.as_bytes());
    bytes
}

fn read_note(bytes: &[u8]) -> Option<KnownBubble> {
    let (note, sum) = bytes.split_at_checked(bytes.len().checked_sub(10)?)?;
    let whole = sum == format!(" {:08x}\n", crc32c::crc32c(note)).as_bytes();
    if whole { serde_json::from_slice(note).ok() } else { None }
}

fn secret_of(text: &str) -> Option<[u8; 32]> {
    let valid = text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte =
        |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("two hexadecimal digits fit a byte");
    valid.then(|| std::array::from_fn(byte))
}

/// Draws 256 random bits.
pub(crate) fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RealDisk;

    fn registry(dir: &Path) -> Registry {
        Registry::new(Arc::new(RealDisk), dir.join("state"))
    }

    #[test]
    fn a_key_is_made_once_and_nothing_else_passes_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let registry = registry(dir.path());
        assert_eq!(registry.key().unwrap(), None);
        let key = registry.key_or_new().unwrap();
        assert_eq!(registry.key_or_new().unwrap(), key);
        assert_eq!(registry.key().unwrap(), Some(key));
        for wrong in ["", "abc\n", &"x".repeat(64), &"+1".repeat(32)] {
            std::fs::write(registry.key_path(), wrong).unwrap();
            assert!(registry.key().is_err() && registry.key_or_new().is_err(), "{wrong:?}");
        }
    }

    fn entry(repo: PathBuf) -> Registered {
        let (instance, first, key) = (LineHash([1; 16]), LineHash([2; 16]), "k".to_owned());
        Registered { repo, id: "b1".parse().unwrap(), instance, first, since: 0, key, moving: Vec::new() }
    }

    #[test]
    fn a_torn_note_is_no_note() {
        let head = Head { seq: 12, offset: 3456, hash: LineHash([9; 16]), last_len: 300 };
        let bytes = write_note(&entry("/repo".into()), &head);
        assert_eq!(read_note(&bytes).unwrap().head, Some(head));
        for cut in 0..bytes.len() {
            assert_eq!(read_note(&bytes[..cut]), None, "{cut}");
        }
        let changed = String::from_utf8(bytes).unwrap().replace("3456", "3457");
        assert_eq!(read_note(changed.as_bytes()), None);
    }

    #[test]
    fn a_record_of_another_log_makes_room_and_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let registry = registry(dir.path());
        let (repo, other) = (dir.path().join("repo"), dir.path().join("other"));
        let one = entry(repo.clone());
        let two = Registered { first: LineHash([3; 16]), ..one.clone() };
        let head = Head { seq: 1, offset: 2, hash: one.first, last_len: 2 };
        registry.register(&one, None).unwrap();
        registry.note(&one, &head);
        registry.register(&two, None).unwrap();
        assert_eq!(registry.find(&repo, &one.id).unwrap().unwrap().entry, two);
        let aside = registry.with_first(&one.id, one.first).unwrap();
        assert_eq!(aside, [KnownBubble { entry: one.clone(), head: Some(head) }]);
        registry.begin_move(&aside, &other).unwrap();
        let records = registry.with_first(&one.id, one.first).unwrap();
        assert_eq!(records[0].entry.moving, std::slice::from_ref(&other));
        registry.end_move(&records, &other, &head).unwrap();
        let moved = Registered { repo: other, ..one.clone() };
        assert_eq!(registry.with_first(&one.id, one.first).unwrap(), [KnownBubble { entry: moved, head: Some(head) }]);
        assert_eq!(registry.find(&repo, &one.id).unwrap().unwrap().entry, two);
    }

    #[test]
    fn records_are_found_by_place_and_name_and_damaged_ones_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let registry = registry(dir.path());
        let (repo, id): (_, BubbleId) = (dir.path().join("repo"), "b1".parse().unwrap());
        let one = entry(repo.clone());
        let known = |head| Some(KnownBubble { entry: one.clone(), head });
        registry.register(&one, None).unwrap();
        assert_eq!(registry.find(&repo, &id).unwrap(), known(None));
        let head = Head { seq: 1, offset: 2, hash: one.first, last_len: 2 };
        registry.note(&one, &head);
        assert_eq!(registry.find(&repo, &id).unwrap(), known(Some(head)));
        assert_eq!(registry.find(dir.path(), &id).unwrap(), None);
        assert_eq!(registry.all().unwrap(), std::slice::from_ref(&one));
        registry.register(&one, None).unwrap();
        assert_eq!(registry.find(&repo, &id).unwrap(), known(None), "an older life is forgotten");
        std::fs::write(registry.record(&repo, &id, "json"), "{\"repo\":").unwrap();
        assert_eq!(registry.find(&repo, &id).unwrap(), None);
        assert_eq!(registry.all().unwrap(), []);
        registry.forget(&repo, &id).unwrap();
        registry.forget(&repo, &id).unwrap();
    }
}
