//! Gates that code alone decides: weakened tests, documents, and whether a run of tests shows anything.

pub mod diff;
pub mod document;
mod test_change;
mod test_run;

pub use test_change::{TestChange, TestChangeKind, is_test_file, may_hold_tests, weakened};
pub use test_run::{could_not_run, shows_no_fix};
