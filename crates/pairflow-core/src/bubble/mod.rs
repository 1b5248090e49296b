//! One bubble's machine: what a command leads to, what a fact changes, what is owed, and when time is up.
//!
//! [`decide`] has the rules, [`evolve`] applies facts. Nothing else changes a state.

mod admission;
mod command;
mod decide;
mod derived;
mod evolve;
mod next_step;
mod phase;
mod recompute;
mod refusal;
mod state;

pub use admission::*;
pub use command::*;
pub use decide::{ATTEMPTS, LONGEST_PARK, NUDGES, adopt, create, decide, follow, found_author, take_up, to_package};
pub use derived::*;
pub use evolve::{advance, evolve};
pub use phase::*;
pub use recompute::{Recomputed, Unfounded, VerdictStand, recompute, recompute_verdicts};
pub use refusal::*;
pub use state::*;
