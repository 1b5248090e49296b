//! Paying debts: one effect a file. Each looks at the world, acts, and returns the command that reports what came of it.

mod baseline;
mod bench;
mod care;
mod check;
mod commit;
mod documents;
mod joined;
mod observe;
mod open;
mod prepare;
mod project;
mod red_green;
mod reproduce;
mod settle;
mod snapshot;
mod update;
mod weakened;

pub(crate) use care::Care;
pub(crate) use commit::commit_now;
pub(crate) use documents::paths as documents;
pub(crate) use joined::{Joined, check_joined};
pub use observe::{head_seen, seen};
pub(crate) use prepare::set_up;
pub use project::write_projections;
pub use settle::{Settled, settle};
pub(crate) use snapshot::trees_around;
pub(crate) use update::is_same_patch;
