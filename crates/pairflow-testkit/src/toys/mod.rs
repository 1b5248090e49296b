//! A machine with toy agents in panes: the real program, the real tmux, and a script in the place of each agent CLI.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod bubble;
mod crowd;
mod machine;

pub use bubble::{Note, Own};
pub use crowd::{is_told_its_own, live_together};
pub use machine::{LOOK, Machine, PLAY_FINDING};
