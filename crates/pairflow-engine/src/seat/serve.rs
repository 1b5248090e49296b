//! One caller of a seat's socket, from its line to the answer.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pairflow_core::ids::AgentId;
use pairflow_core::log::Warning;
use pairflow_core::safe::safe_line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::call::{HookAnswer, HookCall, SeatCall};
use super::stranger;
use super::wire::{Reply, Request};
use crate::caller::{Caller, Owner};
use crate::engine::{Bubble, Denial, EngineError};
use crate::local_socket::{LineReader, write};
use crate::supervisor_client::Client;
use crate::verbs::{AgentSays, Heard};

/// How much longer than the hook itself its event is kept.
const LONGER: Duration = Duration::from_secs(1);
/// How often it is looked whether the hook is still there.
const LOOK: Duration = Duration::from_millis(500);
/// The longest name of a verb.
const VERB: usize = 32;
/// How much is said about a line that makes no sense, in columns.
const WHY: usize = 200;

/// A seat: who speaks through its socket, and to whom its events go.
pub(super) struct Seat {
    pub bubble: Arc<Bubble>,
    pub agent: AgentId,
    pub out: Sender<SeatCall>,
}

impl Seat {
    /// Serves one caller. Whatever it sends, only a whole line with a verb of an agent gets into the log.
    pub(super) fn serve(&self, stream: &UnixStream) {
        // Looked at before it can say anything: it may be gone right after that.
        let Some(caller) = Caller::at(stream) else { return };
        let request = match LineReader::new(stream, self.bubble.engine.limits.seat_request).read::<Request>() {
            Ok(request) => request,
            Err(error) => {
                if error.kind() == ErrorKind::InvalidData {
                    let why = safe_line(&error.to_string(), WHY);
                    tell(stream, &Reply::Refused(Denial::refused(format!("that is no verb of an agent: {why}"))));
                }
                return;
            }
        };
        if let Some(stranger) = stranger::find(&caller, &self.bubble, &self.agent) {
            return self.turn_away(stream, &request, &stranger);
        }
        // A report of a hook that did not wait is still worth something; the caller of a verb waits for the answer.
        if caller.is_gone() && request.hook.is_none() {
            return;
        }
        match request {
            Request { said: Some(said), hook: None, attempted: None, id, cwd, since } => {
                self.hear(stream, said, &Said { id, cwd, since });
            }
            Request { said: None, hook: Some(call), attempted: None, .. } => self.report(stream, *call),
            Request { said: None, hook: None, attempted: Some(verb), .. } => self.warn(&verb),
            _ => tell(stream, &Reply::Refused(Denial::refused("that is no verb of an agent"))),
        }
    }

    /// Turns somebody away who speaks in the name of this seat and has no right to.
    fn turn_away(&self, stream: &UnixStream, request: &Request, stranger: &Owner) {
        stranger::warn(stranger, request.verb(), &self.bubble, &self.agent);
        let reply = match request.hook {
            // A hook has no use for reasons, and would only call again.
            Some(_) => Reply::Answer(HookAnswer::Nothing),
            None => Reply::Refused(stranger::denial(stranger, &self.bubble, &self.agent)),
        };
        tell(stream, &reply);
    }

    fn hear(&self, stream: &UnixStream, said: AgentSays, about: &Said) {
        let reply = match self.heard(stream, said, about) {
            Ok(None) => return,
            Ok(Some(heard)) => {
                // It would be seen anyway, were files watched everywhere.
                if let Some(line) = Client::new(&self.bubble.engine).call() {
                    line.wake(&self.bubble);
                }
                Reply::Heard(Box::new(heard))
            }
            Err(denial) => Reply::Refused(denial),
        };
        tell(stream, &reply);
    }

    /// Records a verb; nothing comes back if the caller was gone before that.
    fn heard(&self, stream: &UnixStream, said: AgentSays, about: &Said) -> Result<Option<Heard>, Denial> {
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
        let earlier = about.since.map(|since| self.bubble.heard_since(since, &self.agent, &said)).transpose();
        if let Some(heard) = earlier.map_err(denial)?.flatten() {
            return Ok(Some(heard));
        }
        // If the line breaks from here on, the caller asks again and says since when.
        let since = about.since.unwrap_or(seen.head.seq);
        if write(stream, &Reply::Taken { since }).is_err() {
            return Ok(None);
        }
        let driver = seen.state.rules.driver;
        self.bubble.hear(&self.agent, said, true).map(Some).map_err(|error| Denial::to_agent(driver, &error))
    }

    /// Hands an event on. A hook that waits gets the answer, once there is one or the event was dealt with.
    fn report(&self, stream: &UnixStream, call: HookCall) {
        let patience = call.event.patience();
        let (answer, answered) = channel();
        let (agent, here) = (self.agent.clone(), Arc::new(()));
        let sent = self.out.send(SeatCall { agent, call: call.bounded(), answer, there: Arc::downgrade(&here) });
        if sent.is_err() {
            return;
        }
        if let Some(answer) = patience.and_then(|patience| wait(stream, &answered, patience + LONGER)) {
            tell(stream, &Reply::Answer(answer));
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
struct Said {
    id: Option<String>,
    cwd: Option<String>,
    since: Option<u64>,
}

/// Tells a caller something. One that went away needs no answer.
fn tell(stream: &UnixStream, reply: &Reply) {
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
