//! The agent's end of its socket, and the lines of the protocol: one JSON object from the caller, one or two back.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hook::{HookAnswer, HookCall};
use crate::engine::Denial;
use crate::local_socket::{LineReader, MAX_LINE, dial, write};
use crate::verbs::{AgentReply, AgentRequest};

/// How long a verb waits for its answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long an event that must not get lost retries while no supervisor listens.
const INSIST: Duration = Duration::from_secs(3);
/// How long an event that needs no answer waits until it was taken, so that events keep their order.
const HANDED_ON: Duration = Duration::from_millis(200);
/// How long to wait before calling again.
const PAUSE: Duration = Duration::from_millis(20);

/// What a caller wants. Exactly one of the first three is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SocketRequest {
    /// A verb.
    pub said: Option<AgentRequest>,
    /// An event of a hook.
    pub hook: Option<Box<HookCall>>,
    /// The human verb that the agent tried and was refused.
    pub attempted: Option<String>,
    /// The bubble in which the caller believes to work.
    pub id: Option<String>,
    /// The caller's working directory.
    pub cwd: Option<String>,
    /// For a verb that is sent again and may have been recorded: the last line of the log before it.
    pub since: Option<u64>,
}

impl SocketRequest {
    /// Returns what it is about, in a word.
    pub(super) fn verb(&self) -> &'static str {
        match &self.said {
            Some(AgentRequest::Pass(_)) => "pass",
            Some(AgentRequest::AskHuman { .. }) => "ask-human",
            Some(AgentRequest::Judge { .. }) => "judge",
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
    /// The verb was taken; the answer follows. If it is sent again after a broken connection, it names this line.
    Taken {
        /// The last line of the log before it.
        since: u64,
    },
    /// The verb is recorded.
    Heard(Box<AgentReply>),
    /// It is not.
    Refused(Denial),
    /// The answer for the hook's program.
    Answer(HookAnswer),
}

/// A verb to send.
#[derive(Debug, Clone)]
pub struct AgentCall<'a> {
    /// The verb.
    pub said: AgentRequest,
    /// The bubble in which the caller believes to work.
    pub id: Option<&'a str>,
    /// The caller's working directory.
    pub cwd: Option<&'a Path>,
    /// How long to retry while no supervisor listens: it may be restarting.
    pub patience: Duration,
}

/// Why a verb was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It was refused.
    #[error("{}", .0.message)]
    Denied(Denial),
    /// No supervisor listens.
    #[error("no supervisor listens: {0}")]
    Absent(io::Error),
    /// The system does not let the caller connect.
    #[error("{0}")]
    Forbidden(io::Error),
    /// The request is too long.
    #[error("the request is too long; the limit is {} MiB", MAX_LINE / 1024 / 1024)]
    TooLong,
    /// It was taken, and then no answer came: whether it is recorded is not known.
    #[error("the supervisor took the request but did not answer: {0}")]
    Unanswered(io::Error),
}

/// Sends a verb through the socket and returns the reply.
///
/// A broken connection is retried, even in the middle: a verb that was recorded already is not recorded twice.
pub fn send(socket: &Path, call: AgentCall<'_>) -> Result<AgentReply, SendError> {
    let cwd = call.cwd.and_then(Path::to_str).map(str::to_owned);
    let id = call.id.map(str::to_owned);
    let mut request = SocketRequest { said: Some(call.said), id, cwd, ..SocketRequest::default() };
    let mut until = Instant::now() + call.patience;
    loop {
        let (taken, broken) = match send_once(socket, &request) {
            Ok(reply) => return reply.map_err(SendError::Denied),
            Err(failed) => failed,
        };
        if taken.is_some() && request.since.is_none() {
            // A supervisor was there a moment ago: the next one has the whole time to start.
            until = Instant::now() + call.patience;
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
            return Err(send_error(broken, request.since.is_some()));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Reports an event and returns the answer for the hook's program; `None` whenever anything goes wrong.
pub fn report(socket: &Path, call: HookCall) -> Option<HookAnswer> {
    let (event, call) = (call.event, call.bounded());
    let request = SocketRequest { hook: Some(Box::new(call)), ..SocketRequest::default() };
    let began = Instant::now();
    let retries = if event.insists() { INSIST } else { Duration::ZERO };
    let waits = event.patience().unwrap_or(HANDED_ON);
    loop {
        let left = waits.saturating_sub(began.elapsed());
        match report_once(socket, &request, left) {
            Ok(answer) => return Some(answer),
            Err(error) if error.kind() == ErrorKind::TimedOut || began.elapsed() >= retries => return None,
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Has it recorded that the agent tried a human verb.
pub fn report_attempt(socket: &Path, verb: &str) {
    let request = SocketRequest { attempted: Some(verb.to_owned()), ..SocketRequest::default() };
    // It is refused whether or not that can be recorded. The end of the connection says that it was.
    let _ = report_once(socket, &request, Duration::from_secs(2));
}

/// Sends a verb once. If the connection breaks, the error says since when the verb may have been recorded.
fn send_once(socket: &Path, request: &SocketRequest) -> Result<Result<AgentReply, Denial>, (Option<u64>, io::Error)> {
    let stream = dial(socket).and_then(|stream| write(&stream, request).map(|()| stream));
    let stream = stream.map_err(|error| (None, error))?;
    let mut lines = LineReader::new(&stream, ANSWER);
    let mut taken = None;
    loop {
        match lines.read::<SocketReply>().map_err(|error| (taken, error))? {
            SocketReply::Taken { since } => taken = Some(since),
            SocketReply::Heard(reply) => return Ok(Ok(*reply)),
            SocketReply::Refused(denial) => return Ok(Err(denial)),
            SocketReply::Answer(_) => return Err((taken, ErrorKind::InvalidData.into())),
        }
    }
}

fn report_once(socket: &Path, request: &SocketRequest, patience: Duration) -> io::Result<HookAnswer> {
    let stream = dial(socket)?;
    write(&stream, request)?;
    match LineReader::new(&stream, patience).read::<SocketReply>()? {
        SocketReply::Answer(answer) => Ok(answer),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn send_error(error: io::Error, taken: bool) -> SendError {
    match error.kind() {
        ErrorKind::FileTooLarge => SendError::TooLong,
        ErrorKind::PermissionDenied => SendError::Forbidden(error),
        _ if taken => SendError::Unanswered(error),
        ErrorKind::TimedOut | ErrorKind::InvalidData => SendError::Unanswered(error),
        _ => SendError::Absent(error),
    }
}
