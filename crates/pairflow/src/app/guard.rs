//! Keeps human verbs from agents and from what they wrote: by the environment, by the process that one descends from,
//! and by the namespaces in which one runs. A check runs an agent's code, so whatever pairflow has started for a bubble
//! counts.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::log::Warning;
use pairflow_engine::agent_socket::report_attempt;
use pairflow_engine::caller::{CallerProcess, Namespaces};
use pairflow_engine::engine::{Bubble, Token};
use pairflow_engine::process::MARK;

use crate::app::{AgentCaller, App};
use crate::args::BubbleArg;
use crate::exit::{CommandError, Exit};

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
            CommandError::new(Exit::HumanVerb, format!("'{verb}' is for people, and {elsewhere}."))
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
            let owner = caller().owner(&engine, None, &self.near(repo))?;
            owner.warn(&engine, verb, format!("'{verb}' is for people"));
            Some(owner)
        });
        if owner.is_some() || self.env.get(MARK).is_some() {
            let message = format!(
                "'{verb}' is for people, and this process was started by an agent, a check or a setup command of a bubble."
            );
            return Err(CommandError::new(Exit::HumanVerb, message).next("pairflow ask-human --question \"…\""));
        }
        Ok(())
    }

    /// The repository that was named, and the one around the current directory.
    fn near(&self, named: Option<&Path>) -> Vec<PathBuf> {
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
        // The refusal stands whether or not it can be recorded.
        let _ = bubble.warn_sender(&agent, warning);
    }

    fn proven(&self, caller: &AgentCaller) -> Option<(Bubble, AgentId)> {
        let id: BubbleId = caller.bubble.as_ref()?.parse().ok()?;
        let agent: AgentId = caller.agent.as_ref()?.parse().ok()?;
        let token = Token::shown(caller.token.clone()?);
        let repo = match self.env.text("PAIRFLOW_REPO") {
            Some(repo) => PathBuf::from(repo),
            None => self.place(None).ok()?.repo.root,
        };
        let bubble = self.engine().ok()?.bubble(&repo, &id).ok()?;
        bubble.prove(&bubble.load().ok()?.state, &agent, &token).ok()?;
        Some((bubble, agent))
    }
}
