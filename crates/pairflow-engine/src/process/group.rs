//! Starts a program as the first process of its own group, behind a gate: it runs only once it is on record.
//!
//! Between the start of a process and the note that it exists lies a moment in which we may die. So what is started is
//! a shell that waits for one line; when we are gone, it reads the end of its input and goes as well.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::environment::inherited;
use super::job::{CommandLine, Job};
use super::registry::{self, Kind, MARK, Record};
use super::stat;

const SHELL: &str = "/bin/sh";
const GATE: &str = r#"read -r gate && exec "$@" </dev/null"#;

/// A started process group, and the pipe that closes when its first process has ended.
pub(super) struct Group {
    child: Child,
    pub(super) record: Record,
    file: Option<PathBuf>,
    pub(super) exit: PipeReader,
}

impl Group {
    /// Starts `job` with both of its outputs going into `output`.
    pub(super) fn start(job: &Job, output: PipeWriter) -> Result<Self, String> {
        let mark = fresh_mark();
        let mut command = gated(job, &mark, output).map_err(|error| cannot(job, &error))?;
        let mut child = command.spawn().map_err(|error| cannot(job, &error))?;
        // Our copies of the output's writing end live in `command`; the reader waits for their end.
        drop(command);
        let record = record_of(job, &child, mark);
        match admit(job, &mut child, &record) {
            Ok((exit, file)) => Ok(Self { child, record, file, exit }),
            Err(why) => {
                // The gate was not opened, so nothing but the waiting shell has run; `wait` closes its input first.
                let _ = child.wait();
                Err(why)
            }
        }
    }

    /// Waits for the first process, which has ended, and takes the group off the record.
    pub(super) fn bury(mut self) -> Option<ExitStatus> {
        let status = self.child.wait().ok();
        if let Some(file) = &self.file {
            // A record that stays behind names a process that is gone, so the next reap drops it.
            let _ = registry::remove(file);
        }
        status
    }
}

/// Puts the waiting shell on record and lets it go on.
fn admit(job: &Job, child: &mut Child, record: &Record) -> Result<(PipeReader, Option<PathBuf>), String> {
    let exit = watch(child.id()).map_err(|error| cannot(job, &error))?;
    let file = match &job.registry {
        Some(registration) => Some(registry::write(&registration.dir, record).map_err(|error| error.to_string())?),
        None => None,
    };
    let mut gate = child.stdin.take().expect("the gate is piped and opened once");
    gate.write_all(b"go\n").map_err(|error| cannot(job, &error))?;
    Ok((exit, file))
}

fn gated(job: &Job, mark: &str, output: PipeWriter) -> io::Result<Command> {
    let mut command = Command::new(SHELL);
    command.args(["-c", GATE, "sh"]);
    match &job.command {
        CommandLine::Shell(line) => command.args([SHELL, "-c", line]),
        CommandLine::Argv(words) => command.args(words),
    };
    command.current_dir(&job.cwd);
    command.env_clear().envs(inherited(std::env::vars_os()));
    command.envs(job.env.iter().map(|(name, value)| (name, value))).env(MARK, mark);
    command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output).process_group(0);
    Ok(command)
}

/// Returns a pipe that is closed when process `id` has ended. The process is left for us to wait for, so that its id
/// stays ours until we have dealt with the rest of its group.
fn watch(id: u32) -> io::Result<PipeReader> {
    let (exit, alive) = io::pipe()?;
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a child's id is a positive number that fits the kernel's type");
    std::thread::Builder::new().name(format!("wait-{id}")).spawn(move || {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(rustix::process::waitid(WaitId::Pid(pid), ended), Err(Errno::INTR)) {}
        drop(alive);
    })?;
    Ok(exit)
}

fn record_of(job: &Job, child: &Child, mark: String) -> Record {
    let pid = i32::try_from(child.id()).unwrap_or_default();
    let start = stat::of(pid).map(|stat| stat.start).unwrap_or_default();
    let (kind, what) = match &job.registry {
        Some(registration) => (registration.kind, registration.what.clone()),
        None => (Kind::Check, job.command.to_string()),
    };
    Record { kind, what, pid, start, boot: stat::boot(), mark }
}

/// Returns a mark that no other group of this boot has.
pub fn fresh_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let id = std::process::id();
    let start = i32::try_from(id).ok().and_then(stat::of).map(|stat| stat.start).unwrap_or_default();
    format!("{id}.{start}.{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn cannot(job: &Job, error: &io::Error) -> String {
    format!("cannot start `{}` in {}: {error}", job.command, job.cwd.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_when_the_starter_dies_before_the_group_is_on_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut shell = Command::new(SHELL);
        shell.args(["-c", GATE, "sh", "touch", "ran"]).current_dir(dir.path()).stdin(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        // What the kernel does to our end of the gate when we die.
        drop(child.stdin.take());
        assert!(!child.wait().unwrap().success());
        assert!(!dir.path().join("ran").exists());
    }
}
