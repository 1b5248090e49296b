//! Gates that code alone decides: weakened tests, documents.

pub mod diff;
pub mod document;
mod test_change;

pub use test_change::{TestChange, TestChangeKind, is_test_file, may_hold_tests, weakened};
