//! The sender of an agent's verb: proven by a token and writing itself, or behind the socket of its seat.

use std::path::PathBuf;
use std::time::Duration;

use pairflow_core::bubble::Refusal;
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::rules::DriverKind;
use pairflow_engine::agent_socket::{AgentCall, SendError, send};
use pairflow_engine::engine::{Bubble, Denial, EngineError, Token};
use pairflow_engine::supervisor_client::{Client, SupervisorConnection};
use pairflow_engine::verbs::{AgentReply, AgentRequest};

use crate::app::{AgentCaller, App};
use crate::exit::CommandError;
use crate::out::Out;

/// What an agent is told that works without a supervisor.
const ABSENT: &str =
    "the supervisor is not running, so nothing goes on: tell the person to run `pairflow supervise`, then wait";

/// An agent that has something to say.
pub enum Sender {
    /// One that has proven who it is, and writes itself.
    Own(Box<Proven>),
    /// One that pairflow has started: it is who its socket says.
    Seat(Seated),
}

/// An agent that has shown its token.
pub struct Proven {
    bubble: Bubble,
    agent: AgentId,
    driver: DriverKind,
    line: Option<SupervisorConnection>,
}

/// An agent behind the socket of its seat.
pub struct Seated {
    socket: PathBuf,
    id: Option<String>,
    cwd: Option<PathBuf>,
    patience: Duration,
}

impl App {
    /// Returns the agent that is calling. `named` has to be the bubble that it works in.
    pub fn sender(&self, named: Option<&str>) -> Result<Sender, CommandError> {
        let caller = self.caller().ok_or_else(not_an_agent)?;
        insist_on_own(&caller, named)?;
        match caller.socket.clone() {
            Some(socket) => {
                let id = caller.bubble.or_else(|| named.map(str::to_owned));
                let (cwd, patience) = (self.cwd().ok().map(PathBuf::from), self.limits.seat_call);
                Ok(Sender::Seat(Seated { socket, id, cwd, patience }))
            }
            None => self.prove(&caller).map(|proven| Sender::Own(Box::new(proven))),
        }
    }

    /// Returns the bubble and the name of the agent that is calling and only reads; nothing for a person. One that
    /// writes itself shows its token, one behind a socket is who its environment says.
    pub(crate) fn own_seat(&self, named: Option<&str>) -> Result<Option<(Bubble, AgentId)>, CommandError> {
        let Some(caller) = self.caller() else { return Ok(None) };
        insist_on_own(&caller, named)?;
        if caller.socket.is_some() {
            return self.seat_of(&caller).map(Some);
        }
        self.prove(&caller).map(|proven| Some((proven.bubble, proven.agent)))
    }

    fn prove(&self, caller: &AgentCaller) -> Result<Proven, CommandError> {
        let Some(token) = &caller.token else { return Err(not_an_agent()) };
        let (bubble, agent) = self.seat_of(caller)?;
        let state = bubble.load()?.state;
        bubble.prove(&state, &agent, &Token::shown(token.clone()))?;
        if let Some(denial) = bubble.misplaced(&state, self.cwd()?) {
            return Err(denial.into());
        }
        let line = Client::new(&bubble.engine).call();
        Ok(Proven { bubble, agent, driver: state.rules.driver, line })
    }

    /// The seat that the environment of an agent names.
    fn seat_of(&self, caller: &AgentCaller) -> Result<(Bubble, AgentId), CommandError> {
        let (Some(bubble), Some(agent)) = (&caller.bubble, &caller.agent) else { return Err(not_an_agent()) };
        let id: BubbleId =
            bubble.parse().map_err(|why| CommandError::refused(format_args!("PAIRFLOW_BUBBLE: {why}.")))?;
        let agent: AgentId =
            agent.parse().map_err(|why| CommandError::refused(format_args!("PAIRFLOW_AGENT: {why}.")))?;
        let repo = match self.env.text("PAIRFLOW_REPO") {
            Some(repo) => PathBuf::from(repo),
            None => self.place(None)?.repo.root,
        };
        Ok((self.engine()?.bubble(&repo, &id)?, agent))
    }
}

impl Sender {
    /// Has the verb recorded; while the agent's own turn is still opening, that takes a little.
    pub fn say(&self, said: AgentRequest) -> Result<AgentReply, CommandError> {
        match self {
            Self::Own(proven) => proven.say(said),
            Self::Seat(seated) => seated.say(said),
        }
    }

    /// Warns that no supervisor runs that could go on with what was recorded.
    pub fn warn_if_alone(&self, out: &mut Out) {
        if let Self::Own(proven) = self
            && proven.line.is_none()
        {
            out.warn(format_args!("it is recorded, but {ABSENT}"));
        }
    }
}

impl Proven {
    fn say(&self, said: AgentRequest) -> Result<AgentReply, CommandError> {
        let heard = self
            .bubble
            .handle_agent_request(&self.agent, said, self.line.is_some())
            .map_err(|error| self.told(error))?;
        self.wake();
        Ok(heard)
    }

    /// Tells the supervisor, if one is there, that something was recorded. It would see so itself, were files watched
    /// everywhere.
    fn wake(&self) {
        if self.line.as_ref().is_some_and(|line| !line.wake(&self.bubble))
            && let Some(line) = Client::new(&self.bubble.engine).call()
        {
            // The first line was hung up while the turn was waited for; a supervisor that ended needs no call.
            line.wake(&self.bubble);
        }
    }

    /// Tells why a verb was refused; a turn that nobody opens is told with the way to have it opened. Only a person can
    /// start a supervisor.
    fn told(&self, error: EngineError) -> CommandError {
        let opening = matches!(&error, EngineError::Refused { refusal, .. }
            if matches!(**refusal, Refusal::StillOpening { .. }));
        let error = match &error {
            EngineError::Refused { .. } => Denial::to_agent(self.driver, &error).into(),
            _ => CommandError::from(error),
        };
        if !opening || self.line.is_some() {
            return error;
        }
        CommandError { message: format!("{} ({ABSENT})", error.message), ..error }
    }
}

impl Seated {
    fn say(&self, said: AgentRequest) -> Result<AgentReply, CommandError> {
        let words = AgentCall { said, id: self.id.as_deref(), cwd: self.cwd.as_deref(), patience: self.patience };
        send(&self.socket, words).map_err(|lost| self.told(lost))
    }

    fn told(&self, lost: SendError) -> CommandError {
        let socket = self.socket.display();
        let id = self.id.as_deref().unwrap_or("ID");
        match lost {
            SendError::Denied(denial) => denial.into(),
            SendError::Absent(_) => CommandError::world(format_args!(
                "no supervisor is running, so nothing was recorded; tell the person to run `pairflow supervise` or \
                 `pairflow resume {id}`, then say it again."
            )),
            SendError::Forbidden(why) => CommandError::world(format_args!(
                "this process may not connect to {socket} ({why}); tell the person that the agent's sandbox keeps it from pairflow."
            )),
            SendError::Unanswered(why) => CommandError::world(format_args!(
                "the supervisor has not answered ({why}), so it is not known whether this is recorded; say it again with the \
                 same words: they are recorded once."
            )),
            SendError::TooLong => {
                CommandError::usage(format_args!("{lost}; put it into a file and point to that with --ref."))
            }
        }
    }
}

/// Refuses an agent that names another bubble than its own.
fn insist_on_own(caller: &AgentCaller, named: Option<&str>) -> Result<(), CommandError> {
    match (&caller.bubble, named.filter(|other| caller.bubble.as_deref() != Some(other))) {
        (Some(bubble), Some(other)) => Err(Denial::other_bubble(bubble, other).into()),
        _ => Ok(()),
    }
}

fn not_an_agent() -> CommandError {
    CommandError::refused(
        "this verb is for agents: PAIRFLOW_BUBBLE, PAIRFLOW_AGENT and PAIRFLOW_TOKEN say who is calling.",
    )
    .next("eval \"$(pairflow env ID --agent NAME)\"")
}
