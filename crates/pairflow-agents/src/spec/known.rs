//! Finds the description of an agent: a known program, or `[agent.NAME]` of the configuration, which describes another
//! program or adds to a known one. A new program has its lines here.
//!
//! ```toml
//! [agent.codex]                 # a known agent: only what is added
//! env = ["MY_PROVIDER_KEY"]
//! hooks = "none"                # Codex without hooks
//!
//! [agent.work-claude]           # Claude Code under another name
//! command = ["/opt/claude-at-work"]
//! hooks = "claude"
//!
//! [agent.other]                 # any other program; it reports by its commands alone
//! command = ["other", "--chat", "{session}"]
//! resume = ["other", "--go-on", "{session}"]
//! prompt = "paste"
//! ```

use pairflow_core::ids::AgentId;
use pairflow_core::rules::{CustomAgent, HookKind, PromptBy};
use pairflow_engine::driver::{PaneStart, Trouble};

use super::model::{AgentSpec, Opening};
use super::{claude, codex};

/// Returns the description of an agent, by its name and its configuration.
pub fn spec_of(agent: &AgentId, custom: Option<&CustomAgent>) -> Result<AgentSpec, String> {
    let known = match agent.as_str() {
        "claude" => Some(claude::spec()),
        "codex" => Some(codex::spec()),
        _ => None,
    };
    let hooked = custom.and_then(|custom| custom.hooks).and_then(of_kind);
    merge_custom(agent, known, hooked, custom)
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
    pub fn argv(&self, seat: &PaneStart) -> Result<Vec<String>, String> {
        self.words_of_start(seat, || self.hook_words(seat))
    }

    /// Returns why the last turn failed, from the end of the program's record of the conversation.
    pub fn trouble(&self, record_end: &str) -> Option<Trouble> {
        match self.hooks {
            HookKind::Claude => claude::trouble(record_end),
            HookKind::Codex => codex::trouble(record_end),
            HookKind::None => None,
        }
    }

    fn hook_words(&self, seat: &PaneStart) -> Result<Vec<String>, String> {
        match self.hooks {
            HookKind::Claude => claude::hook_words(seat, self.mute),
            HookKind::Codex => Ok(codex::hook_words(seat, self.mute)),
            HookKind::None => Ok(Vec::new()),
        }
    }
}

/// Merges the description of a known agent with its configuration. `hooked` is the program whose hooks it names.
fn merge_custom(
    agent: &AgentId,
    known: Option<AgentSpec>,
    hooked: Option<AgentSpec>,
    custom: Option<&CustomAgent>,
) -> Result<AgentSpec, String> {
    let Some(custom) = custom else {
        return known
            .ok_or_else(|| format!("pairflow does not know this agent; add `command = [\"…\"]` to `[agent.{agent}]`"));
    };
    let mut spec = base(agent, known, hooked, custom)?;
    if !custom.command.is_empty() {
        spec.fresh.command.clone_from(&custom.command);
        let resume = spec.resume.iter_mut();
        resume.for_each(|opening| opening.command.clone_from(&custom.command));
    }
    if !custom.resume.is_empty() {
        spec.resume = Some(Opening { command: custom.resume.clone(), ..Opening::default() });
    }
    if custom.prompt == PromptBy::Paste {
        spec.prompt = PromptBy::Paste;
    }
    spec.args.extend(custom.args.iter().cloned());
    spec.env.added.extend(custom.env.iter().cloned());
    Ok(spec)
}

/// Returns the description to which the rest of `[agent.NAME]` is added.
fn base(
    agent: &AgentId,
    known: Option<AgentSpec>,
    hooked: Option<AgentSpec>,
    custom: &CustomAgent,
) -> Result<AgentSpec, String> {
    match (known, hooked, custom.command.is_empty()) {
        (Some(known), None, _) => Ok(AgentSpec { mute: custom.hooks == Some(HookKind::None), ..known }),
        (Some(known), Some(other), _) if known.hooks == other.hooks => Ok(known),
        (Some(_), Some(_), true) => Err(format!(
            "`[agent.{agent}]` gives it the hooks of another program and does not name that program; add \
             `command = [\"…\"]`, or take `hooks` out"
        )),
        (_, Some(other), false) => Ok(other),
        (None, _, true) => Err(format!("`[agent.{agent}]` does not say how it is started; add `command = [\"…\"]`")),
        (None, None, false) => Ok(AgentSpec::plain(Opening::default())),
    }
}
