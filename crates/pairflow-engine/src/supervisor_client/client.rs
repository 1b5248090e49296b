//! The other end of the supervisor's socket.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::lock;
use super::protocol::{Ask, Refused, Reply, socket_path};
use crate::engine::{Bubble, Engine, EngineError, UserDirs};
use crate::limits::Limits;
use crate::local_socket::{LineReader, dial, write};

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoReply {
    /// Nobody listens.
    Absent,
    /// Somebody listens and says nothing in time.
    Silent,
    /// The supervisor refuses, with this sentence.
    Refused(String),
}

/// How the supervisor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// None is running.
    Absent,
    /// It answers.
    Answers(Reply),
    /// It holds its lock and does not answer. Its process, if that is known.
    Hangs(Option<u32>),
}

/// What became of a supervisor that was to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// None was running.
    Absent,
    /// It ended by itself.
    Ended(Reply),
    /// It did not answer and was ended by force.
    Killed(i32),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Reply(Reply),
    Refused(Refused),
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

    /// Opens a line to the supervisor; nothing if there is none.
    pub fn call(&self) -> Option<Line> {
        dial(&socket_path(self.dirs)).ok().map(Line)
    }

    /// Asks, and waits a limited time for the answer.
    pub fn ask(&self, ask: &Ask) -> Result<Reply, NoReply> {
        let stream = dial(&socket_path(self.dirs)).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => NoReply::Silent,
            _ => NoReply::Absent,
        })?;
        write(&stream, ask).map_err(|_| NoReply::Silent)?;
        match LineReader::new(&stream, lock::answer_limit(self.limits)).read() {
            Ok(Answer::Reply(reply)) => Ok(reply),
            Ok(Answer::Refused(Refused { error })) => Err(NoReply::Refused(error)),
            Err(_) => Err(NoReply::Silent),
        }
    }

    /// Whether a supervisor is there, be it one that hangs.
    pub fn is_there(&self) -> bool {
        self.call().is_some()
    }

    /// Finds out how the supervisor is. One that is starting or ending has a moment to answer or to be gone.
    pub fn health(&self) -> Health {
        let until = Instant::now() + lock::answer_limit(self.limits);
        loop {
            match self.ask(&Ask::Status) {
                Ok(reply) => return Health::Answers(reply),
                Err(_) if !lock::is_held(self.dirs) => return Health::Absent,
                Err(_) if Instant::now() >= until => return Health::Hangs(lock::holder_pid(self.dirs)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Ends the supervisor and returns once it is gone, at the latest after `patience`. One that hangs is ended by force.
    pub fn stop(&self, patience: Duration) -> Result<Stopped, EngineError> {
        let until = Instant::now() + self.limits.hung_supervisor;
        loop {
            match self.ask(&Ask::Stop) {
                Ok(reply) => {
                    self.wait_for_end(&reply, patience);
                    return Ok(Stopped::Ended(reply));
                }
                Err(NoReply::Refused(sentence)) => return Err(EngineError::BadInput(sentence)),
                Err(_) if !lock::is_held(self.dirs) => return Ok(Stopped::Absent),
                Err(_) if Instant::now() >= until => return lock::end(self.dirs).map(Stopped::Killed),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Waits until the supervisor that said so is gone: it holds its lock until all that it started has ended.
    fn wait_for_end(&self, said: &Reply, patience: Duration) {
        let until = Instant::now() + patience;
        let replaced = || self.ask(&Ask::Status).is_ok_and(|now| now.pid != said.pid);
        while lock::is_held(self.dirs) && !replaced() && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    pub fn wake(&self, bubble: &Bubble) -> Result<Reply, NoReply> {
        self.ask(&look_at(bubble, Vec::new()))
    }

    /// Tells the supervisor to look at a bubble, if there is one.
    ///
    /// From here on its agents are started in the environment of this process, as far as agents get any of it.
    pub fn wake_at_home(&self, bubble: &Bubble) -> Result<Reply, NoReply> {
        self.ask(&look_at(bubble, crate::process::environment()))
    }
}

/// An open line to the supervisor.
#[derive(Debug)]
pub struct Line(UnixStream);

impl Line {
    /// Tells the supervisor to look at a bubble, and waits for no answer. Says whether the line still held.
    pub fn wake(&self, bubble: &Bubble) -> bool {
        write(&self.0, &look_at(bubble, Vec::new())).is_ok()
    }
}

fn look_at(bubble: &Bubble, env: Vec<(String, String)>) -> Ask {
    Ask::Wake { repo: bubble.control.repo().to_owned(), id: bubble.id.clone(), env }
}
