//! The lock that only one supervisor of a user can hold, and what its holder wrote into it.
//!
//! The kernel frees the lock with its holder, so a lock that is held means a living process. One that holds it and
//! does not answer hangs: it is ended by force once the limit has passed. That loses nothing, as after any other kill.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::caller::Namespaces;
use crate::engine::{Engine, EngineError, UserDirs};
use crate::limits::Limits;
use crate::process::ProcessIdentity;
use crate::regular;
use crate::store::lock_holders;

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(6);
/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the kernel may take to free the lock of a process that was ended.
const FREED: Duration = Duration::from_secs(5);
/// The most that is read of the file, in bytes.
const MAX_HOLDER: u64 = 64 * 1024;
/// What every supervisor is started with.
const ARGUMENT: &str = "supervise";

/// What the holder of the lock wrote into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    process: ProcessIdentity,
    namespaces: Option<Namespaces>,
}

/// How long an answer is waited for.
pub(super) fn answer_limit(limits: Limits) -> Duration {
    ANSWER.min(limits.hung_supervisor)
}

/// Takes the lock. A supervisor that is ending frees it soon; one that hangs is replaced. `answers` says
/// whether the supervisor that has the lock answers.
pub(crate) fn take(engine: &Engine, answers: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<File, EngineError> {
    let (dirs, limit) = (&engine.dirs, engine.limits.hung_supervisor);
    let failed = |error| EngineError::io("cannot open the supervisor's lock", error);
    let mut file = regular::open_to_lock(&path(dirs)).map_err(failed)?;
    let mut silent = (holder(dirs), Instant::now());
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if answers() {
            return Err(EngineError::BadInput("a supervisor is already running".to_owned()));
        }
        let now = holder(dirs);
        if now != silent.0 {
            silent = (now, Instant::now());
        } else if silent.1.elapsed() >= limit {
            let pid = end(dirs)?;
            say(&format!("the supervisor, process {pid}, did not answer for {} s and was ended", limit.as_secs()));
            silent.1 = Instant::now();
        }
        std::thread::sleep(PAUSE);
    }
    let holder = ProcessIdentity::own().map(|process| Holder { process, namespaces: Namespaces::own() });
    let text = holder.map(|holder| serde_json::to_vec(&holder)).transpose().map_err(|error| failed(error.into()))?;
    file.set_len(0).and_then(|()| file.write_all(&text.unwrap_or_default())).map_err(failed)?;
    Ok(file)
}

/// Whether a supervisor holds the lock.
pub(super) fn is_held(dirs: &UserDirs) -> bool {
    let held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    regular::open(&path(dirs)).is_ok_and(held)
}

/// Returns the process that holds the lock, if it is held and its holder can be told.
pub(super) fn holder_pid(dirs: &UserDirs) -> Option<u32> {
    let recorded = holder(dirs).and_then(|holder| u32::try_from(holder.process.pid).ok());
    recorded.or_else(|| lock_holders(&path(dirs)).first().copied())
}

/// Ends the holder of the lock by force and returns its number, once the lock is free.
///
/// It has to be the process that wrote itself into the lock, a supervisor of this user in these namespaces, and, where
/// the kernel tells, the one that holds the lock.
pub(super) fn end(dirs: &UserDirs) -> Result<i32, EngineError> {
    let holder = holder(dirs).filter(|holder| holder.namespaces == Namespaces::own());
    let told = lock_holders(&path(dirs));
    let holds = |holder: &Holder| u32::try_from(holder.process.pid).is_ok_and(|pid| told.contains(&pid));
    let holder = holder.filter(|holder| told.is_empty() || holds(holder));
    let ended = holder.filter(|holder| holder.process.kill(ARGUMENT));
    let until = Instant::now() + FREED;
    while ended.is_some() && is_held(dirs) && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
    ended.map(|holder| holder.process.pid).ok_or_else(|| {
        let pid = holder_pid(dirs).map(|pid| format!(", process {pid},")).unwrap_or_default();
        EngineError::Effect(format!(
            "the supervisor{pid} does not answer and cannot be told apart from other processes; end it, then run 'pairflow supervise'"
        ))
    })
}

fn holder(dirs: &UserDirs) -> Option<Holder> {
    serde_json::from_slice(&regular::read_up_to(&path(dirs), MAX_HOLDER).ok()?).ok()
}

fn path(dirs: &UserDirs) -> PathBuf {
    dirs.runtime.join("supervisor.lock")
}
