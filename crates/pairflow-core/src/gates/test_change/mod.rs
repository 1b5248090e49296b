//! Which tests a diff deletes, skips or weakens, and which it adds.
//!
//! Each hunk is read twice, as it was and as it is: `lex` makes tokens, one file a language finds tests, assertions and
//! skip marks in them (`view`), `side` says which test a line belongs to. `lineage` follows tests that moved or were
//! renamed, and `compare` reports what was lost and did not turn up elsewhere. A diff shows three lines around a change,
//! so this is a careful guess: it would rather miss a weak spot than call a refactoring one.

mod assertion;
mod change;
mod compare;
mod go;
mod js;
mod level;
mod lex;
mod lineage;
mod paths;
mod python;
mod report;
mod rust;
mod side;
mod skipped;
mod survey;
mod view;

pub use change::{TestChange, TestChangeKind};
pub use paths::{is_test_file, may_hold_tests};
pub use report::{adds_tests, new_tests, weakened};
