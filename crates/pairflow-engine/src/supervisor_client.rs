//! The supervisor as commands see it: how it is asked, started and ended.
//!
//! What it does when asked is not known here.

use std::fs::{File, TryLockError};
use std::io;
use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pairflow_core::ids::BubbleId;
use serde::{Deserialize, Serialize};

use crate::caller::Namespaces;
use crate::engine::{Bubble, Engine, EngineError, UserDirs};
use crate::limits::Limits;
use crate::local_socket::{LineReader, dial, fitting, private_dir, write};
use crate::process::ProcessIdentity;
use crate::regular;
use crate::store::lock_holders;
use crate::store::storage::cause;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoReply {
    /// No supervisor listens.
    Absent,
    /// It listens but does not answer in time.
    Silent,
    /// It refuses, with this reason.
    Refused(String),
}

/// The health of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// None is running.
    Absent,
    /// It answers.
    Answers(SupervisorStatus),
    /// It holds its lock but does not answer. Its process, if known.
    Hangs(Option<u32>),
}

/// The result of stopping the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// None was running.
    Absent,
    /// It ended by itself.
    Ended(SupervisorStatus),
    /// It did not answer and was killed.
    Killed(i32),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ReplyLine {
    Status(SupervisorStatus),
    Refused(RefusalLine),
}

/// A way to reach the supervisor.
pub struct Client<'a> {
    dirs: &'a UserDirs,
    limits: Limits,
}

impl<'a> Client<'a> {
    /// Names the supervisor of the engine's user.
    pub fn new(engine: &'a Engine) -> Self {
        Self { dirs: &engine.dirs, limits: engine.limits }
    }

    /// Connects to the supervisor; `None` if there is none.
    pub fn call(&self) -> Option<SupervisorConnection> {
        dial(&socket_path(self.dirs)).ok().map(SupervisorConnection)
    }

    /// Sends a request, and waits a limited time for the reply.
    pub fn ask(&self, ask: &SupervisorRequest) -> Result<SupervisorStatus, NoReply> {
        let stream = dial(&socket_path(self.dirs)).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => NoReply::Silent,
            _ => NoReply::Absent,
        })?;
        write(&stream, ask).map_err(|_| NoReply::Silent)?;
        match LineReader::new(&stream, answer_limit(self.limits)).read() {
            Ok(ReplyLine::Status(reply)) => Ok(reply),
            Ok(ReplyLine::Refused(RefusalLine { error })) => Err(NoReply::Refused(error)),
            Err(_) => Err(NoReply::Silent),
        }
    }

    /// Whether a supervisor is running, even one that hangs.
    pub fn is_there(&self) -> bool {
        self.call().is_some()
    }

    /// Returns the health of the supervisor. One that is starting or ending gets a moment.
    pub fn health(&self) -> Health {
        let until = Instant::now() + answer_limit(self.limits);
        loop {
            match self.ask(&SupervisorRequest::Status) {
                Ok(reply) => return Health::Answers(reply),
                Err(_) if !is_held(self.dirs) => return Health::Absent,
                Err(_) if Instant::now() >= until => return Health::Hangs(holder_pid(self.dirs)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Ends the supervisor and returns once it is gone, at the latest after `patience`. One that hangs is killed.
    pub fn stop(&self, patience: Duration) -> Result<Stopped, EngineError> {
        let until = Instant::now() + self.limits.hung_supervisor;
        loop {
            match self.ask(&SupervisorRequest::Stop) {
                Ok(reply) => {
                    self.wait_for_end(&reply, patience);
                    return Ok(Stopped::Ended(reply));
                }
                Err(NoReply::Refused(sentence)) => return Err(EngineError::BadInput(sentence)),
                Err(_) if !is_held(self.dirs) => return Ok(Stopped::Absent),
                Err(_) if Instant::now() >= until => return kill_holder(self.dirs).map(Stopped::Killed),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Waits until the supervisor that replied is gone: it holds its lock until all that it started has ended.
    fn wait_for_end(&self, said: &SupervisorStatus, patience: Duration) {
        let until = Instant::now() + patience;
        let replaced = || self.ask(&SupervisorRequest::Status).is_ok_and(|now| now.pid != said.pid);
        while is_held(self.dirs) && !replaced() && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    pub fn wake(&self, bubble: &Bubble) -> Result<SupervisorStatus, NoReply> {
        self.ask(&look_at(bubble, Vec::new()))
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    ///
    /// From now on its agents are started in the environment of this process.
    pub fn wake_with_environment(&self, bubble: &Bubble) -> Result<SupervisorStatus, NoReply> {
        self.ask(&look_at(bubble, crate::process::environment()))
    }
}

/// An open connection to the supervisor.
#[derive(Debug)]
pub struct SupervisorConnection(UnixStream);

impl SupervisorConnection {
    /// Tells the supervisor to look at a bubble without waiting for a reply. Returns whether it could be sent.
    pub fn wake(&self, bubble: &Bubble) -> bool {
        write(&self.0, &look_at(bubble, Vec::new())).is_ok()
    }
}

fn look_at(bubble: &Bubble, env: Vec<(String, String)>) -> SupervisorRequest {
    SupervisorRequest::Wake { repo: bubble.control.repo().to_owned(), id: bubble.id.clone(), env }
}

/// A request to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum SupervisorRequest {
    /// Look at this bubble now.
    Wake {
        /// Its repository.
        repo: PathBuf,
        /// Its name.
        id: BubbleId,
        /// The environment of the person who asks, in which agents are started from here on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<(String, String)>,
    },
    /// Report the status.
    Status,
    /// Stop.
    Stop,
}

/// The line for a caller that is refused.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RefusalLine {
    /// Why, as a sentence.
    pub error: String,
}

/// The supervisor's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorStatus {
    /// Its process.
    pub pid: u32,
    /// The version of pairflow that it runs.
    pub version: String,
    /// How many bubbles it looks after.
    pub bubbles: usize,
    /// How many of them it is working on right now.
    pub busy: usize,
    /// How many agents it keeps running.
    pub agents: usize,
}

/// Returns the path of the supervisor's socket. A path that is too long is replaced by a short one.
pub fn socket_path(dirs: &UserDirs) -> PathBuf {
    fitting(&dirs.runtime.join("supervisor.sock"))
}

/// How long a new supervisor may take to reply, once the one before is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a supervisor that ends at once is started.
const TRIES: u32 = 3;
/// How long the log may be before a new supervisor rotates it, in bytes.
const LONGEST_LOG: u64 = 1024 * 1024;

/// Starts a supervisor in the background, detached from this terminal, and waits until it replies.
///
/// One that hangs is replaced after its time limit.
pub fn spawn(engine: &Engine, program: &Path) -> Result<(), EngineError> {
    let (client, dirs) = (Client::new(engine), &engine.dirs);
    let until = Instant::now() + engine.limits.hung_supervisor + PATIENCE;
    let mut child: Option<Child> = None;
    let mut tries = 0;
    // Only a reply counts: a process that was just killed still has an open socket.
    loop {
        match client.ask(&SupervisorRequest::Status) {
            Ok(_) => return Ok(()),
            Err(NoReply::Refused(sentence)) => return Err(EngineError::BadInput(sentence)),
            Err(NoReply::Absent | NoReply::Silent) => {}
        }
        Namespaces::insist(dirs).map_err(|elsewhere| EngineError::BadInput(elsewhere.to_string()))?;
        // A supervisor that finds another one ends at once, and that other one may be ending, too.
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

/// Rotates a log that is too long.
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

/// How long one reply may take.
const ANSWER: Duration = Duration::from_secs(6);
/// How long the kernel may take to release the lock of a killed process.
const FREED: Duration = Duration::from_secs(5);
/// How much of the lock file is read, in bytes.
const MAX_HOLDER: u64 = 64 * 1024;
/// What every supervisor is started with.
const ARGUMENT: &str = "supervise";

/// The holder of the lock, as written into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    process: ProcessIdentity,
    namespaces: Option<Namespaces>,
}

/// Returns how long to wait for a reply.
fn answer_limit(limits: Limits) -> Duration {
    ANSWER.min(limits.hung_supervisor)
}

/// Takes the lock that only one supervisor of a user can hold. One that is ending releases it soon; one that holds it and
/// does not answer hangs and is killed after a while, which loses nothing. `answers` says whether the holder replies.
pub(crate) fn take_lock(engine: &Engine, answers: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<File, EngineError> {
    let (dirs, limit) = (&engine.dirs, engine.limits.hung_supervisor);
    let failed = |error| EngineError::io("cannot open the supervisor's lock", error);
    let mut file = regular::open_to_lock(&lock_path(dirs)).map_err(failed)?;
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
            let pid = kill_holder(dirs)?;
            say(&format!("the supervisor, process {pid}, did not answer for {} s and was killed", limit.as_secs()));
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
fn is_held(dirs: &UserDirs) -> bool {
    let held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    regular::open(&lock_path(dirs)).is_ok_and(held)
}

/// Returns the process that holds the lock, if known.
fn holder_pid(dirs: &UserDirs) -> Option<u32> {
    let recorded = holder(dirs).and_then(|holder| u32::try_from(holder.process.pid).ok());
    recorded.or_else(|| lock_holders(&lock_path(dirs)).first().copied())
}

/// Kills the holder of the lock and returns its process id, once the lock is free.
///
/// It has to be the process that wrote itself into the lock, a supervisor of this user in these namespaces, and, where
/// the kernel tells, the holder of the lock.
fn kill_holder(dirs: &UserDirs) -> Result<i32, EngineError> {
    let holder = holder(dirs).filter(|holder| holder.namespaces == Namespaces::own());
    let told = lock_holders(&lock_path(dirs));
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
            "the supervisor{pid} does not answer and cannot be identified with certainty; end it, then run 'pairflow supervise'"
        ))
    })
}

fn holder(dirs: &UserDirs) -> Option<Holder> {
    serde_json::from_slice(&regular::read_up_to(&lock_path(dirs), MAX_HOLDER).ok()?).ok()
}

fn lock_path(dirs: &UserDirs) -> PathBuf {
    dirs.runtime.join("supervisor.lock")
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
