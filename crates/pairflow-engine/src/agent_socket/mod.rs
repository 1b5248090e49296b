//! The socket of each agent that pairflow starts.
//!
//! The socket is the identity. No request can name another agent, so an agent holds no secret, writes no log, and can be
//! kept out of the control directory. A caller that another agent or a check started is refused and recorded; one of whom
//! nothing is known, such as a person's shell, speaks for the agent. Verbs are applied here; events of hooks are
//! forwarded. What an agent prints does not come through here.

mod client;
mod hook;
mod hook_input;
mod server;

pub use client::{AgentCall, SendError, report, report_attempt, send};
pub use hook::{HookAnswer, HookCall, HookEvent, HookName};
pub use server::AgentSocket;
