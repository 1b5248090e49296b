//! Which commands a person has agreed to run for a repository: asked once, remembered, asked again when they change.
//!
//! Commands of the repository's own file are *trusted*, detected ones *confirmed*; the two are kept apart, in one file of
//! the user's state directory. If anything is wrong with that file, the person is asked again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::config::CommandSet;
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, EngineError};
use crate::regular;
use crate::store::StoreError;
use crate::store::storage::{Guard, LockMode};

/// The form of the file; another one is not read.
const VERSION: u32 = 1;
/// No file that pairflow wrote is larger.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// How long to wait for another process that writes the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// What kind of commands a person agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreed {
    /// Those that the repository's own file sets.
    Trusted,
    /// Those that pairflow detected.
    Detected,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustFile {
    version: u32,
    repositories: BTreeMap<PathBuf, RepositoryTrust>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RepositoryTrust {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<HashedCommands>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detected: Option<HashedCommands>,
}

/// Commands with their hash; if the two do not match, the file was edited.
#[derive(Debug, Serialize, Deserialize)]
struct HashedCommands {
    hash: String,
    commands: CommandSet,
}

impl RepositoryTrust {
    fn of(&mut self, kind: Agreed) -> &mut Option<HashedCommands> {
        match kind {
            Agreed::Trusted => &mut self.trusted,
            Agreed::Detected => &mut self.detected,
        }
    }

    fn commands(&mut self, kind: Agreed) -> Option<CommandSet> {
        self.of(kind).take().filter(|it| it.hash == it.commands.hash()).map(|it| it.commands)
    }
}

impl Engine {
    /// Returns the commands that the person last agreed to for the repository at `repo`.
    pub fn agreed(&self, repo: &Path, kind: Agreed) -> Option<CommandSet> {
        self.book().repositories.get_mut(repo)?.commands(kind)
    }

    /// Whether the person has agreed to each of these commands for the repository at `repo`.
    pub fn has_agreed(&self, repo: &Path, kind: Agreed, commands: &CommandSet) -> bool {
        commands.is_empty() || self.agreed(repo, kind).is_some_and(|agreed| commands.is_part_of(&agreed))
    }

    /// Returns everything that the person agreed to: each repository with its trusted and its detected commands.
    pub fn all_agreed(&self) -> Vec<(PathBuf, [Option<CommandSet>; 2])> {
        let both = |mut entry: RepositoryTrust| [Agreed::Trusted, Agreed::Detected].map(|kind| entry.commands(kind));
        self.book().repositories.into_iter().map(|(repo, entry)| (repo, both(entry))).collect()
    }

    /// Returns another repository where the person trusts these commands; one that is gone comes first.
    pub fn trusted_elsewhere(&self, repo: &Path, commands: &CommandSet) -> Option<PathBuf> {
        let known = self.all_agreed().into_iter().filter(|(place, [trusted, _])| {
            place != repo && !commands.is_empty() && trusted.as_ref().is_some_and(|old| commands.is_part_of(old))
        });
        known.map(|(place, _)| place).min_by_key(|place| place.exists())
    }

    /// Remembers that the person agreed to these commands for the repository at `repo`, and to no earlier ones.
    pub fn agree(&self, repo: &Path, kind: Agreed, commands: &CommandSet) -> Result<(), EngineError> {
        let _writing = self.writing_book()?;
        let mut book = self.book();
        let signed = HashedCommands { hash: commands.hash(), commands: commands.clone() };
        *book.repositories.entry(repo.to_owned()).or_default().of(kind) = Some(signed);
        self.put_book(&book)
    }

    /// Forgets everything that the person agreed to for the repository at `repo`. Says whether there was anything.
    pub fn forget(&self, repo: &Path) -> Result<bool, EngineError> {
        let _writing = self.writing_book()?;
        let mut book = self.book();
        let known = book.repositories.remove(repo).is_some();
        if known {
            self.put_book(&book)?;
        }
        Ok(known)
    }

    /// A book that is missing, damaged or of another form is an empty one.
    fn book(&self) -> TrustFile {
        let read = regular::read_up_to(&self.book_file(), MOST_BYTES)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<TrustFile>(&bytes).ok());
        read.filter(|book| book.version == VERSION)
            .unwrap_or_else(|| TrustFile { version: VERSION, repositories: BTreeMap::new() })
    }

    fn put_book(&self, book: &TrustFile) -> Result<(), EngineError> {
        let path = self.book_file();
        let json = serde_json::to_vec_pretty(book).expect("a map of texts is always writable as JSON");
        regular::replace_with_mode(&path, &json, 0o600)
            .map_err(|error| EngineError::io(format!("cannot write {}", path.display()), error))
    }

    fn writing_book(&self) -> Result<Guard, EngineError> {
        let dir = &self.dirs.state;
        let failed = |error| EngineError::io(format!("cannot make {}", dir.display()), error);
        std::fs::create_dir_all(dir).map_err(failed)?;
        let lock = self.dirs.state.join("trust.lock");
        let held = || EngineError::Effect(format!("another process holds {}; try again", lock.display()));
        self.disk.lock(&lock, LockMode::Exclusive, PATIENCE).map_err(StoreError::from)?.ok_or_else(held)
    }

    fn book_file(&self) -> PathBuf {
        self.dirs.state.join("trust.json")
    }
}
