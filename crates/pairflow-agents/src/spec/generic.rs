//! Agents out of the configuration: `[agent.NAME]` describes a program of its own, or adds to one that is known.
//!
//! ```toml
//! [agent.codex]                 # a known agent: only what is added
//! env = ["MY_PROVIDER_KEY"]
//! hooks = "none"                # Codex without hooks; with `command` and `hooks = "claude"` it is a Claude Code
//!
//! [agent.work-claude]           # Claude Code under another name: everything else is Claude Code's
//! command = ["/opt/claude-at-work"]
//! hooks = "claude"
//!
//! [agent.other]                 # any other program; it is heard of by its commands alone
//! command = ["other", "--chat", "{session}"]
//! resume = ["other", "--go-on", "{session}"]
//! prompt = "paste"
//! ```

use pairflow_core::ids::AgentId;
use pairflow_core::rules::{CustomAgent, HookKind, PromptBy};

use super::environment::EnvNames;
use super::model::{AgentSpec, Opening, PermissionWords};

/// Joins what is known of an agent with what the configuration says. `hooked` is the program whose hooks that names.
pub(super) fn spec(
    agent: &AgentId,
    known: Option<AgentSpec>,
    hooked: Option<AgentSpec>,
    custom: Option<&CustomAgent>,
) -> Result<AgentSpec, String> {
    let Some(custom) = custom else {
        return known.ok_or_else(|| {
            format!("pairflow does not know it; say how it is started in `[agent.{agent}]`, with `command = [\"…\"]`")
        });
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

/// The description that the rest of `[agent.NAME]` is added to.
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
        (None, None, false) => Ok(plain()),
    }
}

/// A program of which nothing is known but its words.
fn plain() -> AgentSpec {
    AgentSpec {
        fresh: Opening::default(),
        resume: None,
        args: Vec::new(),
        always: Vec::new(),
        permissions: PermissionWords::default(),
        prompt: PromptBy::Argument,
        hooks: HookKind::None,
        mute: false,
        env: EnvNames::default(),
        dialogs: Vec::new(),
        composer: None,
        sandboxed: false,
        oldest: None,
    }
}
