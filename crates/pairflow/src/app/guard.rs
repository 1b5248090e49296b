//! Keeps human verbs from agents and from what they wrote: by the environment, and by the process that one descends
//! from. A check runs an agent's code, so whatever pairflow has started for a bubble counts.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::log::Warning;
use pairflow_engine::engine::{Bubble, Token};
use pairflow_engine::process::{MARK, Record, ancestors_include, parents_include, records};
use pairflow_engine::seat::attempted;

use crate::app::{AgentCaller, App};
use crate::exit::{CommandError, Exit};

impl App {
    /// Refuses a human verb to an agent. `repo` is the repository that was named, if one was.
    pub(crate) fn only_people(&self, verb: &str, repo: Option<&Path>) -> Result<(), CommandError> {
        self.no_agents(verb, || ancestors_include(&self.recorded_near(repo)))
    }

    /// Refuses what only the process of a pane does to an agent. That process may be on record already, as the agent
    /// that it is about to become; none of its parents is.
    pub(crate) fn only_panes(&self, verb: &str, repo: &Path) -> Result<(), CommandError> {
        self.no_agents(verb, || parents_include(&self.recorded_near(Some(repo))))
    }

    fn no_agents(&self, verb: &str, descends: impl FnOnce() -> bool) -> Result<(), CommandError> {
        if let Some(caller) = self.caller() {
            self.record_attempt(&caller, verb);
            return Err(caller.refusal(verb));
        }
        if self.env.get(MARK).is_some() || descends() {
            let message = format!(
                "'{verb}' is for people, and this process was started by an agent, a check or a setup command of a bubble."
            );
            return Err(CommandError::new(Exit::HumanVerb, message).next("pairflow ask-human --question \"…\""));
        }
        Ok(())
    }

    /// Records the attempt if the token or the socket proves who made it. Whoever proves nothing leaves no trace in a
    /// log.
    fn record_attempt(&self, caller: &AgentCaller, verb: &str) {
        if let Some(socket) = &caller.socket {
            return attempted(socket, verb);
        }
        let Some((bubble, agent)) = self.proven(caller) else { return };
        let reason = format!("'{verb}' is for people");
        let warning = Warning { command: verb.to_owned(), reason, unmet: Vec::new(), explanation_asked: false };
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
        bubble.prove(&bubble.load().ok()?.unit, &agent, &token).ok()?;
        Some((bubble, agent))
    }

    /// Every process group that is on record for a bubble: of the repository that was named, of the one around the
    /// current directory, or of any other that is known.
    fn recorded_near(&self, named: Option<&Path>) -> Vec<Record> {
        let places = [named.map(|path| self.place(Some(path))), Some(self.place(None))];
        let mut roots: Vec<PathBuf> = places.into_iter().flatten().flatten().map(|place| place.repo.root).collect();
        roots.extend(self.engine().map(|engine| engine.repositories()).unwrap_or_default());
        roots.sort();
        roots.dedup();
        roots.iter().flat_map(|root| recorded(root)).collect()
    }
}

/// Every process group that is on record for a bubble of the repository at `root`.
fn recorded(root: &Path) -> Vec<Record> {
    let Ok(bubbles) = std::fs::read_dir(root.join(".pairflow/runtime")) else { return Vec::new() };
    let of_bubble = |dir: PathBuf| {
        let panes = std::fs::read_dir(dir.join("panes")).into_iter().flatten().flatten().map(|pane| pane.path());
        panes.chain([dir.join("processes")]).collect::<Vec<_>>()
    };
    let registries = bubbles.flatten().flat_map(|entry| of_bubble(entry.path()));
    registries.filter_map(|dir| records(&dir).ok()).flatten().collect()
}
