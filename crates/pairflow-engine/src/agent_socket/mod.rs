//! The door of an agent that pairflow has started itself: one socket for each seat of a bubble.
//!
//! The socket is the identity. No request can name another agent; so an agent holds no secret, writes no log, and can be
//! kept away from the control directory. A caller that was started by somebody else, another agent or a check, is turned
//! away and warned; one of whom nothing is known, such as a person's shell, speaks for the agent. Verbs are applied where
//! the socket is; what the hooks of an agent report is handed on. Nothing that an agent prints comes through here.

mod client;
mod hook;
mod hook_input;
mod server;

pub use client::{AgentCall, SendError, attempted, report, say};
pub use hook::{HookAnswer, HookCall, HookEvent, HookName};
pub use server::AgentSocket;
