//! What pairflow knows about each agent program: how it is started, goes on, is prompted, reports and asks.
//!
//! An agent is data, an [`AgentSpec`], plus at most one small function that tells the program about our hooks. A new
//! one is a file here and its lines in `known.rs`; one that a person has for themselves is an `[agent.NAME]` of the
//! configuration. Nothing here starts anything or reads the real environment.

mod claude;
mod codex;
mod environment;
mod generic;
mod hooks;
mod known;
mod model;
mod version;

pub use environment::{EnvNames, environment};
pub use hooks::{HOOK_EVENTS, HookEvent};
pub use known::spec_of;
pub use model::{AgentSpec, Opening, PermissionWords};
pub use pairflow_engine::driver::dialog_on;
pub use version::{OldestVersion, Version};
