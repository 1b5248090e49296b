//! Handles on bubbles: one of a repository, or all of them. One damaged bubble never hides the others.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::hash::sha256;
use pairflow_core::ids::BubbleId;

use crate::clock::Clock;
use crate::engine::{ControlDir, EngineError, UserDirs};
use crate::git::{GitCall, Repo, Worktree};
use crate::limits::Limits;
use crate::regular;
use crate::store::storage::{Guard, LockMode};
use crate::store::{Artifacts, Foreign, Loaded, Log, Registry, StateSource, Storage, StoreError};

/// How long a killed process may keep its locks, through a child that it was just starting.
const DYING_HOLDER_PATIENCE: Duration = Duration::from_millis(300);

/// What every command needs: a disk, a clock, the user's directories, and how long things may take.
#[derive(Clone)]
pub struct Engine {
    /// Where the logs are kept.
    pub disk: Arc<dyn Storage>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The user's directories.
    pub dirs: UserDirs,
    /// How long things may take.
    pub limits: Limits,
}

/// One bubble of one repository.
pub struct Bubble {
    /// The engine that it belongs to.
    pub engine: Engine,
    /// Its name.
    pub id: BubbleId,
    /// Its repository's control directory.
    pub control: ControlDir,
    pub(crate) log: Log,
}

impl Engine {
    /// Makes an engine with the usual limits.
    pub fn new(disk: Arc<dyn Storage>, clock: Arc<dyn Clock>, dirs: UserDirs) -> Self {
        Self { disk, clock, dirs, limits: Limits::default() }
    }

    /// Returns the bubble called `id` of the repository at `repo`, to act for it: it has to be this user's.
    pub fn bubble(&self, repo: &Path, id: &BubbleId) -> Result<Bubble, EngineError> {
        let bubble = self.look_at(repo, id)?;
        match bubble.insist_own() {
            // Whatever is done with a damaged log fails with the place of the damage.
            Err(EngineError::Store(StoreError::Damaged { .. } | StoreError::Gone { .. })) => Ok(bubble),
            other => other.map(|()| bubble),
        }
    }

    /// Returns the bubble called `id` of the repository at `repo`, own or foreign, to read it only.
    pub fn look_at(&self, repo: &Path, id: &BubbleId) -> Result<Bubble, EngineError> {
        let bubble = self.handle(repo, id);
        match bubble.log.is_there()? {
            true => Ok(bubble),
            false if bubble.log.is_gone() => Err(bubble.log.missing().into()),
            false => Err(EngineError::NoBubble { id: id.clone(), repo: repo.to_owned() }),
        }
    }

    /// Returns the record of which bubbles are this user's.
    pub fn registry(&self) -> Registry {
        Registry::new(self.disk.clone(), self.dirs.state.clone())
    }

    /// Fails if the state directory is not this user's alone.
    pub fn insist_private(&self) -> Result<(), EngineError> {
        Ok(self.registry().insist_private()?)
    }

    /// Returns a handle without looking whether the bubble is there.
    pub(crate) fn handle(&self, repo: &Path, id: &BubbleId) -> Bubble {
        let control = ControlDir::of(repo);
        let log = Log::new(self.disk.clone(), control.files(id), id.clone()).owned(self.registry());
        Bubble { engine: self.clone(), id: id.clone(), control, log }
    }

    /// Returns every bubble of the repository at `repo`, by name, also one that has lost its log. Directories that are
    /// no bubbles are passed over.
    pub fn list(&self, repo: &Path) -> Result<Vec<Listed>, EngineError> {
        let mut listed: Vec<_> = self
            .ids(repo)?
            .into_iter()
            .map(|id| self.handle(repo, &id))
            .filter(Bubble::has_files)
            .map(Listed::of)
            .collect();
        listed.sort_by(|a, b| a.bubble.id.cmp(&b.bubble.id));
        Ok(listed)
    }

    /// Returns the names of the directories that could be bubbles.
    pub fn ids(&self, repo: &Path) -> Result<Vec<BubbleId>, EngineError> {
        let names = self.disk.list_dir(&ControlDir::of(repo).bubbles()).map_err(StoreError::from)?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns the files beside the bubbles of the repository at `repo` that belong to none.
    pub fn strays(&self, repo: &Path) -> Result<Vec<PathBuf>, EngineError> {
        let dir = ControlDir::of(repo).bubbles();
        let names = self.disk.list_dir(&dir).map_err(StoreError::from)?;
        let is_bubble = |name: &str| name.parse().is_ok_and(|id| self.handle(repo, &id).has_files());
        let mut strays: Vec<_> = names.iter().filter(|name| !is_bubble(name)).map(|name| dir.join(name)).collect();
        strays.sort();
        Ok(strays)
    }

    /// Returns the repositories in which bubbles were made and that are still there.
    pub fn repositories(&self) -> Vec<PathBuf> {
        // A record that cannot be read is reported by the command that needs it.
        let mut repos = self.registry().repositories().unwrap_or_default();
        repos.retain(|repo| ControlDir::of(repo).dir().is_dir());
        repos
    }

    /// Whether git tracks anything below `.pairflow/`. git is asked only when its index has changed since the last call.
    pub fn tracks_control(&self, repo: &Repo) -> bool {
        if !ControlDir::of(&repo.root).dir().exists() {
            return false;
        }
        let Ok(index) = std::fs::metadata(repo.common_dir.join("index")) else { return false };
        let now = format!("{} {} {} {}", index.ino(), index.len(), index.mtime(), index.mtime_nsec());
        let place = sha256(repo.root.as_os_str().as_encoded_bytes());
        let memo = self.dirs.state.join(format!("tracked-{}", &place[..16]));
        let known = regular::read_text(&memo).unwrap_or_default();
        if let Some(answer) = known.strip_prefix(&now) {
            return answer == " yes";
        }
        let Ok(listed) = repo.git().run(GitCall::new(["ls-files", "--cached", "-z", "--", ".pairflow"])) else {
            return false;
        };
        let tracked = !listed.stdout.is_empty();
        // A memo that cannot be written costs time only; without a state directory there is nothing to remember for.
        let _ = regular::write(&memo, format!("{now} {}", if tracked { "yes" } else { "no" }));
        tracked
    }
}

impl Bubble {
    /// Whether there is a log, or what is left of a bubble that has lost it.
    pub(crate) fn has_files(&self) -> bool {
        self.log.exists() || self.log.is_gone()
    }

    /// Reads the present state.
    pub fn load(&self) -> Result<Loaded, EngineError> {
        Ok(self.log.load()?)
    }

    /// Reads the present state, and renews `state.json` if it is missing or stale.
    pub fn refresh(&self) -> Result<Loaded, EngineError> {
        Ok(self.log.refresh()?)
    }

    /// Returns why the bubble is foreign; nothing if it is this user's.
    pub fn foreign(&self) -> Result<Option<Foreign>, EngineError> {
        Ok(self.log.foreign()?)
    }

    /// Fails for a bubble that is not this user's.
    pub fn insist_own(&self) -> Result<(), EngineError> {
        let id = self.id.clone();
        self.foreign()?.map_or(Ok(()), |why| Err(StoreError::Foreign { id, why }.into()))
    }

    /// Reads the present state and makes it durable; fails for a foreign log. Effects are performed only on such a state.
    pub fn durable(&self) -> Result<Loaded, EngineError> {
        self.insist_own()?;
        let loaded = self.log.load()?;
        if loaded.from == StateSource::Cache { Ok(loaded) } else { Ok(self.locked()?.into_loaded()) }
    }

    /// Reads the state under the lock: it is durable, and its files are there.
    pub(crate) fn settled(&self) -> Result<Loaded, EngineError> {
        Ok(self.locked()?.into_loaded())
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the bubble's artifacts.
    pub fn artifacts(&self) -> Artifacts {
        self.log.artifacts()
    }

    /// Returns the bubble's directory.
    pub fn dir(&self) -> PathBuf {
        self.control.files(&self.id).dir
    }

    /// Returns the directory in which the bubble's process groups are recorded.
    pub(crate) fn registry(&self) -> PathBuf {
        self.control.runtime(&self.id).join("processes")
    }

    /// Returns the workspace of a bubble that has one.
    pub(crate) fn workspace(&self, state: &BubbleState) -> Result<Worktree, EngineError> {
        let record = state.evidence.workspace.as_ref().ok_or_else(|| {
            EngineError::BadInput(format!(
                "bubble {} has no workspace yet; start it: pairflow start {}",
                self.id, self.id
            ))
        })?;
        Ok(Worktree::recorded(self.control.repo(), &self.id, record))
    }

    /// Takes the lock of one verb, which the kernel frees with its holder; nothing if someone else has it.
    pub(crate) fn exclusively(&self, verb: &str) -> Result<Option<Guard>, EngineError> {
        let (disk, locks) = (&self.engine.disk, self.control.locks());
        let path = locks.join(format!("{}.{verb}.lock", self.id));
        disk.create_dir(&locks).map_err(StoreError::from)?;
        Ok(disk.lock(&path, LockMode::Exclusive, DYING_HOLDER_PATIENCE).map_err(StoreError::from)?)
    }
}

/// One entry of the list.
pub struct Listed {
    /// The bubble.
    pub bubble: Bubble,
    /// Why it is foreign, if it is.
    pub foreign: Option<Foreign>,
    /// Its state, or why it cannot be read.
    pub state: Result<BubbleState, EngineError>,
}

impl Listed {
    fn of(bubble: Bubble) -> Self {
        let state = bubble.load().map(|loaded| loaded.state);
        match bubble.log.foreign() {
            Ok(foreign) => Self { state, foreign, bubble },
            // A bubble of unknown ownership is not acted on.
            Err(error) => Self { state: state.and_then(|_| Err(error.into())), foreign: None, bubble },
        }
    }

    /// Returns the state of a bubble that is this user's.
    pub fn own(&self) -> Option<&BubbleState> {
        self.state.as_ref().ok().filter(|_| self.foreign.is_none())
    }
}
