//! One bubble's machine: what a command leads to, what a fact changes, what is owed, and when time is up.
//!
//! [`decide`] holds the rules, [`evolve`] the consequences. Nothing else changes a state.

mod answers;
mod approval;
mod baseline;
mod command;
mod converge;
mod conversation;
mod decide;
mod decided;
mod evolve;
mod human;
mod key;
mod lifecycle;
mod limits;
mod next_step;
mod owed;
mod phase;
mod presence;
mod preview;
mod questions;
mod recompute;
mod recorded_round;
mod refusal;
mod slices;
mod state;
mod state_fields;
mod told;
mod turn;
mod unseen;
mod work_back;

pub use command::*;
pub use decide::{adopt, create, decide, follow, take_up, to_package};
pub use decided::{Artifact, Decided};
pub use evolve::{advance, evolve};
pub use key::*;
pub use owed::*;
pub use phase::*;
pub use presence::{ATTEMPTS, LONGEST_PARK, NUDGES};
pub(crate) use questions::wanted;
pub use recompute::{Recomputed, Unfounded, VerdictStand, recompute, recompute_verdicts};
pub use refusal::*;
pub use state::*;
pub use state_fields::{StateFields, TurnState};
pub use turn::found_author;
pub use unseen::Unseen;
