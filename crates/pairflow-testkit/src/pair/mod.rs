//! Whole interactive bubbles with the real agent CLIs: a home for pairflow, a home for the CLIs, a mock model that plays
//! both minds, and the tmux sessions that pairflow makes. Nothing leaves 127.0.0.1.

mod kills;
mod machine;
mod notices;
mod story;

pub use kills::{Killed, survive};
pub use machine::{Begun, Minds, Pair, Transcript, Turn};
pub use notices::{Told, tell};
pub use story::{live, live_in_turn, live_together, minds};
