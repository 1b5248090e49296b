//! The proven sender of an agent's verb.

use std::path::PathBuf;

use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::unit::{Command, Refusal, Unit};
use pairflow_engine::engine::{Applied, Bubble, EngineError, Token};
use pairflow_engine::supervise::{Client, Line};
use pairflow_engine::verbs::{Place, locate};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// What an agent is told that works without a supervisor.
const ABSENT: &str =
    "the supervisor is not running, so nothing goes on: tell the person to run `pairflow supervise`, then wait";

/// An agent that has proven who it is.
pub struct Sender {
    /// Its bubble.
    pub bubble: Bubble,
    /// Its name.
    pub agent: AgentId,
    /// The bubble's state when it was proven.
    pub unit: Unit,
    /// Whether a supervisor is there to open turns.
    pub attended: bool,
    line: Option<Line>,
}

impl App {
    /// Returns the agent that is calling, proven by its token. `named` has to be the bubble that it works in.
    pub fn sender(&self, named: Option<&str>) -> Result<Sender, CommandError> {
        let caller = self.caller().ok_or_else(not_an_agent)?;
        let (Some(bubble), Some(agent), Some(token)) = (&caller.bubble, &caller.agent, &caller.token) else {
            return Err(not_an_agent());
        };
        if let Some(other) = named.filter(|other| other != bubble) {
            let message = format!("this agent works in bubble {bubble}, not in '{other}'.");
            return Err(CommandError::refused(message).next(format_args!("pairflow status {bubble}")));
        }
        let id: BubbleId =
            bubble.parse().map_err(|why| CommandError::refused(format_args!("PAIRFLOW_BUBBLE: {why}.")))?;
        let agent: AgentId =
            agent.parse().map_err(|why| CommandError::refused(format_args!("PAIRFLOW_AGENT: {why}.")))?;
        let repo = match self.env.text("PAIRFLOW_REPO") {
            Some(repo) => PathBuf::from(repo),
            None => self.place(None)?.repo.root,
        };
        let engine = self.engine()?;
        let bubble = engine.bubble(&repo, &id)?;
        let unit = bubble.load()?.unit;
        bubble.prove(&unit, &agent, &Token::shown(token.clone()))?;
        self.at_its_place(&bubble, &unit)?;
        let line = Client::new(&engine.dirs).call();
        Ok(Sender { bubble, agent, unit, attended: line.is_some(), line })
    }
}

impl App {
    /// Refuses an agent that is in the worktree of another bubble than its own.
    fn at_its_place(&self, bubble: &Bubble, unit: &Unit) -> Result<(), CommandError> {
        let cwd = self.cwd()?;
        if unit.workspace.as_ref().is_some_and(|own| cwd.starts_with(&own.path)) {
            return Ok(());
        }
        let Ok(Place { repo, bubble: Some(other) }) = locate(cwd) else { return Ok(()) };
        if other == bubble.id && repo.root == bubble.control.repo() {
            return Ok(());
        }
        let message =
            format!("this agent works in bubble {}, and {} belongs to bubble {other}", bubble.id, cwd.display());
        let own = unit.workspace.as_ref().map(|own| own.path.as_str()).unwrap_or_default();
        Err(CommandError::refused(message).next(format_args!("cd '{own}'")))
    }
}

impl Sender {
    /// Records the agent's verb; while its own turn is still opening, it waits a little.
    pub fn send(&self, command: &Command) -> Result<Applied, CommandError> {
        let applied = self.bubble.apply_when_open(command, self.attended).map_err(|error| self.told(error))?;
        self.wake();
        Ok(applied)
    }

    /// Tells the supervisor, if one is there, that something was recorded. It would see so itself, were files watched
    /// everywhere.
    pub fn wake(&self) {
        if self.line.as_ref().is_some_and(|line| !line.wake(&self.bubble))
            && let Some(line) = Client::new(&self.bubble.engine.dirs).call()
        {
            // The first line was hung up while the turn was waited for; a supervisor that ended needs no call.
            line.wake(&self.bubble);
        }
    }

    /// Tells why a verb was refused; a turn that nobody opens is told with the way to have it opened.
    pub fn told(&self, error: EngineError) -> CommandError {
        match &error {
            EngineError::Refused { refusal, .. } if matches!(**refusal, Refusal::StillOpening { .. }) => {
                self.absent_hint(error.into())
            }
            _ => error.into(),
        }
    }

    /// Checks the files that a message points to: artifacts of the bubble, or files of its worktree.
    pub fn refs(&self, given: &[String]) -> Result<Vec<String>, CommandError> {
        given.iter().map(|one| Ok(self.bubble.reference(&self.unit, one)?)).collect()
    }

    /// Says what to do when nobody is there to open the turn. Only a person can start a supervisor.
    pub fn absent_hint(&self, error: CommandError) -> CommandError {
        if self.attended {
            return error;
        }
        CommandError { message: format!("{} ({ABSENT})", error.message), ..error }
    }

    /// Warns that nobody is there to go on with what was recorded.
    pub fn warn_if_alone(&self, out: &mut Out) {
        if !self.attended {
            out.warn(format_args!("it is recorded, but {ABSENT}"));
        }
    }
}

fn not_an_agent() -> CommandError {
    CommandError::refused(
        "this verb is for agents: PAIRFLOW_BUBBLE, PAIRFLOW_AGENT and PAIRFLOW_TOKEN say who is calling.",
    )
    .next("eval \"$(pairflow env ID --agent NAME)\"")
}
