//! A disk in memory that knows what was synced and can lose power.
//!
//! Every write, cut, new name and removed name is kept in a list until the file or the directory is synced. When the power
//! goes, anything in these lists may survive or not, whole or in part, in any order: a write up to any byte, or any of its
//! 512-byte sectors with zeros in place of the others; a rename without the data of the file; a file without its name.

use std::collections::BTreeMap;
use std::io;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pairflow_engine::store::storage::{FileKind, FileStat, Guard, Handle, LockMode, Storage, StorageError};

use super::rng::Rng;

/// A disk in memory. Clones are the same disk; [`fork`](Self::fork) makes another one.
#[derive(Debug, Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

/// Everything on the disk, and everything that would be lost.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) nodes: BTreeMap<u64, Node>,
    /// The names as programs see them.
    pub(super) names: BTreeMap<PathBuf, u64>,
    /// The names that are safe.
    pub(super) safe_names: BTreeMap<PathBuf, u64>,
    /// The changes of names that are not safe, oldest first.
    pub(super) loose_names: Vec<NameChange>,
    locks: BTreeMap<PathBuf, Held>,
    /// Grows when all processes die, so that their locks are not freed twice.
    life: u64,
    clock: i64,
}

/// A file or a directory.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) dir: bool,
    pub(super) data: Vec<u8>,
    /// What is safe of the content.
    pub(super) safe: Vec<u8>,
    /// The changes of content that are not safe, oldest first.
    pub(super) loose: Vec<DataChange>,
    pub(super) changed_at: i64,
}

/// A change of content.
#[derive(Debug, Clone)]
pub(super) enum DataChange {
    Write { offset: usize, bytes: Vec<u8> },
    Cut { len: usize },
}

/// A change of names that happens as a whole: each path gets a file or loses it.
#[derive(Debug, Clone)]
pub(super) struct NameChange {
    pub(super) dir: PathBuf,
    pub(super) paths: Vec<(PathBuf, Option<u64>)>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    exclusive: bool,
    count: usize,
}

impl SimDisk {
    /// Makes an empty disk with a root directory.
    pub fn new() -> Self {
        let disk = Self::default();
        let mut state = disk.state();
        let root = state.add(true);
        state.names.insert(PathBuf::from("/"), root);
        state.safe_names.insert(PathBuf::from("/"), root);
        drop(state);
        disk
    }

    /// Copies the disk, its unsafe changes included; locks are not copied.
    pub fn fork(&self) -> Self {
        let mut copy = self.state().clone();
        copy.locks.clear();
        copy.life += 1;
        Self(Arc::new(Mutex::new(copy)))
    }

    /// Kills every process: locks are free, all data stays.
    pub fn kill(&self) {
        let mut state = self.state();
        state.locks.clear();
        state.life += 1;
    }

    /// Puts a whole file there, safe at once, under a new inode: what a person or a tool does while nothing runs.
    pub fn plant(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let ino = state.add(false);
        state.names.insert(path.to_owned(), ino);
        state.change(ino, DataChange::Write { offset: 0, bytes: bytes.to_owned() });
        state.make_safe();
    }

    /// Changes bytes in place, safe at once, as a failing disk does. The times of the file change too.
    pub fn overwrite(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let Some(ino) = state.names.get(path).copied() else { return };
        state.change(ino, DataChange::Cut { len: 0 });
        state.change(ino, DataChange::Write { offset: 0, bytes: bytes.to_owned() });
        state.make_safe();
    }

    /// Removes a file for good.
    pub fn erase(&self, path: &Path) {
        let mut state = self.state();
        state.names.remove(path);
        state.make_safe();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds the disk")
    }

    fn handle(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        let state = self.state();
        let Some(ino) = state.names.get(path).copied() else { return Ok(None) };
        if state.nodes[&ino].dir {
            return Err(StorageError::new("open", path, ErrorKind::IsADirectory.into()));
        }
        Ok(Some(Box::new(SimFile { disk: self.clone(), ino, path: path.to_owned() })))
    }
}

impl State {
    fn add(&mut self, dir: bool) -> u64 {
        let ino = self.nodes.keys().next_back().map_or(1, |last| last + 1);
        self.clock += 1;
        self.nodes.insert(ino, Node { dir, data: vec![], safe: vec![], loose: vec![], changed_at: self.clock });
        ino
    }

    fn change(&mut self, ino: u64, change: DataChange) {
        self.clock += 1;
        let clock = self.clock;
        let node = self.nodes.get_mut(&ino).expect("a file that is open or named is there");
        change.apply(&mut node.data);
        node.loose.push(change);
        node.changed_at = clock;
    }

    fn rename(&mut self, dir: &Path, paths: Vec<(PathBuf, Option<u64>)>) {
        for (path, ino) in &paths {
            match ino {
                Some(ino) => self.names.insert(path.clone(), *ino),
                None => self.names.remove(path),
            };
        }
        self.loose_names.push(NameChange { dir: dir.to_owned(), paths });
    }

    /// Declares everything as it is now to be safe.
    pub(super) fn make_safe(&mut self) {
        self.safe_names = self.names.clone();
        self.loose_names.clear();
        for node in self.nodes.values_mut() {
            node.safe.clone_from(&node.data);
            node.loose.clear();
        }
    }

    fn parent_is_there(&self, path: &Path) -> io::Result<()> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        let found = self.names.get(parent).is_some_and(|ino| self.nodes[ino].dir);
        if found { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn stat(&self, ino: u64) -> FileStat {
        let node = &self.nodes[&ino];
        let kind = if node.dir { FileKind::Dir } else { FileKind::File };
        FileStat {
            kind,
            len: node.data.len() as u64,
            mtime_ns: node.changed_at,
            ctime_ns: node.changed_at,
            ino,
            own: true,
            shared: false,
        }
    }
}

impl DataChange {
    pub(super) fn apply(&self, data: &mut Vec<u8>) {
        match self {
            Self::Cut { len } => data.resize(*len, 0),
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                data.resize(data.len().max(end), 0);
                data[*offset..end].copy_from_slice(bytes);
            }
        }
    }
}

impl Storage for SimDisk {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        self.handle(path)
    }

    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        self.handle(path)
    }

    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError> {
        let state = self.state();
        Ok(state.names.get(path).map(|ino| state.stat(*ino)))
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        let state = self.state();
        let Some(node) = state.names.get(path).map(|ino| &state.nodes[ino]) else { return Ok(None) };
        if node.dir {
            return Err(StorageError::new("read", path, ErrorKind::IsADirectory.into()));
        }
        Ok(Some(node.data.clone()))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        let mut state = self.state();
        state.parent_is_there(path).map_err(|e| StorageError::new("write", path, e))?;
        let ino = match state.names.get(path).copied() {
            Some(ino) => ino,
            None => {
                let ino = state.add(false);
                state.rename(path.parent().unwrap_or(path), vec![(path.to_owned(), Some(ino))]);
                ino
            }
        };
        state.change(ino, DataChange::Cut { len: 0 });
        state.change(ino, DataChange::Write { offset: 0, bytes: bytes.to_owned() });
        Ok(())
    }

    fn sync_file(&self, path: &Path) -> Result<(), StorageError> {
        match self.handle(path)? {
            Some(handle) => handle.sync_data(),
            None => Err(StorageError::new("sync", path, ErrorKind::NotFound.into())),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let mut state = self.state();
        let ino = state.names.get(from).copied();
        let ino = ino.ok_or_else(|| StorageError::new("replace", to, ErrorKind::NotFound.into()))?;
        let dir_in_the_way = state.names.get(to).is_some_and(|ino| state.nodes[ino].dir);
        if dir_in_the_way {
            return Err(StorageError::new("replace", to, ErrorKind::IsADirectory.into()));
        }
        let paths = vec![(from.to_owned(), None), (to.to_owned(), Some(ino))];
        state.rename(to.parent().unwrap_or(to), paths);
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        let mut state = self.state();
        if state.names.contains_key(path) {
            state.rename(path.parent().unwrap_or(path), vec![(path.to_owned(), None)]);
        }
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> Result<bool, StorageError> {
        let mut state = self.state();
        if state.names.contains_key(path) {
            return Ok(false);
        }
        state.parent_is_there(path).map_err(|e| StorageError::new("make the directory", path, e))?;
        let ino = state.add(true);
        state.rename(path.parent().unwrap_or(path), vec![(path.to_owned(), Some(ino))]);
        Ok(true)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), StorageError> {
        let mut state = self.state();
        if !state.names.contains_key(path) {
            return Err(StorageError::new("sync the directory", path, ErrorKind::NotFound.into()));
        }
        let (here, elsewhere) = std::mem::take(&mut state.loose_names).into_iter().partition(|it| it.dir == path);
        state.loose_names = elsewhere;
        let here: Vec<NameChange> = here;
        here.iter().for_each(|change| change.apply(&mut state.safe_names));
        Ok(())
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        let state = self.state();
        let inside = state.names.keys().filter(|name| name.parent() == Some(path));
        Ok(inside.filter_map(|name| Some(name.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn lock(&self, path: &Path, mode: LockMode, _patience: Duration) -> Result<Option<Guard>, StorageError> {
        let mut state = self.state();
        state.parent_is_there(path).map_err(|e| StorageError::new("lock", path, e))?;
        let exclusive = mode == LockMode::Exclusive;
        let held = state.locks.entry(path.to_owned()).or_insert(Held { exclusive, count: 0 });
        if held.count > 0 && (exclusive || held.exclusive) {
            return Ok(None);
        }
        *held = Held { exclusive, count: held.count + 1 };
        Ok(Some(Box::new(SimLock { disk: self.clone(), path: path.to_owned(), life: state.life })))
    }

    fn lock_holder(&self, _path: &Path) -> Option<u32> {
        None
    }
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        for (path, ino) in &self.paths {
            match ino {
                Some(ino) => names.insert(path.clone(), *ino),
                None => names.remove(path),
            };
        }
    }
}

/// A lock of a process; freed when it is dropped, unless the process is dead already.
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    life: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let Ok(mut state) = self.disk.0.lock() else { return };
        if state.life == self.life
            && let Some(held) = state.locks.get_mut(&self.path)
        {
            held.count = held.count.saturating_sub(1);
        }
    }
}

struct SimFile {
    disk: SimDisk,
    ino: u64,
    path: PathBuf,
}

impl Handle for SimFile {
    fn stat(&self) -> Result<FileStat, StorageError> {
        Ok(self.disk.state().stat(self.ino))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let state = self.disk.state();
        let data = &state.nodes[&self.ino].data;
        let from = data.get(offset as usize..).unwrap_or_default();
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StorageError> {
        let mut state = self.disk.state();
        let offset = state.nodes[&self.ino].data.len();
        state.change(self.ino, DataChange::Write { offset, bytes: bytes.to_owned() });
        Ok(())
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        let mut state = self.disk.state();
        let node = state.nodes.get_mut(&self.ino);
        let node = node.ok_or_else(|| StorageError::new("sync", &self.path, ErrorKind::NotFound.into()))?;
        node.loose.drain(..).for_each(|change| change.apply(&mut node.safe));
        Ok(())
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.disk.state().change(self.ino, DataChange::Cut { len: len as usize });
        Ok(())
    }
}

const SECTOR: usize = 512;

impl SimDisk {
    /// Cuts the power: what was not synced survives in part, as `seed` decides, and every process is dead.
    pub fn crash(&self, seed: u64) {
        self.kill();
        fail(&mut self.state(), seed);
    }
}

/// Decides what survives, and makes it all there is.
fn fail(state: &mut State, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut names = std::mem::take(&mut state.safe_names);
    for change in surviving_names(std::mem::take(&mut state.loose_names), &mut rng) {
        change.apply(&mut names);
    }
    // A name beneath a directory that was lost cannot be reached any more.
    let whole = names.clone();
    names.retain(|path, _| path.ancestors().skip(1).all(|above| whole.contains_key(above)));
    for node in state.nodes.values_mut().filter(|node| !node.loose.is_empty()) {
        node.data = survive(std::mem::take(&mut node.safe), std::mem::take(&mut node.loose), &mut rng);
        // The times on disk may be older than the content, or newer.
        node.changed_at -= rng.below(3) as i64;
    }
    state.nodes.retain(|ino, _| names.values().any(|named| named == ino));
    state.names = names;
    state.make_safe();
}

fn surviving_names(mut loose: Vec<NameChange>, rng: &mut Rng) -> Vec<NameChange> {
    match rng.below(4) {
        0 => return Vec::new(),
        1 => return loose,
        2 => loose.truncate(rng.below(loose.len() + 1)),
        _ => {
            loose.retain(|_| rng.once_in(2));
            rng.shuffle(&mut loose);
        }
    }
    loose
}

/// Applies a part of the loose changes to the safe content.
fn survive(mut data: Vec<u8>, mut loose: Vec<DataChange>, rng: &mut Rng) -> Vec<u8> {
    match rng.below(5) {
        0 => return data,
        1 => {}
        2 => {
            loose.truncate(rng.below(loose.len()) + 1);
            if let Some(DataChange::Write { bytes, .. }) = loose.last_mut() {
                bytes.truncate(rng.below(bytes.len() + 1));
            }
        }
        3 => loose = scattered(loose, rng),
        _ => loose.retain(|_| rng.once_in(2)),
    }
    loose.iter().for_each(|change| change.apply(&mut data));
    data
}

/// Splits writes into sectors, loses some of them, and mixes the rest.
fn scattered(loose: Vec<DataChange>, rng: &mut Rng) -> Vec<DataChange> {
    let mut pieces = Vec::new();
    for change in loose {
        match change {
            DataChange::Cut { .. } => pieces.push(change),
            DataChange::Write { offset, bytes } => pieces.extend(sectors(offset, &bytes)),
        }
    }
    pieces.retain(|_| rng.once_in(2));
    rng.shuffle(&mut pieces);
    pieces
}

fn sectors(mut offset: usize, mut bytes: &[u8]) -> Vec<DataChange> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let room = SECTOR - offset % SECTOR;
        let (piece, rest) = bytes.split_at(room.min(bytes.len()));
        pieces.push(DataChange::Write { offset, bytes: piece.to_owned() });
        (offset, bytes) = (offset + piece.len(), rest);
    }
    pieces
}
