//! Paying debts: one effect a file. Each looks at the world, acts, and returns the command that reports what came of it.

mod check;
mod commit;
mod observe;
mod open;
mod prepare;
mod project;
mod settle;
mod snapshot;
mod update;

pub(crate) use commit::commit_now;
pub use observe::{head_seen, seen};
pub(crate) use prepare::set_up;
pub use project::write_projections;
pub use settle::{Settled, perform, settle};
pub(crate) use snapshot::trees_around;
