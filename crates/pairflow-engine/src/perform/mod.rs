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

pub use observe::{head_seen, seen};
pub use project::write_projections;
pub(crate) use snapshot::trees_around;
pub use settle::{Settled, perform, settle};
