//! The lines of a seat's socket: one JSON object from the caller, and one or two back.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::call::{HookAnswer, HookCall};
use crate::engine::Denial;
use crate::verbs::{AgentSays, Heard};

/// The longest line, in bytes.
pub(super) const LONGEST: usize = 4 * 1024 * 1024;

/// What a caller wants. Exactly one of the first three is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Request {
    /// A verb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<AgentSays>,
    /// An event of a hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<Box<HookCall>>,
    /// The verb of a person that the agent has tried, and was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted: Option<String>,
    /// The bubble that the caller believes to work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where the caller is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// For a verb that was said before and perhaps heard: the line of the log after which it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

impl Request {
    /// Returns what it is about, in a word.
    pub(super) fn verb(&self) -> &'static str {
        match &self.said {
            Some(AgentSays::Pass(_)) => "pass",
            Some(AgentSays::AskHuman { .. }) => "ask-human",
            Some(AgentSays::BriefRead) => "brief",
            Some(AgentSays::Converged { .. }) => "converged",
            None if self.hook.is_some() => "hook",
            None => "call",
        }
    }
}

/// What a caller is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// The verb is being dealt with; the answer follows. Said again after a lost line, it comes with this number.
    Taken {
        /// The last line of the log before it.
        since: u64,
    },
    /// The verb is recorded.
    Heard(Box<Heard>),
    /// It is not.
    Refused(Denial),
    /// What the hook tells its CLI.
    Answer(HookAnswer),
}

/// Writes one line.
pub(super) fn write(mut stream: &UnixStream, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    if bytes.len() > LONGEST {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "the line is too long"));
    }
    stream.write_all(&bytes)
}

/// A stream that is read line by line until a moment.
pub(super) struct Lines<'a> {
    stream: &'a UnixStream,
    until: Instant,
    bytes: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Reads from `stream` for at most `patience`.
    pub(super) fn new(stream: &'a UnixStream, patience: Duration) -> Self {
        Self { stream, until: Instant::now() + patience, bytes: Vec::new() }
    }

    /// Reads one line. The end of the stream before the end of the line is an error, and so is a line that is too long.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.bytes[looked..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=looked + end).collect();
                return serde_json::from_slice(&line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
            }
            looked = self.bytes.len();
            if looked >= LONGEST {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut part = [0; 64 * 1024];
        let mut stream = self.stream;
        match stream.read(&mut part) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.bytes.extend_from_slice(&part[..read]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            Err(error) => Err(error),
        }
    }
}
