//! The verbs that need more than one append: they ask, have the effect carried out, and wait until it is confirmed.

mod adopt;
mod attach;
mod carry;
mod configure;
mod delete;
mod diff;
mod export;
mod findings;
mod follow_up;
mod gate;
mod hear;
mod identity;
mod locate;
mod loop_verbs;
mod merge;
mod open;
mod prd;
mod repair;
mod stop;
mod verify;

pub use adopt::Adopted;
pub use carry::Hands;
pub use configure::FileState;
pub use diff::{Diff, DiffOf, diff, patch};
pub use export::export;
pub use gate::Claim;
pub use hear::{AgentSays, Handover, Heard};
pub use identity::IdentityNotice;
pub use locate::{Place, locate};
pub use loop_verbs::{InConflict, Resumed};
pub use merge::{MergeEnd, merge};
pub use open::{Opened, open};
pub use prd::Documents;
pub(crate) use prd::{Document, criteria_of};
pub use repair::RepairOutcome;
pub use verify::{Answer, Sealed, VerifyReport, VerifyRow, verify};
