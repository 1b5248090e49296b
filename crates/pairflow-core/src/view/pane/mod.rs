//! The status view: where one bubble stands, on as many columns and rows as there are.
//!
//! A pure function of the state, of what the supervisor last wrote about the agents, and of the time. It knows neither a
//! terminal nor colours; it only says how each piece is meant. No line is wider than the view, there are never more lines
//! than rows, and what matters most goes last when it gets narrow.

mod blocks;
mod input;
mod layout;

pub use input::{Alarm, PaneInput, SeatNow, SeatStatus, Size, pace, seats, silence_left};
pub use layout::render;
