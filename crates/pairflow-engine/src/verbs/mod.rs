//! Verbs that need more than one append, or look at files first: they record, have the effect carried out, and wait until it
//! is confirmed.

mod agent_verbs;
mod approved_documents;
mod configure;
mod create;
mod delete;
mod diff;
mod executor;
mod loop_verbs;
mod merge;
mod metrics;
mod open;
mod recovery;
mod verify;

pub use agent_verbs::{AgentReply, AgentRequest, PassRequest};
pub use approved_documents::ApprovedDocuments;
pub use configure::{FileState, IdentityNotice};
pub use create::{Confirmed, NewBubble};
pub use delete::RunningProcesses;
pub use diff::{BubbleDiff, DiffOf, diff, export, patch};
pub use executor::Executor;
pub use loop_verbs::{ConflictPolicy, Resumed};
pub use merge::{MergeEnd, Rehearsal, merge, rehearse_merge};
pub use open::{OpenedEditor, open};
pub use recovery::{Adopted, RepairOutcome, Restored};
pub use verify::{SealResult, VerifyAnswer, VerifyReport, VerifyRow, verify};
