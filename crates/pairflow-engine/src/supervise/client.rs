//! The other end of the supervisor's socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use pairflow_core::unit::Unit;
use serde::{Deserialize, Serialize};

use super::socket::{Ask, lock_path, socket_path};
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

    /// Opens a line to the supervisor; nothing if there is none.
    pub fn call(&self) -> Option<Line> {
        UnixStream::connect(socket_path(self.dirs)).ok().map(Line)
    }

    /// Asks; returns nothing when nobody answers.
    pub fn ask(&self, ask: &Ask) -> Option<Reply> {
        let line = self.call()?;
        line.0.set_read_timeout(Some(Duration::from_secs(6))).ok()?;
        line.say(ask).ok()?;
        let mut reply = String::new();
        BufReader::new(line.0).read_line(&mut reply).ok()?;
        serde_json::from_str(&reply).ok()
    }

    /// Whether a supervisor is there.
    pub fn is_there(&self) -> bool {
        self.call().is_some()
    }

    /// Ends the supervisor and returns once it is gone; nothing if there was none that could be told.
    pub fn stop(&self, patience: Duration) -> Option<Reply> {
        let reply = self.ask(&Ask::Stop);
        let until = Instant::now() + patience;
        // It holds its lock until all that it started has ended, and does not answer meanwhile.
        let held = || std::fs::File::open(lock_path(self.dirs)).is_ok_and(|lock| lock.try_lock_shared().is_err());
        let pid = reply.as_ref().map(|reply| reply.pid);
        let replaced = || self.ask(&Ask::Status).is_some_and(|now| Some(now.pid) != pid);
        while held() && !replaced() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        reply
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    pub fn wake(&self, bubble: &Bubble) -> bool {
        self.ask(&look_at(bubble, Vec::new())).is_some()
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    ///
    /// From here on its agents are started in the environment of this process, as far as agents get any of it.
    pub fn wake_at_home(&self, bubble: &Bubble) -> bool {
        self.ask(&look_at(bubble, crate::process::environment())).is_some()
    }
}

/// An open line to the supervisor.
#[derive(Debug)]
pub struct Line(UnixStream);

impl Line {
    /// Tells the supervisor to look at a bubble, and waits for no answer. Says whether the line still held.
    pub fn wake(&self, bubble: &Bubble) -> bool {
        self.say(&look_at(bubble, Vec::new())).is_ok()
    }

    fn say(&self, ask: &Ask) -> std::io::Result<()> {
        let line = serde_json::to_string(ask)?;
        (&self.0).write_all(format!("{line}\n").as_bytes())
    }
}

fn look_at(bubble: &Bubble, env: Vec<(String, String)>) -> Ask {
    Ask::Wake { repo: bubble.control.repo().to_owned(), id: bubble.id.clone(), env }
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
        if done(&seen.unit).is_some()
            && let Some(result) = done(&bubble.settled()?.unit)
        {
            return Ok(Some(result));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        bubble.log().wait_past(&seen.head, Duration::from_millis(5));
    }
}
