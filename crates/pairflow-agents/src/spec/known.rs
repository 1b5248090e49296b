//! Which description an agent has, and what only the known programs can do. A new one has its lines here.

use pairflow_core::ids::AgentId;
use pairflow_core::rules::{CustomAgent, HookKind};
use pairflow_engine::driver::{SeatStart, Trouble};

use super::model::AgentSpec;
use super::{claude, codex, generic};

/// Finds the description of an agent: its own name, or what the configuration says about it.
pub fn spec_of(agent: &AgentId, custom: Option<&CustomAgent>) -> Result<AgentSpec, String> {
    let known = match agent.as_str() {
        "claude" => Some(claude::spec()),
        "codex" => Some(codex::spec()),
        _ => None,
    };
    let hooked = custom.and_then(|custom| custom.hooks).and_then(of_kind);
    generic::spec(agent, known, hooked, custom)
}

/// Returns the description of the program whose hooks are of this kind.
fn of_kind(kind: HookKind) -> Option<AgentSpec> {
    match kind {
        HookKind::Claude => Some(claude::spec()),
        HookKind::Codex => Some(codex::spec()),
        HookKind::None => None,
    }
}

impl AgentSpec {
    /// Returns the program and its arguments, and writes the files that they name.
    pub fn argv(&self, seat: &SeatStart) -> Result<Vec<String>, String> {
        self.words_of_start(seat, || self.hook_words(seat))
    }

    /// Says why the last turn failed, out of the end of the program's own record of the conversation.
    pub fn trouble(&self, record_end: &str) -> Option<Trouble> {
        match self.hooks {
            HookKind::Claude => claude::trouble(record_end),
            HookKind::Codex => codex::trouble(record_end),
            HookKind::None => None,
        }
    }

    fn hook_words(&self, seat: &SeatStart) -> Result<Vec<String>, String> {
        match self.hooks {
            HookKind::Claude => claude::hook_words(seat, self.mute),
            HookKind::Codex => Ok(codex::hook_words(seat, self.mute)),
            HookKind::None => Ok(Vec::new()),
        }
    }
}
