//! Everything that the process gets from outside, in one value, so that a test can run the whole program in a world
//! that it made up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_engine::limits::Limits;
use pairflow_engine::store::{RealDisk, Storage};

/// What the process was given by its parent.
pub struct World {
    /// The command line, the program's own name first.
    pub args: Vec<OsString>,
    /// The environment.
    pub env: Env,
    /// The current directory; nothing if it was deleted.
    pub cwd: Option<PathBuf>,
    /// Where answers and piped text come from.
    pub stdin: Box<dyn Read>,
    /// Where results go.
    pub stdout: Box<dyn Write>,
    /// Where everything else goes.
    pub stderr: Box<dyn Write>,
    /// Which of the three is a terminal.
    pub terminal: Terminal,
    /// The disk that logs are kept on.
    pub disk: Arc<dyn Storage>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How long things may take.
    pub limits: Limits,
    /// The program itself, to start it as a supervisor.
    pub program: Option<PathBuf>,
}

/// Which of the standard streams is a terminal, and how wide it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Whether a person can be asked.
    pub stdin: bool,
    /// Whether a person reads the results.
    pub stdout: bool,
    /// Whether a person reads everything else.
    pub stderr: bool,
    /// The width of the terminal that the results go to.
    pub columns: Option<u16>,
}

/// The environment variables that the program sees.
#[derive(Debug, Clone)]
pub enum Env {
    /// Those of this process.
    Process,
    /// Exactly these.
    Fixed(BTreeMap<String, OsString>),
}

impl World {
    /// Returns the world of this process.
    pub fn real() -> Self {
        Self {
            args: std::env::args_os().collect(),
            env: Env::Process,
            cwd: std::env::current_dir().ok(),
            stdin: Box::new(io::stdin()),
            stdout: Box::new(io::stdout()),
            stderr: Box::new(io::stderr()),
            terminal: Terminal::real(),
            program: std::env::current_exe().ok(),
            ..Self::empty()
        }
    }

    /// Returns a world with a disk and a clock and nothing else, to be filled by a test.
    pub fn empty() -> Self {
        Self {
            args: Vec::new(),
            env: Env::Fixed(BTreeMap::new()),
            cwd: None,
            stdin: Box::new(io::empty()),
            stdout: Box::new(io::sink()),
            stderr: Box::new(io::sink()),
            terminal: Terminal::default(),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            program: None,
        }
    }
}

impl Terminal {
    fn real() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let size = if terminal { rustix::termios::tcgetwinsize(&stdout).ok() } else { None };
        Self {
            stdin: io::stdin().is_terminal(),
            stdout: terminal,
            stderr: io::stderr().is_terminal(),
            columns: size.map(|size| size.ws_col).filter(|columns| *columns > 0),
        }
    }
}

impl Env {
    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<OsString> {
        match self {
            Self::Process => std::env::var_os(name),
            Self::Fixed(map) => map.get(name).cloned(),
        }
    }

    /// Returns the value of a variable if it is set, not empty and text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
    }
}
