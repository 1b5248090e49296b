//! One caller of a seat's socket, from its line to the answer.

use std::io;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::log::Warning;
use pairflow_core::safe::safe_line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::client::{SocketReply, SocketRequest};
use super::hook::{HookAnswer, HookCall, HookEvent};
use crate::caller::{CallerProcess, ProcessOwner, StartedBy};
use crate::engine::{Bubble, Control, Denial, EngineError};
use crate::local_socket::{Limits, Lines, Server, write};
use crate::supervisor_client::Client;
use crate::verbs::{AgentReply, AgentRequest};

/// How much longer than the hook itself its event is kept.
const LONGER: Duration = Duration::from_secs(1);
/// How often it is looked whether the hook is still there.
const LOOK: Duration = Duration::from_millis(500);
/// The longest name of a verb.
const VERB: usize = 32;
/// How much is said about a line that makes no sense, in columns.
const WHY: usize = 200;

/// A seat: who speaks through its socket, and to whom its events go.
pub(super) struct AgentServer {
    pub bubble: Arc<Bubble>,
    pub agent: AgentId,
    pub out: Sender<HookEvent>,
}

impl AgentServer {
    /// Serves one caller. Whatever it sends, only a whole line with a verb of an agent gets into the log.
    pub(super) fn serve(&self, stream: &UnixStream) {
        // Looked at before it can say anything: it may be gone right after that.
        let Some(caller) = CallerProcess::at(stream) else { return };
        let request = match Lines::new(stream, self.bubble.engine.limits.seat_request).read::<SocketRequest>() {
            Ok(request) => request,
            Err(error) => {
                if error.kind() == ErrorKind::InvalidData {
                    let why = safe_line(&error.to_string(), WHY);
                    tell(stream, &SocketReply::Refused(Denial::refused(format!("that is no verb of an agent: {why}"))));
                }
                return;
            }
        };
        if let Some(stranger) = find_stranger(&caller, &self.bubble, &self.agent) {
            return self.turn_away(stream, &request, &stranger);
        }
        // A report of a hook that did not wait is still worth something; the caller of a verb waits for the answer.
        if caller.is_gone() && request.hook.is_none() {
            return;
        }
        match request {
            SocketRequest { said: Some(said), hook: None, attempted: None, id, cwd, since } => {
                self.hear(stream, said, &RequestContext { id, cwd, since });
            }
            SocketRequest { said: None, hook: Some(call), attempted: None, .. } => self.report(stream, *call),
            SocketRequest { said: None, hook: None, attempted: Some(verb), .. } => self.warn(&verb),
            _ => tell(stream, &SocketReply::Refused(Denial::refused("that is no verb of an agent"))),
        }
    }

    /// Turns somebody away who speaks in the name of this seat and has no right to.
    fn turn_away(&self, stream: &UnixStream, request: &SocketRequest, stranger: &ProcessOwner) {
        warn_stranger(stranger, request.verb(), &self.bubble, &self.agent);
        let reply = match request.hook {
            // A hook has no use for reasons, and would only call again.
            Some(_) => SocketReply::Answer(HookAnswer::Nothing),
            None => SocketReply::Refused(deny_stranger(stranger, &self.bubble, &self.agent)),
        };
        tell(stream, &reply);
    }

    fn hear(&self, stream: &UnixStream, said: AgentRequest, about: &RequestContext) {
        let reply = match self.heard(stream, said, about) {
            Ok(None) => return,
            Ok(Some(heard)) => {
                // It would be seen anyway, were files watched everywhere.
                if let Some(line) = Client::new(&self.bubble.engine).call() {
                    line.wake(&self.bubble);
                }
                SocketReply::AgentReply(Box::new(heard))
            }
            Err(denial) => SocketReply::Refused(denial),
        };
        tell(stream, &reply);
    }

    /// Records a verb; nothing comes back if the caller was gone before that.
    fn heard(
        &self,
        stream: &UnixStream,
        said: AgentRequest,
        about: &RequestContext,
    ) -> Result<Option<AgentReply>, Denial> {
        let own = self.bubble.id.as_str();
        if let Some(other) = about.id.as_ref().filter(|id| *id != own) {
            return Err(Denial::other_bubble(own, other));
        }
        let denial = |error: EngineError| Denial::from(&error);
        let seen = self.bubble.load().map_err(denial)?;
        let place = about.cwd.as_ref().and_then(|cwd| self.bubble.misplaced(&seen.state, Path::new(cwd)));
        if let Some(denial) = place {
            return Err(denial);
        }
        let earlier = about.since.map(|since| self.bubble.reply_since(since, &self.agent, &said)).transpose();
        if let Some(heard) = earlier.map_err(denial)?.flatten() {
            return Ok(Some(heard));
        }
        // If the line breaks from here on, the caller asks again and says since when.
        let since = about.since.unwrap_or(seen.head.seq);
        if write(stream, &SocketReply::Taken { since }).is_err() {
            return Ok(None);
        }
        let driver = seen.state.rules.driver;
        self.bubble
            .handle_agent_request(&self.agent, said, true)
            .map(Some)
            .map_err(|error| Denial::to_agent(driver, &error))
    }

    /// Hands an event on. A hook that waits gets the answer, once there is one or the event was dealt with.
    fn report(&self, stream: &UnixStream, call: HookCall) {
        let patience = call.event.patience();
        let (answer, answered) = channel();
        let (agent, here) = (self.agent.clone(), Arc::new(()));
        let sent = self.out.send(HookEvent { agent, call: call.bounded(), answer, there: Arc::downgrade(&here) });
        if sent.is_err() {
            return;
        }
        if let Some(answer) = patience.and_then(|patience| wait(stream, &answered, patience + LONGER)) {
            tell(stream, &SocketReply::Answer(answer));
        }
    }

    /// Records that the agent has tried a verb of people. Whatever is no name of a verb leaves no trace.
    fn warn(&self, verb: &str) {
        let named = verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if verb.is_empty() || verb.len() > VERB || !named {
            return;
        }
        let reason = format!("'{verb}' is for people");
        let warning = Warning { command: verb.to_owned(), reason, unmet: Vec::new() };
        // The refusal stands whether or not it can be recorded.
        let _ = self.bubble.warn_sender(&self.agent, warning);
    }
}

/// What a caller says about its verb.
struct RequestContext {
    id: Option<String>,
    cwd: Option<String>,
    since: Option<u64>,
}

/// Tells a caller something. One that went away needs no answer.
fn tell(stream: &UnixStream, reply: &SocketReply) {
    let _ = write(stream, reply);
}

/// Waits for an answer. An event that was dropped is dealt with; one whose hook is gone needs no answer.
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

/// What the callers of one seat get.
const LIMITS: Limits = Limits { name: "seat", callers: 32, write: Duration::from_secs(5) };

/// A seat's socket. Dropped, it takes no more callers and its file is gone; callers that are being served are served.
#[derive(Debug)]
pub struct AgentSocket(Server);

impl AgentSocket {
    /// Listens at `path` for the agent `agent` of `bubble`. Verbs are applied; events of hooks go to `out`.
    ///
    /// Its opener has the bubble in care, so a socket that is there already has no owner.
    pub fn open(bubble: Arc<Bubble>, agent: AgentId, path: PathBuf, out: Sender<HookEvent>) -> io::Result<Self> {
        let seat = AgentServer { bubble, agent, out };
        Server::open(path, LIMITS, move |stream| seat.serve(stream)).map(Self)
    }

    /// Returns where it listens.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Returns who has started the caller, if that is somebody else than the agent `agent` of `bubble`.
fn find_stranger(caller: &CallerProcess, bubble: &Bubble, agent: &AgentId) -> Option<ProcessOwner> {
    let repo = bubble.control.repo();
    let owner = caller.recorded_owner(&bubble.engine, Some((repo, &bubble.id)), &[repo.to_owned()])?;
    let own = owner.is(repo, &bubble.id) && owner.started == StartedBy::Agent(agent.clone());
    (!own).then_some(owner)
}

/// Tells a stranger that it may not speak through the socket of `agent`, and what it can do.
fn deny_stranger(stranger: &ProcessOwner, bubble: &Bubble, agent: &AgentId) -> Denial {
    let here = stranger.is(bubble.control.repo(), &bubble.id);
    let of = |id: &BubbleId| if here { String::new() } else { format!(" of bubble {id}") };
    let message = format!(
        "this is the socket of {agent}{}, and the caller belongs to {}{}",
        of(&bubble.id),
        stranger.name(),
        of(&stranger.bubble)
    );
    match &stranger.started {
        StartedBy::Agent(own) => {
            let socket = Control::of(&stranger.repo).seat_socket(&stranger.bubble, own);
            Denial::refused(format!("{message}, who has a socket of its own."))
                .next(format!("PAIRFLOW_AGENT={own} PAIRFLOW_SOCKET='{}' pairflow brief", socket.display()))
        }
        StartedBy::Job(..) => Denial::refused(format!("{message}; what such a command has to say is how it ends."))
            .next(format!("pairflow status {}", stranger.bubble)),
    }
}

/// Records in the stranger's own bubble that it tried `verb` in the name of `agent` of `bubble`.
fn warn_stranger(stranger: &ProcessOwner, verb: &str, bubble: &Bubble, agent: &AgentId) {
    let reason = format!("{} has called through the socket of {agent} of bubble {}", stranger.name(), bubble.id);
    stranger.warn(&bubble.engine, verb, reason);
}
