//! A turn of a scripted agent: what it takes, and what an agent can do in it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pairflow_engine::regular;

use super::model::{InnerPath, NoSuchTurn, Script, Verb};
use super::verbs;

/// A turn to play, and what it takes.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The script.
    pub script: &'a Script,
    /// Which agent plays.
    pub agent: &'a str,
    /// Which of its own turns it is, starting with 1.
    pub n: u32,
    /// The pairflow binary.
    pub program: &'a Path,
    /// The worktree.
    pub cwd: &'a Path,
    /// Where the agent notes how far it has come; outside the worktree.
    pub state_dir: &'a Path,
    /// Variables for everything that the agent starts, on top of its own.
    pub env: &'a [(String, String)],
}

/// Why a turn could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    NoSuchTurn(#[from] NoSuchTurn),
    #[error("cannot {verb} {}: {source}", .path.display())]
    File { verb: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot run `{what}`: {source}")]
    Start { what: String, source: io::Error },
    #[error("`{command}` ended with {code}, so the turn ends here; append `|| true` if it may fail")]
    Command { command: String, code: i32 },
    #[error("`pairflow {verb}` ended with exit code {code}, so the turn ends here")]
    Refused { verb: String, code: i32 },
    #[error("`pairflow {verb}` was to be refused with exit code {expected}, but ended with {code}")]
    NotRefused { verb: String, code: i32, expected: i32 },
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
}

/// What comes after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next step.
    Step,
    /// The end, with this exit code.
    End(i32),
}

impl Turn<'_> {
    /// Calls pairflow, passes on what it prints and returns its exit code (128 and more for a signal).
    pub(super) fn call(&self, verb: &Verb, out: &mut dyn io::Write) -> Result<i32, Fault> {
        let mut command = self.command(self.program);
        command.args(verbs::arguments(verb));
        let what = || format!("{} {}", self.program.display(), verbs::name(verb));
        let ended = fed(command, verbs::input(verb)).map_err(|source| Fault::Start { what: what(), source })?;
        out.write_all(&ended.stdout)?;
        out.write_all(&ended.stderr)?;
        Ok(exit_code(ended.status))
    }

    /// Runs a command line.
    pub(super) fn run(&self, line: &str, out: &mut dyn io::Write) -> Result<(), Fault> {
        // What was printed so far has to stand before what the command prints past us.
        out.flush()?;
        let status = self.command(Path::new("/bin/sh")).args(["-c", line]).status();
        match exit_code(status.map_err(|source| Fault::Start { what: line.to_owned(), source })?) {
            0 => Ok(()),
            code => Err(Fault::Command { command: line.to_owned(), code }),
        }
    }

    /// Returns a command that runs in the worktree, without input.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.cwd).stdin(Stdio::null()).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns a variable of the agent's environment.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let given = self.env.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone());
        given.or_else(|| std::env::var(name).ok())
    }

    /// Adds `text` to a file of the worktree.
    pub(super) fn append(&self, path: &InnerPath, text: &str) -> Result<(), Fault> {
        let path = self.cwd.join(path.as_path());
        let opened = make_room(&path).and_then(|()| regular::append(&path));
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| Fault::File { verb: "append to", path, source })
    }
}

/// Runs a command to its end, with `input` if there is any.
fn fed(mut command: Command, input: Option<&str>) -> io::Result<std::process::Output> {
    let Some(text) = input else { return command.output() };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read what it is given says so by its exit code.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait_with_output()
}

/// Makes the directories above `path`.
pub(super) fn make_room(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
