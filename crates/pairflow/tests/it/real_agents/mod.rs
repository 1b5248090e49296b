//! The real Claude Code and the real Codex against the mock model.

mod launches;
mod permission;
mod stories;
