//! What agents read: the brief of the agent that has the turn, and what the others are told meanwhile.
//!
//! Everything in here is a pure function of the state and of what the engine has gathered for it. A brief ends with the
//! command lines that can end the turn, one a line, as they have to be typed.

mod commands;
mod implementer;
mod judge;
mod material;
mod parts;
mod reviewer;
mod severity;
mod slices;
mod standby;
mod turn;

pub use material::{BriefMaterial, Diff, Slice, Standard};
pub use slices::{Piece, SLICE_LINES, changed_lines, pieces};
pub use standby::standby;
pub use turn::brief;
