//! The tokens with which agents prove who they are, and the environment that they are started with.

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::hash::{hex, sha256};
use pairflow_core::ids::AgentId;

use crate::engine::{Bubble, EngineError};
use crate::store::random;

/// A secret that an agent process holds. Only its hash is ever stored.
#[derive(Clone)]
pub struct AgentToken(String);

impl AgentToken {
    /// Draws a new token: 256 random bits.
    pub fn draw() -> Result<Self, EngineError> {
        let bytes = random().map_err(|error| EngineError::io("cannot draw random numbers for a token", error))?;
        Ok(Self(hex(&bytes)))
    }

    /// Takes the token that a caller shows.
    pub fn shown(text: String) -> Self {
        Self(text)
    }

    /// Returns the secret itself, to hand it to the agent.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the SHA-256 of the secret.
    pub fn hash(&self) -> String {
        sha256(self.0.as_bytes())
    }
}

impl Bubble {
    /// Lets `agent` in with a new token; the old one is void.
    ///
    /// Returns the token with the state that it was recorded in.
    pub fn mint(&self, agent: &AgentId) -> Result<(AgentToken, BubbleState), EngineError> {
        let token = AgentToken::draw()?;
        let applied = self.apply(&Command::MintToken { agent: agent.clone(), token_sha256: token.hash() })?;
        Ok((token, applied.state))
    }

    /// Whether `token` proves that the caller is `agent`.
    pub fn prove(&self, state: &BubbleState, agent: &AgentId, token: &AgentToken) -> Result<(), EngineError> {
        let proven = state.presence.tokens.get(agent).is_some_and(|hash| *hash == token.hash());
        if proven {
            return Ok(());
        }
        let id = &self.id;
        Err(EngineError::NotProven(format!(
            "the token is not that of {agent} in bubble {id}; get a new one with 'pairflow env {id} --agent {agent}'"
        )))
    }

    /// Returns the file in which an agent finds what its turn is about.
    pub fn brief(&self, agent: &AgentId) -> std::path::PathBuf {
        self.dir().join(format!("artifacts/brief-{agent}.md"))
    }
}

/// Returns the variables that an agent process needs to join a bubble.
pub fn environment(bubble: &Bubble, state: &BubbleState, agent: &AgentId, token: &AgentToken) -> Vec<(String, String)> {
    agent_variables(bubble, state, agent, ("PAIRFLOW_TOKEN", token.reveal().to_owned()))
}

/// Returns the variables for an agent process that pairflow starts: its socket proves who it is, so it holds no secret.
pub(crate) fn interactive_environment(bubble: &Bubble, state: &BubbleState, agent: &AgentId) -> Vec<(String, String)> {
    let socket = bubble.control.seat_socket(&bubble.id, agent).display().to_string();
    agent_variables(bubble, state, agent, ("PAIRFLOW_SOCKET", socket))
}

fn agent_variables(
    bubble: &Bubble,
    state: &BubbleState,
    agent: &AgentId,
    proof: (&str, String),
) -> Vec<(String, String)> {
    let variables = [
        ("PAIRFLOW_BUBBLE", bubble.id.to_string()),
        ("PAIRFLOW_REPO", bubble.control.repo().display().to_string()),
        ("PAIRFLOW_AGENT", agent.to_string()),
        proof,
        ("PAIRFLOW_BRIEF", bubble.brief(agent).display().to_string()),
    ];
    let ports = state.evidence.workspace.iter().flat_map(|record| port_variables(record.port, record.ports));
    variables.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(ports).collect()
}

/// The leased ports, as agents and checks see them.
pub(crate) fn port_variables(first: u16, count: u16) -> Vec<(String, String)> {
    [("PORT", first), ("PORT_BASE", first), ("PORT_COUNT", count)]
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .to_vec()
}
