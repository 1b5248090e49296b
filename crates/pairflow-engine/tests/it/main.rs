//! The engine against the real git, tmux and processes.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod git;
mod process;
mod proofs;
mod support;
mod tmux;
