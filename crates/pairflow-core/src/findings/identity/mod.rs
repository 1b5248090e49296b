//! When two findings are the same claim, and when one asks to undo the other. Decided by code, from their texts alone.
//!
//! A wrong join hides a defect; a missed one costs a duplicate. So reviewers name the row that they repeat, and code joins
//! only what says the same about the same place (`same`).

mod reversal;
mod same;
mod words;

pub use reversal::reversed;
pub use same::same_claim;
pub(crate) use same::same_words;
