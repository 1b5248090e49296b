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
mod evolve;
mod follow;
mod human;
mod key;
mod lifecycle;
mod limits;
mod next_step;
mod owed;
mod phase;
mod presence;
mod recompute;
mod refusal;
mod seat;
mod send_back;
mod slices;
mod state;
mod state_fields;
mod stop;
mod turn;
mod unseen;
mod work;

pub use command::*;
pub use converge::{Unmet, claimed, unmet, waivers};
pub use conversation::AgentSession;
pub use decide::{Artifact, Decided, adopt, create, decide, take_up};
pub use evolve::{advance, evolve};
pub use follow::{follow, handle};
pub use key::*;
pub use limits::{MAX_DETAIL, MAX_FINDINGS, MAX_KEY, MAX_QUESTIONS, MAX_REFS, MAX_TEXT, MAX_TITLE};
pub use owed::*;
pub use phase::*;
pub(crate) use presence::wanted;
pub use presence::{ATTEMPTS, Hindrance, LONGEST_PARK, NUDGES, Notice, Parked};
pub use recompute::{Recomputed, Unfounded, VerdictStand, recompute, recompute_verdicts};
pub use refusal::*;
pub use seat::*;
pub use send_back::{SEND_BACKS, failing};
pub use state::*;
pub use state_fields::{StateFields, TurnState};
pub use unseen::Unseen;
pub use work::found_author;
