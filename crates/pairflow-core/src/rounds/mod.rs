//! The loop's judgement: findings, receipts, clean reviews, and what acceptance needs.

mod certificate;
mod finding;
mod ledger;
pub mod policy;

pub use certificate::*;
pub use finding::*;
pub use ledger::*;
