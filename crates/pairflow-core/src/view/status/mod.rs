//! Where a bubble stands: all of it for programs, and the lines that a person reads at a glance.

mod lines;
mod model;

pub use lines::{LABEL_COLUMNS, StatusLine, render};
pub use model::*;
