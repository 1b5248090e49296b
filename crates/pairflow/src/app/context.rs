//! The surroundings of one call: environment, directory, configuration, programs.

use std::cell::{OnceCell, RefCell};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::{ArgMatches, Command};
use pairflow_core::config::{ConfigErrors, Layer, Layers};
use pairflow_core::ids::BubbleId;
use pairflow_engine::clock::Clock;
use pairflow_engine::config::{ConfigFiles, LoadError};
use pairflow_engine::limits::Limits;
use pairflow_engine::store::Storage;
use pairflow_engine::workspace::{Location, locate};

use crate::exit::CommandError;
use crate::out::{Out, TakesRepo, line_for};
use crate::world::{Env, Terminal, World};

/// What the program knows about all of its commands, for the few commands that need it.
#[derive(Clone, Copy)]
pub struct Grammar {
    /// Returns whether a command takes `--repo`.
    pub takes_repo: TakesRepo,
    /// Builds the whole program as one parser.
    pub parser: fn() -> Command,
    /// Renders the command-line reference.
    pub reference: fn() -> String,
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
        let gone = || CommandError::io("the current directory no longer exists.").next("cd ~");
        self.cwd.as_deref().ok_or_else(gone)
    }

    /// Returns the directory for temporary files.
    pub(crate) fn temporary_dir(&self) -> PathBuf {
        self.env.text("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
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
        Self { takes_repo: |_| false, parser: || Command::new("pairflow"), reference: String::new }
    }
}

impl App {
    /// Reads every file that says something about the repository at `repo`, or one bubble of it, and puts the flags
    /// above them.
    pub fn layers(&self, repo: &Path, bubble: Option<&BubbleId>, flags: Layer) -> Result<Layers, CommandError> {
        let user = self.engine()?.dirs.config;
        let files = ConfigFiles { repo, user: Some(&user), bubble };
        files.load(flags).map_err(|error| match &error {
            LoadError::Invalid(errors) => errors.into(),
            other => CommandError::io(format_args!("{other}.")),
        })
    }
}

/// Tells every mistake with its file, its line and a mark below the wrong part.
impl From<&ConfigErrors> for CommandError {
    fn from(errors: &ConfigErrors) -> Self {
        let excerpts: Vec<_> = errors.0.iter().map(|error| error.excerpt().trim_end().to_owned()).collect();
        let text = excerpts.join("\n");
        // The word in front of the first one is added when the error is printed.
        Self::usage(text.strip_prefix("error: ").unwrap_or(&text))
    }
}

impl App {
    /// Returns the repository that the command line names, unless it is the one around the current directory anyway.
    pub(crate) fn other_repository(&self, matches: &ArgMatches) -> Option<PathBuf> {
        let named = matches.try_get_one::<PathBuf>("repo").ok().flatten()?;
        let root = |path: &Path| locate(path).ok().map(|place| place.repo.root);
        let cwd = self.cwd().ok()?;
        let named = root(&cwd.join(named))?;
        Some(named).filter(|named| root(cwd).as_ref() != Some(named))
    }

    /// Returns a command line as it has to be typed here.
    pub(crate) fn line_here(&self, line: String) -> String {
        self.there.get().map_or_else(|| line.clone(), |root| line_for(&line, root, self.grammar.takes_repo))
    }
}

/// What to do when tmux is missing.
pub(crate) const INSTALL_TMUX: &str = "install tmux with your package manager";

impl App {
    /// Finds a program as a shell would: by its name on PATH, or by its path.
    pub(crate) fn on_path(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            return self.resolve(Path::new(program)).ok().filter(|file| runs(file));
        }
        let path = self.env.get("PATH")?;
        let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(program)).find(|file| runs(file))
    }
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
