//! One job: what is run, and within which limits.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::registry::Registration;

/// What is run, and within which limits.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is run.
    pub command: CommandLine,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables on top of the few that are inherited.
    pub env: Vec<(String, String)>,
    /// How long it may run; nothing means as long as it likes.
    pub timeout: Option<Duration>,
    /// How much of its output is kept in memory.
    pub max_output_bytes: usize,
    /// A file that gets the output as well, at most 10 MiB of it together with its predecessor.
    pub log: Option<PathBuf>,
    /// Where the group is recorded while it runs.
    pub registry: Option<Registration>,
}

/// What a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A line for `sh -c`, such as `cd web && npm test`.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Argv(words) => f.write_str(&words.join(" ")),
        }
    }
}
