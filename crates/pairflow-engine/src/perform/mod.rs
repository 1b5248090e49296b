//! Paying debts: one effect a file. Each looks at the world, acts, and returns the command that reports what came of it.

mod checkout;
mod checks;
mod git_effects;
mod own_checks;
mod settle;
mod turn;

pub(crate) use checks::{MergedCommit, check_merged};
pub(crate) use git_effects::{commit_now, is_same_patch, set_up};
pub(crate) use own_checks::document_paths;
pub(crate) use settle::BubbleLock;
pub use settle::{Settled, settle};
pub(crate) use turn::trees_around;
pub use turn::{head_seen, seen, write_projections};
