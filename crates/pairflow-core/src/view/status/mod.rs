//! The status of a bubble: everything for programs, and lines for people.

mod lines;
mod model;

pub use lines::{LABEL_COLUMNS, StatusLine, render};
pub use model::*;
