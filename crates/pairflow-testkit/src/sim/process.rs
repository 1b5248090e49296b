//! One command in a process of its own, with what fate has in store for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pairflow_core::bubble::Command;
use pairflow_core::ids::BubbleId;
use pairflow_engine::engine::{Applied, Bubble, ControlDir, Engine, EngineError, UserDirs};
use pairflow_engine::store::{Log, Storage};
use rustix::io::Errno;

use super::clock::SimClock;
use crate::disk::{Fault, FaultyDisk, Rng, SimDisk};

/// What happens to a process at its n-th operation on the disk.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Fate {
    /// Nothing.
    Lives,
    /// It is killed.
    Killed(u64),
    /// The power goes.
    PowerLost(u64),
    /// The operation fails, with an error or after half of the bytes.
    Fails(u64, Option<Errno>),
    /// Another process runs a command of its own.
    Rivalled(u64, Command),
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It answered its caller.
    Answered(Box<Result<Applied, EngineError>>),
    /// It was gone before it could answer.
    Died,
}

/// The machine that processes run on.
pub(super) struct Machine {
    /// Its disk.
    pub(super) disk: SimDisk,
    /// Its clock.
    pub(super) clock: Arc<SimClock>,
    id: BubbleId,
}

type Answer = Result<Applied, EngineError>;

impl Machine {
    /// A machine with an empty disk.
    pub(super) fn new(id: BubbleId) -> Self {
        Self { disk: SimDisk::new(), clock: Arc::new(SimClock::new()), id }
    }

    /// Draws a fate: mostly a quiet one.
    pub(super) fn fate(rng: &mut Rng, rival: impl FnOnce(&mut Rng) -> Command) -> Fate {
        let at = 1 + rng.below(22) as u64;
        let errors = [Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::INTR, Errno::MFILE];
        match rng.below(16) {
            0 | 1 => Fate::Killed(at),
            2 | 3 => Fate::PowerLost(at),
            4 if rng.once_in(4) => Fate::Fails(at, None),
            4 => Fate::Fails(at, Some(errors[rng.below(errors.len())])),
            5 => Fate::Rivalled(1 + rng.below(6) as u64, rival(rng)),
            _ => Fate::Lives,
        }
    }

    /// Runs a command; returns how that ended, and how it ended for the rival, if there was one.
    pub(super) fn run(&self, command: &Command, fate: &Fate) -> (Ended, Option<Answer>) {
        let rival = Arc::new(Mutex::new(None));
        let (at, fault) = match fate {
            Fate::Lives => (0, Fault::Crash),
            Fate::Killed(at) | Fate::PowerLost(at) => (*at, Fault::Crash),
            Fate::Fails(at, None) => (*at, Fault::Short),
            Fate::Fails(at, Some(errno)) => (*at, Fault::Error(*errno)),
            Fate::Rivalled(at, rivals) => (*at, self.rival(rivals.clone(), &rival)),
        };
        if at == 0 {
            return (Ended::Answered(Box::new(self.apply(Arc::new(self.disk.clone()), command))), None);
        }
        let disk = FaultyDisk::new(Arc::new(self.disk.clone()), at, fault);
        let answer = self.apply(Arc::new(disk.clone()), command);
        let dies = matches!(fate, Fate::Killed(_) | Fate::PowerLost(_));
        // A process that has no operation left to die at has answered already.
        let ended = if dies && disk.struck() { Ended::Died } else { Ended::Answered(Box::new(answer)) };
        let rival = rival.lock().unwrap_or_else(PoisonError::into_inner).take();
        (ended, rival)
    }

    fn rival(&self, command: Command, answer: &Arc<Mutex<Option<Answer>>>) -> Fault {
        let (disk, clock, id) = (self.disk.clone(), Arc::clone(&self.clock), self.id.clone());
        let answer = Arc::clone(answer);
        Fault::Call(Arc::new(move || {
            let other = Machine { disk: disk.clone(), clock: Arc::clone(&clock), id: id.clone() };
            let told = other.apply(Arc::new(disk.clone()), &command);
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        }))
    }

    fn apply(&self, disk: Arc<dyn Storage>, command: &Command) -> Answer {
        self.bubble(disk)?.apply(command)
    }

    /// Returns the bubble as a process on this disk would have it.
    pub(super) fn bubble(&self, disk: Arc<dyn Storage>) -> Result<Bubble, EngineError> {
        self.engine(disk).bubble(repo(), &self.id)
    }

    fn engine(&self, disk: Arc<dyn Storage>) -> Engine {
        let home = || PathBuf::from("/home");
        let dirs = UserDirs { runtime: home(), state: home(), config: home() };
        Engine::new(disk, self.clock.clone(), dirs)
    }

    /// Returns the log as a process on this disk would have it.
    pub(super) fn log(&self, disk: Arc<dyn Storage>) -> Log {
        let registry = self.engine(disk.clone()).registry();
        Log::new(disk, ControlDir::of(repo()).files(&self.id), self.id.clone()).owned(registry)
    }
}

fn repo() -> &'static Path {
    Path::new("/repo")
}
