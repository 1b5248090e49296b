//! Whole interactive bubbles with the real agent CLIs: a home for pairflow, a home for the CLIs, a mock model that plays
//! both minds, and the tmux sessions that pairflow makes. Nothing leaves 127.0.0.1.

mod kills;
mod minds;
mod notices;
mod place;
mod story;

pub use kills::{Killed, survive};
pub use minds::{Begun, Minds, Turn};
pub use notices::{Told, tell};
pub use place::Pair;
pub use story::{ANSWER, FINDING, QUESTION, finish, live, live_together, minds};
