//! The only place that writes to the terminal.
//!
//! Results go to stdout, everything else to stderr. Every text is made safe on its way out, no matter who wrote it; colours
//! are added here, after that, and only where a person looks.

mod color;
mod elsewhere;
mod grid;
mod herald;
mod json;
mod printer;

pub use color::{ColorChoice, Line, Paint};
pub(crate) use elsewhere::{TakesRepo, line_for};
pub use grid::Grid;
pub use herald::herald;
pub(crate) use pairflow_core::view::age;
pub use printer::Out;
