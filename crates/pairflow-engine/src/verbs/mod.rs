//! The verbs that need more than one append: they ask, have the effect carried out, and wait until it is confirmed.

mod carry;
mod delete;
mod diff;
mod locate;
mod loop_verbs;
mod merge;
mod verify;

pub use carry::Hands;
pub use diff::{DiffOf, diff};
pub use locate::{Place, locate};
pub use merge::{MergeEnd, merge};
pub use verify::{VerifyReport, VerifyRow, verify};
