//! Whole interactive bubbles with the real agent CLIs: a home for pairflow, a home for the CLIs, a mock model that plays
//! both minds, and the tmux sessions that pairflow makes. Nothing leaves 127.0.0.1.

mod account;
mod kills;
mod minds;
mod notices;
mod place;
mod story;
mod transcript;
mod words;

pub use kills::{Killed, survive};
pub use minds::{Begun, Minds, Turn};
pub use notices::{Told, tell};
pub use place::Pair;
pub use story::{live, live_in_turn, live_together, minds};
pub use transcript::Transcript;
