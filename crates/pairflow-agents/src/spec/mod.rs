//! What pairflow knows about each agent program: how it is started, goes on, is prompted, reports and asks.
//!
//! An agent is data, an [`AgentSpec`], plus at most one small function that tells the program about our hooks. A new
//! one is a file here and its lines in `known.rs`; one that a person has for themselves is an `[agent.NAME]` of the
//! configuration. Nothing here starts anything or reads the real environment.

mod claude;
mod codex;
mod known;
mod model;

pub use known::spec_of;
pub use model::{
    AgentSpec, EnvNames, HOOK_EVENTS, HookSpec, OldestVersion, Opening, PermissionWords, Version, environment,
};
pub use pairflow_engine::driver::dialog_on;
