//! How an agent in a pane is run: what it may do without asking, and what `[agent.NAME]` of a configuration says.

use serde::{Deserialize, Serialize};

/// What agents in panes may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Look around and call pairflow; every change is asked about.
    Ask,
    /// Change files of the worktree, call pairflow and run the bubble's checks.
    #[default]
    Edits,
    /// Everything; only where a sandbox holds the agent.
    All,
}

/// One `[agent.NAME]` of the configuration: an agent of its own, or what is added to a known one of that name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomAgent {
    /// The program and its arguments; empty means that a known agent is only added to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments that are added to every start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The program and its arguments that go on with an earlier conversation; `{session}` stands for its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume: Vec<String>,
    /// How the first prompt gets there.
    #[serde(default)]
    pub prompt: PromptBy,
    /// Which hooks it understands, if that was said: a known agent has its own, any other one none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HookKind>,
    /// The names of variables of the person that it gets as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

/// How the first prompt reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    /// As the last argument.
    #[default]
    Argument,
    /// Pasted into its pane.
    Paste,
}

/// Whose hooks an agent understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookKind {
    /// Those of Claude Code, by `--settings`.
    Claude,
    /// Those of Codex, by `-c`.
    Codex,
    /// None: it is heard of by its commands alone.
    None,
}
