//! Interactive agents: one tmux session a bubble, a pane for the status view and one for each agent.
//!
//! The log says whose turn it is and which notices are out; a stage brings the panes in line with that, and reports what
//! it saw as commands. It is a thread of the supervisor. Nothing that it remembers is needed: after a crash the next
//! one finds the same session by its name, the panes by their tags and the rest in the log.

mod activity;
mod briefing;
mod door;
mod ended;
mod error;
mod held;
mod hooks;
mod interrupt;
mod kept;
mod notice;
mod overview;
mod panes;
mod permission;
mod play;
mod record;
mod room;
mod seat;
mod sight;
mod start;
mod tell;
mod vigil;

pub use activity::Activity;
pub use notice::{numbers_in, text as notice_text};
pub use overview::{Shown, held_notice};
pub use permission::HELD;

pub(crate) use door::Stage;
pub(crate) use overview::forget_dead;
pub(crate) use play::Props;
