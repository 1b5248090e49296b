//! The surroundings of one call.

use std::cell::{OnceCell, RefCell};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Command;
use pairflow_engine::clock::Clock;
use pairflow_engine::limits::Limits;
use pairflow_engine::store::Storage;
use pairflow_engine::workspace::Location;

use crate::exit::CommandError;
use crate::out::{Out, TakesRepo};
use crate::world::{Env, Terminal, World};

/// What the program knows of all its commands together, for the few commands that are about others.
#[derive(Clone, Copy)]
pub struct Grammar {
    /// Says whether a verb takes `--repo`.
    pub takes_repo: TakesRepo,
    /// Builds the whole program as one parser.
    pub parser: fn() -> Command,
}

/// What a command may look at besides its arguments.
pub struct App {
    /// The environment.
    pub env: Env,
    pub(crate) terminal: Terminal,
    pub(crate) stdin: RefCell<Box<dyn Read>>,
    pub(crate) disk: Arc<dyn Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) program: Option<PathBuf>,
    pub(crate) grammar: Grammar,
    /// What the command was given on the command line, without its verb.
    pub(crate) given: Vec<String>,
    /// The command as it was typed.
    pub(crate) typed: String,
    /// The repository that is meant, if it is not the one around the current directory.
    pub(crate) there: OnceCell<PathBuf>,
    /// The last place that was looked for, and what is there.
    pub(crate) located: RefCell<Option<(PathBuf, Location)>>,
    cwd: Option<PathBuf>,
}

impl App {
    /// Divides the world into what a command looks at and where it prints.
    pub fn split(world: World, grammar: Grammar) -> (Self, Out) {
        let out = Out::new(world.stdout, world.stderr, world.terminal, world.env.clone());
        let stdin = RefCell::new(world.stdin);
        let app = Self {
            env: world.env,
            terminal: world.terminal,
            stdin,
            disk: world.disk,
            clock: world.clock,
            limits: world.limits,
            program: world.program,
            grammar,
            given: Vec::new(),
            typed: String::new(),
            there: OnceCell::new(),
            located: RefCell::default(),
            cwd: world.cwd,
        };
        (app, out)
    }

    /// Returns the current directory.
    pub fn cwd(&self) -> Result<&Path, CommandError> {
        let gone = || CommandError::world("the current directory does not exist any more.").next("cd ~");
        self.cwd.as_deref().ok_or_else(gone)
    }

    /// Returns `path`, taken from the current directory if it is relative.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, CommandError> {
        if path.is_absolute() { Ok(path.to_owned()) } else { Ok(self.cwd()?.join(path)) }
    }

    /// Waits until stdin can be read without waiting; says no when it cannot before `until`.
    pub(crate) fn stdin_is_ready(&self, until: Instant) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Env::Process = self.env else { return true };
        let stdin = std::io::stdin();
        let mut one = [PollFd::new(&stdin, PollFlags::IN)];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match poll(&mut one, Timespec::try_from(left).ok().as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                ready => return ready.is_ok_and(|count| count > 0),
            }
        }
    }

    /// Whether there is a person who can be asked.
    pub fn interactive(&self) -> bool {
        self.terminal.stdin && self.terminal.stderr
    }
}

#[cfg(test)]
impl Grammar {
    /// The grammar of a program without commands.
    pub(crate) fn empty() -> Self {
        Self { takes_repo: |_| false, parser: || Command::new("pairflow") }
    }
}
