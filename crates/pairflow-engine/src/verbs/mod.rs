//! The verbs that need more than one append, or look at the world before it: they ask, have the effect carried out, and wait
//! until it is confirmed.

mod adopt;
mod attach;
mod base;
mod carry;
mod configure;
mod create;
mod delete;
mod diff;
mod export;
mod findings;
mod follow_up;
mod gate;
mod hear;
mod identity;
mod left;
mod loop_verbs;
mod merge;
mod open;
mod prd;
mod repair;
mod restore;
mod stop;
mod verify;
mod wait;

pub use adopt::Adopted;
pub use carry::Hands;
pub use configure::FileState;
pub use create::{Confirmed, NewBubble};
pub use diff::{Diff, DiffOf, diff, patch};
pub use export::export;
pub use gate::Claim;
pub use hear::{AgentSays, Handover, Heard};
pub use identity::IdentityNotice;
pub use left::Left;
pub use loop_verbs::{InConflict, Resumed};
pub use merge::{MergeEnd, Rehearsal, merge, rehearse_merge};
pub use open::{Opened, open};
pub use prd::Documents;
pub use repair::RepairOutcome;
pub use restore::Restored;
pub use verify::{Answer, Sealed, VerifyReport, VerifyRow, verify};
