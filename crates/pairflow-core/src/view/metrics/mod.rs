//! The figures of a repository's loops, gathered bubble by bubble and line by line, so that memory stays small however many
//! bubbles there are. [`BubbleMeter`] reads one log, [`Metrics`] adds up what the meters say, [`page`] draws it.
//!
//! A finding is counted once, with the agent that filed it first and with the most severe severity that it had; a fix with
//! the agent that claimed it last. What is counted follows from the log alone: nothing here judges.

mod figures;
mod meter;
pub mod page;

pub use figures::*;
pub use meter::BubbleMeter;
