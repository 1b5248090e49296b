//! Finds the tests that a diff deletes, skips or weakens.
//!
//! A heuristic on `git diff -U3`: each hunk is read as it was and as it is. `source` holds what differs between
//! languages, as tables, and makes tokens; `assertion` rates what one assertion pins down; `side` finds tests,
//! assertions and skip marks; `compare` follows tests that moved and reports what was lost. A diff shows only parts of a
//! file, so the result is a hint for a reviewer: when in doubt, nothing is reported.

mod assertion;
mod compare;
mod side;
mod source;

pub use compare::{TestChange, TestChangeKind, weakened};
pub use source::{is_test_file, may_hold_tests};
