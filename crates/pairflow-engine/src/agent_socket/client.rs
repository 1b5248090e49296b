//! The agent's end of its seat's socket.

use std::io;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hook::{HookAnswer, HookCall};
use crate::engine::Denial;
use crate::local_socket::{LONGEST, Lines, dial, write};
use crate::verbs::{AgentReply, AgentRequest};

/// How long a verb waits for its answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long an event that must not get lost calls a supervisor that is not there.
const INSIST: Duration = Duration::from_secs(3);
/// How long an event that needs no answer waits until it was taken, so that the next one comes after it.
const HANDED_ON: Duration = Duration::from_millis(200);
/// How long to wait before calling again.
const PAUSE: Duration = Duration::from_millis(20);

/// A verb on its way, and where it is said.
#[derive(Debug, Clone)]
pub struct AgentCall<'a> {
    /// What is said.
    pub said: AgentRequest,
    /// The bubble that the caller believes to work in.
    pub id: Option<&'a str>,
    /// Where the caller is.
    pub cwd: Option<&'a Path>,
    /// How long a supervisor is called that is not there: it may be starting again.
    pub patience: Duration,
}

/// Why a verb did not come through.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It was heard, and refused.
    #[error("{}", .0.message)]
    Denied(Denial),
    /// Nobody listens.
    #[error("nobody listens: {0}")]
    Absent(io::Error),
    /// The system does not let the caller connect.
    #[error("{0}")]
    Forbidden(io::Error),
    /// Too much was said at once.
    #[error("that is longer than the {} MiB that can be said at once", LONGEST / 1024 / 1024)]
    TooLong,
    /// It was taken, and then nothing came back: whether it is recorded is not known.
    #[error("it was taken, but there was no answer: {0}")]
    Unanswered(io::Error),
}

/// Says a verb through the socket at `socket` and returns what became of it.
///
/// A line that breaks is called again, also in the middle: what was heard already is not recorded twice.
pub fn say(socket: &Path, words: AgentCall<'_>) -> Result<AgentReply, SendError> {
    let cwd = words.cwd.and_then(Path::to_str).map(str::to_owned);
    let mut request =
        SocketRequest { said: Some(words.said), id: words.id.map(str::to_owned), cwd, ..SocketRequest::default() };
    let patience = words.patience;
    let mut until = Instant::now() + patience;
    loop {
        let (taken, broken) = match say_once(socket, &request) {
            Ok(reply) => return reply.map_err(SendError::Denied),
            Err((taken, broken)) => (taken, broken),
        };
        if taken.is_some() && request.since.is_none() {
            // It was there a moment ago: the next one has the whole time to come.
            until = Instant::now() + patience;
        }
        request.since = request.since.or(taken);
        let again = matches!(
            broken.kind(),
            ErrorKind::NotFound
                | ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
                | ErrorKind::WouldBlock
        );
        if !again || Instant::now() >= until {
            return Err(lost(broken, request.since.is_some()));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Reports an event and returns what the hook tells its CLI; nothing whenever anything is not as it should be.
pub fn report(socket: &Path, call: HookCall) -> Option<HookAnswer> {
    let (event, call) = (call.event, call.bounded());
    let request = SocketRequest { hook: Some(Box::new(call)), ..SocketRequest::default() };
    let began = Instant::now();
    let calls = if event.insists() { INSIST } else { Duration::ZERO };
    let waits = event.patience().unwrap_or(HANDED_ON);
    loop {
        let left = waits.saturating_sub(began.elapsed());
        match report_once(socket, &request, left) {
            Ok(answer) => return Some(answer),
            Err(error) if error.kind() == ErrorKind::TimedOut || began.elapsed() >= calls => return None,
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Has it recorded that the agent tried a verb of people.
pub fn attempted(socket: &Path, verb: &str) {
    let request = SocketRequest { attempted: Some(verb.to_owned()), ..SocketRequest::default() };
    // It is refused whether or not that can be recorded. The end of the line says that it was.
    let _ = report_once(socket, &request, Duration::from_secs(2));
}

/// Says a verb once. A line that breaks tells since when the verb may have been heard.
fn say_once(socket: &Path, request: &SocketRequest) -> Result<Result<AgentReply, Denial>, (Option<u64>, io::Error)> {
    let stream = dial(socket).and_then(|stream| write(&stream, request).map(|()| stream));
    let stream = stream.map_err(|error| (None, error))?;
    let mut lines = Lines::new(&stream, ANSWER);
    let mut taken = None;
    loop {
        match lines.read::<SocketReply>().map_err(|error| (taken, error))? {
            SocketReply::Taken { since } => taken = Some(since),
            SocketReply::AgentReply(heard) => return Ok(Ok(*heard)),
            SocketReply::Refused(denial) => return Ok(Err(denial)),
            SocketReply::Answer(_) => return Err((taken, ErrorKind::InvalidData.into())),
        }
    }
}

fn report_once(socket: &Path, request: &SocketRequest, patience: Duration) -> io::Result<HookAnswer> {
    let stream = dial(socket)?;
    write(&stream, request)?;
    match Lines::new(&stream, patience).read::<SocketReply>()? {
        SocketReply::Answer(answer) => Ok(answer),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn lost(error: io::Error, taken: bool) -> SendError {
    match error.kind() {
        ErrorKind::FileTooLarge => SendError::TooLong,
        ErrorKind::PermissionDenied => SendError::Forbidden(error),
        _ if taken => SendError::Unanswered(error),
        ErrorKind::TimedOut | ErrorKind::InvalidData => SendError::Unanswered(error),
        _ => SendError::Absent(error),
    }
}

/// What a caller wants. Exactly one of the first three is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SocketRequest {
    /// A verb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<AgentRequest>,
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

impl SocketRequest {
    /// Returns what it is about, in a word.
    pub(super) fn verb(&self) -> &'static str {
        match &self.said {
            Some(AgentRequest::Pass(_)) => "pass",
            Some(AgentRequest::AskHuman { .. }) => "ask-human",
            Some(AgentRequest::BriefRead) => "brief",
            Some(AgentRequest::Converged { .. }) => "converged",
            None if self.hook.is_some() => "hook",
            None => "call",
        }
    }
}

/// What a caller is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum SocketReply {
    /// The verb is being dealt with; the answer follows. Said again after a lost line, it comes with this number.
    Taken {
        /// The last line of the log before it.
        since: u64,
    },
    /// The verb is recorded.
    AgentReply(Box<AgentReply>),
    /// It is not.
    Refused(Denial),
    /// What the hook tells its CLI.
    Answer(HookAnswer),
}
