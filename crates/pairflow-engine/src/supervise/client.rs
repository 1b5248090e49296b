//! The other end of the supervisor's socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pairflow_core::unit::Unit;
use serde::{Deserialize, Serialize};

use super::socket::{Ask, lock_path, private_dir, socket_path};
use crate::engine::{Bubble, EngineError, UserDirs};

/// What the supervisor answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
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

/// A way to reach the supervisor.
pub struct Client<'a> {
    dirs: &'a UserDirs,
}

impl<'a> Client<'a> {
    /// Names the supervisor of the user with these directories.
    pub fn new(dirs: &'a UserDirs) -> Self {
        Self { dirs }
    }

    /// Asks; returns nothing when nobody answers.
    pub fn ask(&self, ask: &Ask) -> Option<Reply> {
        let mut stream = UnixStream::connect(socket_path(self.dirs)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(6))).ok()?;
        let line = serde_json::to_string(ask).ok()?;
        stream.write_all(line.as_bytes()).and_then(|()| stream.write_all(b"\n")).ok()?;
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply).ok()?;
        serde_json::from_str(&reply).ok()
    }

    /// Whether a supervisor is there.
    pub fn is_there(&self) -> bool {
        UnixStream::connect(socket_path(self.dirs)).is_ok()
    }

    /// Ends the supervisor and returns once it is gone; nothing if there was none.
    pub fn stop(&self, patience: Duration) -> Option<Reply> {
        let reply = self.ask(&Ask::Stop)?;
        let until = Instant::now() + patience;
        // It holds its lock until all that it started has ended.
        let held = || std::fs::File::open(lock_path(self.dirs)).is_ok_and(|lock| lock.try_lock().is_err());
        while held() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(reply)
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    pub fn wake(&self, bubble: &Bubble) -> bool {
        self.ask(&Ask::Wake { repo: bubble.control.repo().to_owned(), id: bubble.id.clone() }).is_some()
    }
}

/// Starts a supervisor in the background, detached from this terminal, and waits until it answers.
pub fn spawn(dirs: &UserDirs, program: &Path) -> Result<(), EngineError> {
    let client = Client::new(dirs);
    if client.is_there() {
        return Ok(());
    }
    let failed = |error| EngineError::world("cannot start the supervisor in the background", error);
    private_dir(&dirs.state).map_err(failed)?;
    let log = dirs.state.join("supervisor.log");
    let out = std::fs::OpenOptions::new().create(true).append(true).open(&log).map_err(failed)?;
    let err = out.try_clone().map_err(failed)?;
    let mut child = Command::new(program)
        .args(["supervise", "--detached"])
        .env_remove("PAIRFLOW_BUBBLE")
        .env_remove("PAIRFLOW_AGENT")
        .env_remove("PAIRFLOW_TOKEN")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(failed)?;
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if client.is_there() {
            return Ok(());
        }
        // Another process may have been faster; then ours ends at once and the other one answers soon.
        let _ = child.try_wait();
        std::thread::sleep(Duration::from_millis(5));
    }
    let why = std::io::Error::new(std::io::ErrorKind::TimedOut, format!("it did not answer; see {}", log.display()));
    Err(failed(why))
}

/// Waits until `done` says something about the bubble's state; returns nothing when the time is up.
pub fn wait_until<T>(
    bubble: &Bubble,
    patience: Duration,
    mut done: impl FnMut(&Unit) -> Option<T>,
) -> Result<Option<T>, EngineError> {
    let until = Instant::now() + patience;
    loop {
        let seen = bubble.load()?;
        if let Some(result) = done(&seen.unit) {
            return Ok(Some(result));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        bubble.log().wait_past(&seen.head, Duration::from_millis(5));
    }
}
