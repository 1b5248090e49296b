//! The supervisor's end of an agent's socket: one thread serves each caller, from its line to the answer.
//!
//! A process that another agent or a check started may not speak here. A process of which nothing is known, such as a
//! person's shell, speaks for the agent.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::log::Warning;
use pairflow_core::safe::safe_line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::client::{SocketReply, SocketRequest};
use super::hook::{HookAnswer, HookCall, HookEvent};
use crate::caller::{CallerProcess, ProcessOwner, StartedBy};
use crate::engine::{Bubble, ControlDir, Denial, EngineError};
use crate::local_socket::{LineReader, Server, ServerOptions, write};
use crate::supervisor_client::Client;
use crate::verbs::{AgentReply, AgentRequest};

/// The limits of one agent's socket.
const LIMITS: ServerOptions = ServerOptions { name: "seat", callers: 32, write: Duration::from_secs(5) };
/// How much longer than the hook itself its event is kept.
const EXTRA_WAIT: Duration = Duration::from_secs(1);
/// How often pairflow checks whether the hook is still connected.
const LOOK: Duration = Duration::from_millis(500);
/// The longest name of a verb.
const MAX_VERB: usize = 32;
/// How much is said about an invalid line, in columns.
const MAX_WHY: usize = 200;

/// An agent's socket. When dropped, it takes no more callers and removes its file; callers being served are served.
#[derive(Debug)]
pub struct AgentSocket(Server);

impl AgentSocket {
    /// Listens at `path` for the agent `agent` of `bubble`. Verbs are applied; `forward` takes the events of hooks and
    /// returns whether anyone receives them.
    ///
    /// The caller holds the bubble's lock, so a socket that exists already has no owner.
    pub fn open(
        bubble: Arc<Bubble>,
        agent: AgentId,
        path: PathBuf,
        forward: impl Fn(HookEvent) -> bool + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let server = AgentServer { bubble, agent, forward: Box::new(forward) };
        Server::open(path, LIMITS, move |stream| server.serve(stream)).map(Self)
    }

    /// Returns where it listens.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Serves the callers of one agent's socket.
struct AgentServer {
    bubble: Arc<Bubble>,
    agent: AgentId,
    forward: Box<dyn Fn(HookEvent) -> bool + Send + Sync>,
}

impl AgentServer {
    /// Serves one caller. Only a whole line with a verb of an agent gets into the log.
    fn serve(&self, stream: &UnixStream) {
        // Identified before it can say anything: it may be gone right after that.
        let Some(caller) = CallerProcess::at(stream) else { return };
        let mut request = match LineReader::new(stream, self.bubble.engine.limits.seat_request).read::<SocketRequest>()
        {
            Ok(request) => request,
            Err(error) => {
                if error.kind() == ErrorKind::InvalidData {
                    let why = safe_line(&error.to_string(), MAX_WHY);
                    send(stream, &SocketReply::Refused(Denial::refused(format!("invalid request: {why}"))));
                }
                return;
            }
        };
        if let Some(stranger) = self.find_stranger(&caller) {
            return self.refuse_stranger(stream, &request, &stranger);
        }
        // A report of a hook that did not wait is still useful; the caller of a verb waits for the answer.
        if caller.is_gone() && request.hook.is_none() {
            return;
        }
        match (request.said.take(), request.hook.take(), request.attempted.take()) {
            (Some(said), None, None) => self.handle_verb(stream, said, &request),
            (None, Some(call), None) => self.report(stream, *call),
            (None, None, Some(verb)) => self.warn(&verb),
            _ => send(stream, &SocketReply::Refused(Denial::refused("invalid request"))),
        }
    }

    /// Returns who started the caller, if that is anyone but this agent.
    fn find_stranger(&self, caller: &CallerProcess) -> Option<ProcessOwner> {
        let (repo, id) = (self.bubble.control.repo(), &self.bubble.id);
        let owner = caller.recorded_owner(&self.bubble.engine, Some((repo, id)), &[repo.to_owned()])?;
        let own = owner.is(repo, id) && owner.started == StartedBy::Agent(self.agent.clone());
        (!own).then_some(owner)
    }

    /// Refuses a stranger, and records the attempt in the stranger's own bubble.
    fn refuse_stranger(&self, stream: &UnixStream, request: &SocketRequest, stranger: &ProcessOwner) {
        let (name, id) = (stranger.name(), &self.bubble.id);
        let reason = format!("{name} has called through the socket of {} of bubble {id}", self.agent);
        stranger.warn(&self.bubble.engine, request.verb(), reason);
        let reply = match request.hook {
            // A hook has no use for reasons, and would only call again.
            Some(_) => SocketReply::Answer(HookAnswer::Nothing),
            None => SocketReply::Refused(self.denial(stranger)),
        };
        send(stream, &reply);
    }

    /// Says that a stranger may not speak through this socket, and what it can do.
    fn denial(&self, stranger: &ProcessOwner) -> Denial {
        let here = stranger.is(self.bubble.control.repo(), &self.bubble.id);
        let of = |id: &BubbleId| if here { String::new() } else { format!(" of bubble {id}") };
        let (ours, theirs) = (of(&self.bubble.id), of(&stranger.bubble));
        let message = format!(
            "this is the socket of {}{ours}, and the caller belongs to {}{theirs}",
            self.agent,
            stranger.name()
        );
        match &stranger.started {
            StartedBy::Agent(own) => {
                let socket = ControlDir::of(&stranger.repo).seat_socket(&stranger.bubble, own);
                Denial::refused(format!("{message}, who has a socket of its own."))
                    .next(format!("PAIRFLOW_AGENT={own} PAIRFLOW_SOCKET='{}' pairflow brief", socket.display()))
            }
            StartedBy::Job(..) => Denial::refused(format!("{message}; a check reports by its exit code alone."))
                .next(format!("pairflow status {}", stranger.bubble)),
        }
    }

    fn handle_verb(&self, stream: &UnixStream, said: AgentRequest, request: &SocketRequest) {
        let reply = match self.apply_verb(stream, said, request) {
            Ok(None) => return,
            Ok(Some(reply)) => {
                // Where files cannot be watched, the supervisor would not see it otherwise.
                if let Some(connection) = Client::new(&self.bubble.engine).call() {
                    connection.wake(&self.bubble);
                }
                SocketReply::Heard(Box::new(reply))
            }
            Err(denial) => SocketReply::Refused(denial),
        };
        send(stream, &reply);
    }

    /// Records a verb; returns `None` if the caller was gone before that.
    fn apply_verb(
        &self,
        stream: &UnixStream,
        said: AgentRequest,
        request: &SocketRequest,
    ) -> Result<Option<AgentReply>, Denial> {
        let own = self.bubble.id.as_str();
        if let Some(other) = request.id.as_ref().filter(|id| *id != own) {
            return Err(Denial::other_bubble(own, other));
        }
        let denial = |error: EngineError| Denial::from(&error);
        let seen = self.bubble.load().map_err(denial)?;
        let misplaced = request.cwd.as_ref().and_then(|cwd| self.bubble.misplaced(&seen.state, Path::new(cwd)));
        if let Some(denial) = misplaced {
            return Err(denial);
        }
        let earlier = request.since.map(|since| self.bubble.reply_since(since, &self.agent, &said)).transpose();
        if let Some(reply) = earlier.map_err(denial)?.flatten() {
            return Ok(Some(reply));
        }
        // If the connection breaks from here on, the caller asks again and says since when.
        let since = request.since.unwrap_or(seen.head.seq);
        if write(stream, &SocketReply::Taken { since }).is_err() {
            return Ok(None);
        }
        let driver = seen.state.rules.driver;
        let applied = self.bubble.handle_agent_request(&self.agent, said, true);
        applied.map(Some).map_err(|error| Denial::to_agent(driver, &error))
    }

    /// Forwards an event. A hook that waits gets the answer, once there is one or the event was handled.
    fn report(&self, stream: &UnixStream, call: HookCall) {
        let patience = call.event.patience();
        let (answer, answered) = channel();
        let (agent, here) = (self.agent.clone(), Arc::new(()));
        if !(self.forward)(HookEvent { agent, call: call.bounded(), answer, alive: Arc::downgrade(&here) }) {
            return;
        }
        if let Some(answer) = patience.and_then(|patience| wait(stream, &answered, patience + EXTRA_WAIT)) {
            send(stream, &SocketReply::Answer(answer));
        }
    }

    /// Records that the agent tried a human verb. Anything that cannot be a verb's name is ignored.
    fn warn(&self, verb: &str) {
        let named = verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if verb.is_empty() || verb.len() > MAX_VERB || !named {
            return;
        }
        let reason = format!("'{verb}' is for people");
        let warning = Warning { command: verb.to_owned(), reason, unmet: Vec::new() };
        // It is refused whether or not that can be recorded.
        let _ = self.bubble.warn_sender(&self.agent, warning);
    }
}

/// Sends a reply. A caller that is gone needs none.
fn send(stream: &UnixStream, reply: &SocketReply) {
    let _ = write(stream, reply);
}

/// Waits for an answer. An event that was dropped is handled; one whose hook is gone needs no answer.
fn wait(stream: &UnixStream, answered: &Receiver<HookAnswer>, patience: Duration) -> Option<HookAnswer> {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match answered.recv_timeout(left.min(LOOK)) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Disconnected) => return Some(HookAnswer::Nothing),
            Err(RecvTimeoutError::Timeout) if left.is_zero() || hung_up(stream) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn hung_up(stream: &UnixStream) -> bool {
    let mut one = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut one, Some(&now)).is_ok() && one[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
