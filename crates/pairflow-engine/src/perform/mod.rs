//! The effects that bubbles owe. Each looks at the files, acts, and returns the command that reports the result.

mod checkout;
mod checks;
mod git_effects;
mod own_checks;
mod proofs;
mod settle;

pub(crate) use checks::{MergedCommit, check_merged};
pub(crate) use git_effects::{commit_now, is_same_patch, set_up, trees_around};
pub(crate) use own_checks::document_paths;
pub use proofs::store_acceptance;
pub(crate) use settle::BubbleLock;
pub use settle::{Settled, head_seen, seen, settle, write_projections};
