//! The supervisor's socket: one JSON line in, one JSON line out.
//!
//! Every process of the user can connect, so the caller is identified: a person may ask everything; an agent, that its
//! own bubble is looked at; a check or an unidentified process, only for the status.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use pairflow_core::ids::BubbleId;
use pairflow_core::safe::safe_line;

use crate::caller::{CallerProcess, ProcessOwner};
use crate::engine::Engine;
use crate::local_socket::{LineReader, Server, ServerOptions, write};
use crate::supervisor_client::{RefusalLine, SupervisorRequest, socket_path};

/// The limits of the socket.
const LIMITS: ServerOptions = ServerOptions { name: "socket", callers: 64, write: Duration::from_secs(5) };
/// How long a caller may take to send its request.
const LISTEN: Duration = Duration::from_secs(5);
/// How long the loop may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// The largest environment that a person's call may carry: entries, and bytes of names and values.
const ENVIRONMENT: (usize, usize) = (4096, 2 * 1024 * 1024);
/// How much is said about an invalid line, in columns.
const WHY: usize = 200;

/// The reply that a caller waits for.
pub(super) struct PendingReply {
    reply: Sender<String>,
    told: Receiver<()>,
}

impl PendingReply {
    /// Sends the reply. A caller that is gone needs none.
    pub(super) fn tell(&self, reply: String) {
        let _ = self.reply.send(reply);
    }

    /// Sends the reply and returns once it is on its way, for a process that is about to end.
    pub(super) fn tell_and_see(&self, reply: String) {
        self.tell(reply);
        // The other side sends nothing; it hangs up when it is done.
        let _ = self.told.recv_timeout(Duration::from_secs(5));
    }
}

/// Listens on the socket while the result lives. `pass_on` takes every request that is allowed, with a way to reply, and
/// returns whether the loop still runs. The caller holds the supervisor's lock.
pub(super) fn listen(
    engine: Engine,
    pass_on: impl Fn(SupervisorRequest, PendingReply) -> bool + Send + Sync + 'static,
) -> std::io::Result<Server> {
    let path = socket_path(&engine.dirs);
    let requests = Requests { engine, pass_on: Box::new(pass_on) };
    Server::open(path, LIMITS, move |stream| requests.serve(stream))
}

/// Identifies each caller, and passes on what it may ask.
struct Requests {
    engine: Engine,
    pass_on: Box<dyn Fn(SupervisorRequest, PendingReply) -> bool + Send + Sync>,
}

impl Requests {
    fn serve(&self, stream: &UnixStream) {
        // Identified before it can say anything: it may be gone right after that.
        let caller = CallerProcess::at(stream);
        let ask = match LineReader::new(stream, LISTEN).read::<SupervisorRequest>() {
            Ok(ask) => ask,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let why = safe_line(&error.to_string(), WHY);
                return refuse(stream, format!("invalid request: {why}"));
            }
            Err(_) => return,
        };
        let Some(caller) = caller else {
            return refuse(stream, "this supervisor serves its own user only".to_owned());
        };
        if let Err(sentence) = self.admit(&caller, &ask) {
            return refuse(stream, sentence);
        }
        // Hung up when this caller has been served.
        let (_serving, told) = channel::<()>();
        let (reply, from_loop) = channel();
        let sent = (self.pass_on)(ask, PendingReply { reply, told });
        match from_loop.recv_timeout(ANSWER) {
            Ok(reply) if sent => drop(std::io::Write::write_all(&mut &*stream, format!("{reply}\n").as_bytes())),
            // Without a reply the caller knows that the loop is busy, hangs or has ended.
            _ => {}
        }
    }

    /// Refuses what this caller may not ask, and records the attempt in its bubble.
    fn admit(&self, caller: &CallerProcess, ask: &SupervisorRequest) -> Result<(), String> {
        match ask {
            SupervisorRequest::Status => Ok(()),
            SupervisorRequest::Wake { repo, id, env } if env.is_empty() => self.hint(caller, repo, id),
            SupervisorRequest::Wake { repo, id, env } => {
                self.command(caller, "wake", Some((repo, id)))?;
                let bytes: usize = env.iter().map(|(name, value)| name.len() + value.len()).sum();
                if env.len() > ENVIRONMENT.0 || bytes > ENVIRONMENT.1 {
                    let (most, size) = ENVIRONMENT;
                    return Err(format!(
                        "the environment of the caller is too large: {} variables, {bytes} bytes; the limit is {most} variables, {size} bytes",
                        env.len()
                    ));
                }
                Ok(())
            }
            SupervisorRequest::Stop => self.command(caller, "stop", None),
        }
    }

    /// Checks a request to look at a bubble: allowed for everyone but processes that were started for another bubble. It
    /// is only a hint; the file watcher would bring the same.
    fn hint(&self, caller: &CallerProcess, repo: &Path, id: &BubbleId) -> Result<(), String> {
        match caller.owner(&self.engine, self.known(repo, id), &[]) {
            Some(owner) if !(owner.is_agent() && owner.is(repo, id)) => Err(self.turn_away(&owner, "wake")),
            _ => Ok(()),
        }
    }

    /// Checks a request that only a person may make, about `bubble` if it is about one.
    fn command(&self, caller: &CallerProcess, verb: &str, bubble: Option<(&Path, &BubbleId)>) -> Result<(), String> {
        let bubble = bubble.and_then(|(repo, id)| self.known(repo, id));
        if let Some(owner) = caller.owner(&self.engine, bubble, &[]) {
            return Err(self.turn_away(&owner, verb));
        }
        if caller.is_local() {
            return Ok(());
        }
        if let Some(Ok(bubble)) = bubble.map(|(repo, id)| self.engine.bubble(repo, id)) {
            let reason = "the supervisor was called from another PID or user namespace, or by a process that was gone";
            bubble.warn_of_outsider(verb, reason.to_owned());
        }
        Err(format!("'{verb}' is for people, and the caller runs in another PID or user namespace or has ended"))
    }

    /// Returns the bubble that a caller names, if it is in a repository of this user. Any other may be made up for this
    /// call.
    fn known<'a>(&self, repo: &'a Path, id: &'a BubbleId) -> Option<(&'a Path, &'a BubbleId)> {
        self.engine.repositories().iter().any(|one| one == repo).then_some((repo, id))
    }

    fn turn_away(&self, owner: &ProcessOwner, verb: &str) -> String {
        let name = owner.name();
        owner.warn(&self.engine, verb, format!("{name} has called the supervisor; '{verb}' is for people"));
        format!("'{verb}' is for people, and the caller was started by {name} of bubble {}", owner.bubble)
    }
}

/// Tells a caller why it is refused. One that is gone needs no reply.
fn refuse(stream: &UnixStream, error: String) {
    let _ = write(stream, &RefusalLine { error });
}
