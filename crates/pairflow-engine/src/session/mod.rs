//! Interactive agents: one tmux session a bubble, a pane for the status view and one for each agent.
//!
//! The log says whose turn it is and which notices are out; a stage brings the panes in line with that, and reports what
//! it saw as commands. It is a thread of the supervisor. Nothing that it remembers is needed: after a crash the next
//! one finds the same session by its name, the panes by their tags and the rest in the log.

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

pub use notice::{numbers_in, text as notice_text};
pub use permission::HELD;

pub(crate) use session_loop::{SessionHandle, SessionSetup};
pub(crate) use status_files::forget_dead;
pub use status_files::{Activity, AgentRecord, held_notice};
