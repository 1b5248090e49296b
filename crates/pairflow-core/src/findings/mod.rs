//! The findings of a bubble: how a review is read, which claims are the same, and the ledger that keeps them.

pub mod feedback;
pub mod identity;
mod ledger;
mod row;

pub use ledger::*;
pub use row::*;
