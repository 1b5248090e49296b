//! Whole interactive bubbles with the real agent CLIs: a home for pairflow, a home for the CLIs, a mock model that plays
//! the models of both agents, and the tmux sessions that pairflow makes. Nothing leaves 127.0.0.1.

mod dispute;
mod kills;
mod machine;
mod notices;
mod story;

pub use dispute::settle_dispute;
pub use kills::{Killed, survive};
pub use machine::{Begun, ModelScript, Pair, Transcript, Turn};
pub use notices::{NoticeCount, tell};
pub use story::{live, live_in_turn, live_together, model_script};
