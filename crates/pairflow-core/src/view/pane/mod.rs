//! The status view: the state of one bubble in a given number of columns and rows.
//!
//! A pure function of the state, of what the supervisor last wrote about the agents, and of the time. It knows neither a
//! terminal nor colours; each piece has a tone. No line is wider than the view, there are never more lines than rows, and
//! the least important parts are dropped first.

mod blocks;
mod input;
mod layout;

pub use input::{Alarm, PaneInput, SeatNow, SeatStatus, Size, pace, seats, silence_left};
pub use layout::render;
