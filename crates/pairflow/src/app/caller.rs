//! Who is calling: a person, or an agent.
//!
//! Commands for people are refused to agents and to everything that they started: by the environment, by the ancestors of
//! the process, and by its namespaces. An agent proves who it is by its token, or speaks through its own socket.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, HiddenLooks, Refusal, hidden_from};
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::log::Warning;
use pairflow_core::rules::DriverKind;
use pairflow_engine::agent_socket::{AgentCall, SendError, report_attempt, send};
use pairflow_engine::caller::{CallerProcess, Namespaces, StartedBy};
use pairflow_engine::engine::{AgentToken, Bubble, Denial, EngineError};
use pairflow_engine::process::MARK;
use pairflow_engine::supervisor_client::{Client, SupervisorConnection};
use pairflow_engine::verbs::{AgentReply, AgentRequest};

use crate::app::App;
use crate::args::BubbleArg;
use crate::exit::{CommandError, Exit};
use crate::out::Out;

/// The variables that mark the environment of an agent.
const MARKS: [&str; 4] = ["PAIRFLOW_BUBBLE", "PAIRFLOW_AGENT", "PAIRFLOW_TOKEN", "PAIRFLOW_SOCKET"];

/// What the environment says about the agent that is calling. Whether it is true, the token or the socket decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCaller {
    /// The bubble that it works in.
    pub bubble: Option<String>,
    /// Its name.
    pub agent: Option<String>,
    /// Its proof.
    pub token: Option<String>,
    /// The socket of its seat.
    pub socket: Option<PathBuf>,
}

impl App {
    /// Returns the agent that is calling, or nothing for a person.
    ///
    /// One of the variables is enough, set to anything: an agent must not become a person by clearing the others.
    pub fn caller(&self) -> Option<AgentCaller> {
        let marked = MARKS.iter().any(|name| self.env.get(name).is_some());
        let [bubble, agent, token, socket] = MARKS.map(|name| self.env.text(name));
        marked.then_some(AgentCaller { bubble, agent, token, socket: socket.map(PathBuf::from) })
    }
}

impl AgentCaller {
    /// Says that `verb` is for people.
    pub(crate) fn refusal(&self, verb: &str) -> CommandError {
        let message = format!("'{verb}' is for people, but this is the environment of {self}.");
        CommandError::new(Exit::HumanVerb, message).next("pairflow ask-human --question \"…\"")
    }
}

impl fmt::Display for AgentCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.agent {
            Some(agent) => write!(f, "the agent {agent}")?,
            None => f.write_str("an agent")?,
        }
        match &self.bubble {
            Some(bubble) => write!(f, " in bubble {bubble}"),
            None => Ok(()),
        }
    }
}

impl App {
    /// Refuses a human verb to everybody but people. `about` is what the command names: the bubble, if it takes one, and
    /// the repository.
    pub(crate) fn only_people(
        &self,
        verb: &str,
        about: Option<&BubbleArg>,
        repo: Option<&Path>,
    ) -> Result<(), CommandError> {
        self.no_agents(verb, repo, CallerProcess::this)?;
        let Ok(engine) = self.engine() else { return Ok(()) };
        Namespaces::insist(&engine.dirs).map_err(|elsewhere| {
            if let Some(Ok(bubble)) = about.map(|about| self.bubble(about, verb)) {
                bubble.warn_of_outsider(verb, format!("'{verb}' was called from another PID or user namespace"));
            }
            CommandError::new(Exit::HumanVerb, format!("'{verb}' is for people, but {elsewhere}."))
        })
    }

    /// Refuses what only the process of a pane does to an agent. That process may be on record already, as the agent
    /// that it is about to become; none of its parents is.
    pub(crate) fn only_panes(&self, verb: &str, repo: &Path) -> Result<(), CommandError> {
        self.no_agents(verb, Some(repo), CallerProcess::parents_of_this)
    }

    fn no_agents(&self, verb: &str, repo: Option<&Path>, caller: fn() -> CallerProcess) -> Result<(), CommandError> {
        if let Some(caller) = self.caller() {
            self.record_attempt(&caller, verb);
            return Err(caller.refusal(verb));
        }
        let owner = self.engine().ok().and_then(|engine| {
            let owner = caller().owner(&engine, None, &self.nearby_repositories(repo))?;
            owner.warn(&engine, verb, format!("'{verb}' is for people"));
            Some(owner)
        });
        if owner.is_some() || self.env.get(MARK).is_some() {
            let message = format!(
                "'{verb}' is for people, but this process was started by an agent, a check or a setup command of a bubble."
            );
            return Err(CommandError::new(Exit::HumanVerb, message).next("pairflow ask-human --question \"…\""));
        }
        Ok(())
    }

    /// Refuses a command that shows everything to an agent that is not to know yet what the others found.
    pub(crate) fn refuse_during_first_look(&self, bubble: &Bubble) -> Result<(), CommandError> {
        // A log that cannot be read is reported by the command itself.
        let Ok(loaded) = bubble.refresh() else { return Ok(()) };
        if self.hidden(bubble, &loaded.state).agents.is_empty() {
            return Ok(());
        }
        let message = "this shows what the other agents found, and your own first look comes before that";
        Err(CommandError::refused(message).next(format_args!("pairflow status {}", bubble.id)))
    }

    /// Returns what the caller is not shown of a bubble: nothing is hidden from a person.
    ///
    /// The environment is believed here, because it can only hide something. An agent that cleared it is known by its
    /// parents, which are looked up only if there is something to hide.
    pub(crate) fn hidden(&self, bubble: &Bubble, state: &BubbleState) -> HiddenLooks {
        if hidden_from(state, &nobody()).agents.is_empty() {
            return HiddenLooks::default();
        }
        let started = || {
            let engine = self.engine().ok()?;
            let owner = CallerProcess::this().owner(&engine, None, &[bubble.control.repo().to_owned()])?;
            Some(match owner.started {
                StartedBy::Agent(agent) => agent,
                StartedBy::Job(..) => nobody(),
            })
        };
        let named = self.caller().map(|caller| caller.agent.and_then(|name| name.parse().ok()).unwrap_or_else(nobody));
        named.or_else(started).map(|agent| hidden_from(state, &agent)).unwrap_or_default()
    }

    /// The repository that was named, and the one around the current directory.
    fn nearby_repositories(&self, named: Option<&Path>) -> Vec<PathBuf> {
        let places = [named.map(|path| self.place(Some(path))), Some(self.place(None))];
        places.into_iter().flatten().flatten().map(|place| place.repo.root).collect()
    }

    /// Records the attempt if the token or the socket proves who made it. A caller that proves nothing leaves no trace in a
    /// log.
    fn record_attempt(&self, caller: &AgentCaller, verb: &str) {
        if let Some(socket) = &caller.socket {
            return report_attempt(socket, verb);
        }
        let Some((bubble, agent)) = self.proven(caller) else { return };
        let reason = format!("'{verb}' is for people");
        let warning = Warning { command: verb.to_owned(), reason, unmet: Vec::new() };
        // The call is refused whether or not that can be recorded.
        let _ = bubble.warn_sender(&agent, warning);
    }

    fn proven(&self, caller: &AgentCaller) -> Option<(Bubble, AgentId)> {
        let id: BubbleId = caller.bubble.as_ref()?.parse().ok()?;
        let agent: AgentId = caller.agent.as_ref()?.parse().ok()?;
        let token = AgentToken::shown(caller.token.clone()?);
        let repo = match self.env.text("PAIRFLOW_REPO") {
            Some(repo) => PathBuf::from(repo),
            None => self.place(None).ok()?.repo.root,
        };
        let bubble = self.engine().ok()?.bubble(&repo, &id).ok()?;
        bubble.prove(&bubble.load().ok()?.state, &agent, &token).ok()?;
        Some((bubble, agent))
    }
}

/// A reader of which is known only that it is no person: it is shown what no agent is kept from.
fn nobody() -> AgentId {
    "nobody".parse().expect("the name is valid")
}

/// The message for agents while no supervisor is running.
const ABSENT: &str = "no supervisor is running; ask the person to run `pairflow supervise`, then wait";

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
        require_own_bubble(&caller, named)?;
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
        require_own_bubble(&caller, named)?;
        if caller.socket.is_some() {
            return self.seat_of(&caller).map(Some);
        }
        self.prove(&caller).map(|proven| Some((proven.bubble, proven.agent)))
    }

    fn prove(&self, caller: &AgentCaller) -> Result<Proven, CommandError> {
        let Some(token) = &caller.token else { return Err(not_an_agent()) };
        let (bubble, agent) = self.seat_of(caller)?;
        let state = bubble.load()?.state;
        bubble.prove(&state, &agent, &AgentToken::shown(token.clone()))?;
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

    /// Warns if no supervisor is running.
    pub fn warn_if_alone(&self, out: &mut Out) {
        if let Self::Own(proven) = self
            && proven.line.is_none()
        {
            out.warn(format_args!("recorded, but {ABSENT}"));
        }
    }
}

impl Proven {
    fn say(&self, said: AgentRequest) -> Result<AgentReply, CommandError> {
        let heard = self
            .bubble
            .handle_agent_request(&self.agent, said, self.line.is_some())
            .map_err(|error| self.command_error(error))?;
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

    /// Explains a refusal. While no supervisor is running, a turn that is still opening needs one, which only a person can
    /// start.
    fn command_error(&self, error: EngineError) -> CommandError {
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
        send(&self.socket, words).map_err(|lost| self.command_error(lost))
    }

    fn command_error(&self, lost: SendError) -> CommandError {
        let socket = self.socket.display();
        let id = self.id.as_deref().unwrap_or("ID");
        match lost {
            SendError::Denied(denial) => denial.into(),
            SendError::Absent(_) => CommandError::io(format_args!(
                "nothing was recorded: no supervisor is running; ask the person to run `pairflow supervise` or \
                 `pairflow resume {id}`, then re-run the command."
            )),
            SendError::Forbidden(why) => CommandError::io(format_args!(
                "cannot connect to {socket} ({why}); tell the person that the agent's sandbox blocks pairflow."
            )),
            SendError::Unanswered(why) => CommandError::io(format_args!(
                "the supervisor did not answer ({why}), so the command may or may not be recorded; re-run the same command: \
                 duplicates are ignored."
            )),
            SendError::TooLong => {
                CommandError::usage(format_args!("{lost}; put it into a file and refer to it with --ref."))
            }
        }
    }
}

/// Refuses an agent that names another bubble than its own.
fn require_own_bubble(caller: &AgentCaller, named: Option<&str>) -> Result<(), CommandError> {
    match (&caller.bubble, named.filter(|other| caller.bubble.as_deref() != Some(other))) {
        (Some(bubble), Some(other)) => Err(Denial::other_bubble(bubble, other).into()),
        _ => Ok(()),
    }
}

fn not_an_agent() -> CommandError {
    CommandError::refused("this command is for agents; PAIRFLOW_BUBBLE, PAIRFLOW_AGENT and PAIRFLOW_TOKEN must be set.")
        .next("eval \"$(pairflow env ID --agent NAME)\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Grammar;
    use crate::world::{Env, World};

    fn app(variables: &[(&str, &str)]) -> App {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.into()));
        let world = World { env: Env::Fixed(variables.collect()), ..World::empty() };
        App::split(world, Grammar::empty()).0
    }

    #[test]
    fn one_variable_is_enough_to_be_an_agent_even_if_it_is_empty() {
        assert_eq!(app(&[("CLAUDECODE", "1"), ("PAIRFLOW_LOG", "x")]).caller(), None);
        for name in MARKS {
            assert!(app(&[(name, "x")]).caller().is_some(), "{name}");
            assert!(app(&[(name, "")]).caller().is_some(), "{name} set to nothing");
        }
    }

    #[test]
    fn the_refusal_names_agent_bubble_and_verb() {
        let agent = app(&[("PAIRFLOW_BUBBLE", "login"), ("PAIRFLOW_AGENT", "codex")]).caller().unwrap();
        let error = agent.refusal("approve");
        assert_eq!(error.exit.code(), 77);
        assert_eq!(
            error.message,
            "'approve' is for people, but this is the environment of the agent codex in bubble login."
        );
        assert!(app(&[("PAIRFLOW_TOKEN", "t")]).caller().unwrap().refusal("ok").message.contains("an agent."));
    }
}
