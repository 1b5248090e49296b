//! What pairflow knows about each agent program: how it is started, resumed and prompted, what it reports and asks.
//!
//! An agent is data, an [`AgentSpec`], and at most one function that installs our hooks. A new one is a file here and its
//! lines in `known.rs`; a person's own agent is an `[agent.NAME]` of the configuration. Nothing here starts a program or
//! reads the real environment.

mod claude;
mod codex;
mod known;
mod model;

pub use known::spec_of;
pub use model::{
    AgentSpec, EnvNames, HOOK_EVENTS, HookSpec, OldestVersion, Opening, PermissionWords, Version, environment,
};
pub use pairflow_engine::driver::dialog_on;
