//! Starts a supervisor in the background when a command needs one.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::client::{Client, NoReply};
use super::protocol::Ask;
use crate::caller::Namespaces;
use crate::engine::{Engine, EngineError, UserDirs};
use crate::local_socket::private_dir;
use crate::store::storage::cause;

/// How long a new supervisor may take to answer, once the one before it is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often one is started that ends at once.
const TRIES: u32 = 3;
/// How long the log may be before a new supervisor begins another, in bytes.
const LONGEST_LOG: u64 = 1024 * 1024;

/// Starts a supervisor in the background, detached from this terminal, and waits until it answers.
///
/// One that hangs is replaced by the new one, after its time limit.
pub fn spawn(engine: &Engine, program: &Path) -> Result<(), EngineError> {
    let (client, dirs) = (Client::new(engine), &engine.dirs);
    let until = Instant::now() + engine.limits.hung_supervisor + PATIENCE;
    let mut child: Option<Child> = None;
    let mut tries = 0;
    // An answer counts, not an open socket: a process that was just killed still has one.
    loop {
        match client.ask(&Ask::Status) {
            Ok(_) => return Ok(()),
            Err(NoReply::Refused(sentence)) => return Err(EngineError::BadInput(sentence)),
            Err(NoReply::Absent | NoReply::Silent) => {}
        }
        Namespaces::insist(dirs).map_err(|elsewhere| EngineError::BadInput(elsewhere.to_string()))?;
        // One that met another supervisor ends at once, and that other one may be ending, too.
        let gone = child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
        if gone && tries < TRIES {
            child = Some(detached(dirs, program).map_err(failed)?);
            tries += 1;
        } else if gone || Instant::now() >= until {
            let why = format!("it did not answer; see {}, or run 'pairflow doctor'", log(dirs).display());
            return Err(failed(io::Error::new(io::ErrorKind::TimedOut, why)));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn detached(dirs: &UserDirs, program: &Path) -> io::Result<Child> {
    let named = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| io::Error::new(error.kind(), format!("cannot write {path}: {}", cause(&error)))
    };
    private_dir(&dirs.state).map_err(named(&dirs.state))?;
    let log = log(dirs);
    let out = make_room(&log).and_then(|()| crate::regular::append(&log)).map_err(named(&log))?;
    let err = out.try_clone()?;
    Command::new(program)
        .args(["supervise", "--detached"])
        .env_remove("PAIRFLOW_BUBBLE")
        .env_remove("PAIRFLOW_AGENT")
        .env_remove("PAIRFLOW_TOKEN")
        .env_remove("PAIRFLOW_SOCKET")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
}

/// A log that has become long gives way to a new one, and takes the place of the one before it.
fn make_room(log: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(log) {
        Ok(meta) if meta.len() >= LONGEST_LOG => std::fs::rename(log, log.with_extension("log.1")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn log(dirs: &UserDirs) -> PathBuf {
    dirs.state.join("supervisor.log")
}

fn failed(error: io::Error) -> EngineError {
    EngineError::io("cannot start the supervisor in the background", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_gives_way_to_a_new_one_and_the_one_before_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("supervisor.log");
        make_room(&log).unwrap();
        for (fill, kept) in [(LONGEST_LOG - 1, None), (LONGEST_LOG, Some(LONGEST_LOG)), (3, Some(LONGEST_LOG))] {
            std::fs::File::create(&log).unwrap().set_len(fill).unwrap();
            make_room(&log).unwrap();
            assert_eq!(log.exists(), fill < LONGEST_LOG);
            let older = std::fs::metadata(dir.path().join("supervisor.log.1")).ok().map(|meta| meta.len());
            assert_eq!(older, kept, "{fill}");
        }
    }
}
