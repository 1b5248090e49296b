//! Where the files of a log are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;
use pairflow_core::log::Machine;

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
