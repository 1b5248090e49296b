//! A machine with toy agents in panes: the real program, the real tmux, and a script in the place of each agent CLI.

mod bubble;
mod machine;

pub(crate) use bubble::{Note, Own};
pub(crate) use machine::{Machine, PLAY_FINDING};
