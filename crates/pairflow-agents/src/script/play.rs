//! Plays one turn of a scripted agent: its steps in order, inside the worktree.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::misbehave::misbehave;
use super::model::{InnerPath, NoSuchTurn, Refused, Script, Step, Verb, Write};
use super::progress::Progress;
use super::verbs;
use pairflow_engine::regular;

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

/// Plays a turn and returns the exit code for the process. Says on `out` what went wrong.
pub fn play(turn: &Turn<'_>, out: &mut dyn io::Write) -> i32 {
    let fault = match turn.play(out) {
        Ok(code) => return code,
        Err(fault) => fault,
    };
    // If even this cannot be printed, the exit code has to say it alone.
    let _ = writeln!(out, "{}, turn {}: {fault}", turn.agent, turn.n);
    match fault {
        Fault::Refused { code, .. } => code,
        _ => 3,
    }
}

impl Turn<'_> {
    fn play(&self, out: &mut dyn io::Write) -> Result<i32, Fault> {
        let steps = self.script.turn(self.agent, self.n)?;
        let noted = |source| Fault::File { verb: "note progress in", path: self.state_dir.to_owned(), source };
        let mut progress = Progress::load(self.state_dir, self.agent, self.n).map_err(noted)?;
        if progress.done() >= steps.len() {
            writeln!(out, "all {} steps of turn {} were done before", steps.len(), self.n)?;
        }
        for step in steps.iter().skip(progress.done()) {
            // Misbehaviour happens once: an agent that is started again after its crash goes on behind it.
            let early = matches!(step, Step::Misbehave(_));
            if early {
                progress.step().map_err(noted)?;
            }
            let next = self.take(step, out)?;
            if !early {
                progress.step().map_err(noted)?;
            }
            if let Next::End(code) = next {
                return Ok(code);
            }
        }
        Ok(0)
    }

    fn take(&self, step: &Step, out: &mut dyn io::Write) -> Result<Next, Fault> {
        match step {
            Step::Write(file) => self.write(file)?,
            Step::Append(more) => self.append(&more.path, &more.text)?,
            Step::Delete(path) => self.delete(path)?,
            Step::Run(line) => self.run(line, out)?,
            Step::WaitMs(millis) => std::thread::sleep(Duration::from_millis(*millis)),
            Step::Print(text) => writeln!(out, "{text}")?,
            Step::ExpectRefused(refused) => self.expect_refused(refused, out)?,
            Step::Misbehave(how) => return misbehave(self, how, out),
            Step::Pass(pass) => {
                for _ in 0..pass.repeat.unwrap_or(1) {
                    self.say(step, out)?;
                }
            }
            Step::Converged(_) => self.say(step, out)?,
            Step::AskHuman(_) => {
                self.say(step, out)?;
                return Ok(Next::End(0));
            }
        }
        Ok(Next::Step)
    }

    fn say(&self, step: &Step, out: &mut dyn io::Write) -> Result<(), Fault> {
        let Some(verb) = verbs::of_step(step) else { return Ok(()) };
        match self.call(&verb, out)? {
            0 => Ok(()),
            code => Err(Fault::Refused { verb: verbs::name(&verb).to_owned(), code }),
        }
    }

    fn expect_refused(&self, refused: &Refused, out: &mut dyn io::Write) -> Result<(), Fault> {
        let code = self.call(&refused.verb, out)?;
        if code == refused.code {
            return Ok(());
        }
        Err(Fault::NotRefused { verb: verbs::name(&refused.verb).to_owned(), code, expected: refused.code })
    }

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

    fn write(&self, file: &Write) -> Result<(), Fault> {
        let path = self.cwd.join(file.path.as_path());
        let written =
            make_room(&path).and_then(|()| regular::write(&path, &file.text)).and_then(|()| match file.mode {
                Some(mode) => fs::set_permissions(&path, fs::Permissions::from_mode(mode.0)),
                None => Ok(()),
            });
        written.map_err(|source| Fault::File { verb: "write", path, source })
    }

    pub(super) fn append(&self, path: &InnerPath, text: &str) -> Result<(), Fault> {
        let path = self.cwd.join(path.as_path());
        let opened = make_room(&path).and_then(|()| regular::append(&path));
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| Fault::File { verb: "append to", path, source })
    }

    fn delete(&self, path: &InnerPath) -> Result<(), Fault> {
        let path = self.cwd.join(path.as_path());
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
        let deleted = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        deleted.map_err(|source| Fault::File { verb: "delete", path, source })
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

fn make_room(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
