//! The real program against real git, tmux, terminals and agents: one module an area.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod bad_input;
mod base_branch;
mod cli;
mod daily;
mod evidence;
mod faults;
mod panes;
mod real_agents;
mod seat;
mod spec;
mod supervisor;
mod support;
mod trust;
mod verbs;
