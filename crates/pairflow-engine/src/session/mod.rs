//! Interactive agents: one tmux session a bubble, with a pane for the status view and one for each agent.
//!
//! A thread of the supervisor brings the panes in line with the log, and reports what it sees as commands. Nothing that
//! it remembers is needed: after a crash the next thread finds the session by its name, the panes by their tags, and the
//! rest in the log.

mod agent_process;
mod hooks;
mod notice;
mod notice_delivery;
mod panes;
mod permission;
mod screen_state;
mod session_loop;
mod session_state;
mod status_files;

pub use permission::HOOK_WAIT;
pub use status_files::{Activity, held_notice};

pub(crate) use session_loop::{SessionHandle, SessionSetup};
pub(crate) use status_files::remove_dead;
