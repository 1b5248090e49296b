//! A handle on one bubble, and the engine that hands them out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;

use crate::clock::Clock;
use crate::engine::{Control, EngineError, UserDirs};
use crate::git::Workspace;
use crate::limits::Limits;
use crate::store::storage::{Guard, LockMode};
use crate::store::{Artifacts, Foreign, Loaded, Log, Registry, Source, Storage, StoreError};

/// How long a process that was killed may live on in a child that it was just starting, and hold its locks.
const LAST_BREATH: Duration = Duration::from_millis(300);

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
    pub control: Control,
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
        let control = Control::of(repo);
        let log = Log::new(self.disk.clone(), control.files(id), id.clone()).owned(self.registry());
        Bubble { engine: self.clone(), id: id.clone(), control, log }
    }
}

impl Bubble {
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
        Ok(self.log.standing()?.foreign().cloned())
    }

    /// Fails for a bubble that is not this user's.
    pub fn insist_own(&self) -> Result<(), EngineError> {
        let id = self.id.clone();
        self.foreign()?.map_or(Ok(()), |why| Err(StoreError::Foreign { id, why }.into()))
    }

    /// Reads the present state and makes it durable: nothing is done in the world that the log might forget, nor for a
    /// log that somebody else wrote.
    pub fn durable(&self) -> Result<Loaded, EngineError> {
        self.insist_own()?;
        let loaded = self.log.load()?;
        if loaded.from == Source::Cache { Ok(loaded) } else { Ok(self.locked()?.into_loaded()) }
    }

    /// Reads the state once nobody writes: what it tells is durable, and the files that go with it are there.
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
    pub(crate) fn workspace(&self, state: &BubbleState) -> Result<Workspace, EngineError> {
        let record = state.evidence.workspace.as_ref().ok_or_else(|| {
            EngineError::BadInput(format!(
                "bubble {} has no workspace yet; start it: pairflow start {}",
                self.id, self.id
            ))
        })?;
        Ok(Workspace::recorded(self.control.repo(), &self.id, record))
    }

    /// Takes the lock of one verb, which the kernel frees with its holder; nothing if someone else has it.
    pub(crate) fn exclusively(&self, verb: &str) -> Result<Option<Guard>, EngineError> {
        let (disk, locks) = (&self.engine.disk, self.control.locks());
        let path = locks.join(format!("{}.{verb}.lock", self.id));
        disk.create_dir(&locks).map_err(StoreError::from)?;
        Ok(disk.lock(&path, LockMode::Exclusive, LAST_BREATH).map_err(StoreError::from)?)
    }
}
