//! A proof that only computes, begun ahead of its turn: it takes what the tests, which mostly wait, leave of the machine.

use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use tempfile::TempDir;

use crate::{proof, say};

/// How long to wait before looking again whether a process has ended.
const LOOK: Duration = Duration::from_millis(100);

/// A proof under way. Dropped before its end, it is given up.
pub(crate) struct Ahead {
    running: Arc<Mutex<Running>>,
    worker: Option<JoinHandle<anyhow::Result<()>>>,
    dir: TempDir,
}

#[derive(Default)]
struct Running {
    child: Option<Child>,
    given_up: bool,
}

impl Ahead {
    /// Begins to build and to run the proof `name`, at the lowest priority.
    pub(crate) fn begin(name: &str) -> anyhow::Result<Self> {
        Self::of(name, [proof::build(), proof::inner(name, &[])])
    }

    /// Begins to run these commands, one after the other.
    fn of<const N: usize>(name: &str, commands: [Command; N]) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir().context("cannot make a directory for what a proof says")?;
        let said = File::create(dir.path().join("said")).context("cannot keep what a proof says")?;
        let running = Arc::<Mutex<Running>>::default();
        let shared = Arc::clone(&running);
        let work = move || commands.iter().try_for_each(|command| follow(command, &said, &shared));
        let worker = std::thread::Builder::new().name(name.to_owned()).spawn(work).context("cannot begin a thread")?;
        Ok(Self { running, worker: Some(worker), dir })
    }

    /// Waits for the end of the proof, and prints what it said.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let ended = self.worker.take().map(JoinHandle::join);
        let said = std::fs::read_to_string(self.dir.path().join("said")).context("cannot read what a proof said")?;
        say::line(format_args!("{}", said.trim_end()));
        ended.unwrap_or_else(|| Ok(Ok(()))).map_err(|_| anyhow!("the proof panicked"))?
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.given_up = true;
        // It may have ended already.
        let _ = running.child.as_mut().map(Child::kill);
        drop(running);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// Runs one command to its end.
fn follow(command: &Command, said: &File, running: &Mutex<Running>) -> anyhow::Result<()> {
    let (out, err) = (said.try_clone().context("said")?, said.try_clone().context("said")?);
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    nice.current_dir(crate::tidy::root()).stdout(out).stderr(err);
    let mut slot = running.lock().unwrap_or_else(PoisonError::into_inner);
    ensure!(!slot.given_up, "the proof was given up");
    slot.child = Some(nice.spawn().context("cannot start nice")?);
    drop(slot);
    let status = loop {
        if let Some(status) = ended(running)? {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    ensure!(status.success(), "a promise is broken, see above");
    Ok(())
}

fn ended(running: &Mutex<Running>) -> anyhow::Result<Option<ExitStatus>> {
    let mut slot = running.lock().unwrap_or_else(PoisonError::into_inner);
    let child = slot.child.as_mut().context("no process was started")?;
    child.try_wait().context("cannot wait for a process")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn the_first_command_that_fails_ends_the_proof() {
        let dir = tempfile::tempdir().unwrap();
        let mark = |name: &str| shell(&format!("touch '{}'", dir.path().join(name).display()));
        let ended = Ahead::of("proof", [mark("first"), shell("exit 3"), mark("last")]).unwrap().finish();
        assert_eq!(ended.unwrap_err().to_string(), "a promise is broken, see above");
        assert_eq!((dir.path().join("first").exists(), dir.path().join("last").exists()), (true, false));
        Ahead::of("proof", [mark("last")]).unwrap().finish().unwrap();
        assert!(dir.path().join("last").exists());
    }

    #[test]
    fn a_proof_that_is_given_up_leaves_nothing_running() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!("echo $$ >'{0}.new'; mv '{0}.new' '{0}'; exec sleep 600", pid.display());
        let ahead = Ahead::of("proof", [shell(&script)]).unwrap();
        while !pid.exists() {
            std::thread::yield_now();
        }
        drop(ahead);
        let pid = std::fs::read_to_string(pid).unwrap();
        let alive = Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap();
        assert!(!alive.success(), "{pid} is still running");
    }
}
