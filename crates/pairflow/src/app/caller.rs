//! Who is calling: a person, or an agent in the environment that pairflow made for it.

use std::fmt;
use std::path::PathBuf;

use crate::app::App;
use crate::exit::{CommandError, Exit};

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
        let message = format!("'{verb}' is for people, and this is the environment of {self}.");
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
            "'approve' is for people, and this is the environment of the agent codex in bubble login."
        );
        assert!(app(&[("PAIRFLOW_TOKEN", "t")]).caller().unwrap().refusal("ok").message.contains("an agent."));
    }
}
