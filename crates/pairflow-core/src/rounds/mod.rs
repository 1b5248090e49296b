//! The loop's judgement: findings, receipts, clean reviews, and what acceptance needs.

mod answers;
mod certificate;
pub mod feedback;
mod finding;
pub mod identity;
mod ledger;
pub mod policy;

pub use answers::*;
pub use certificate::*;
pub use finding::*;
pub use ledger::*;
