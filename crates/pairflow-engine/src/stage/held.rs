//! A request for a permission whose hook waits for the answer.

use std::sync::Weak;
use std::sync::mpsc::Sender;
use std::time::Instant;

use pairflow_core::ids::{AgentId, MsgId};

use crate::seat::{HookAnswer, HookCall};

/// A hook that waits for its answer.
#[derive(Debug)]
pub(super) struct Waiter {
    pub answer: Sender<HookAnswer>,
    /// Is there as long as the hook is.
    pub there: Weak<()>,
}

impl Waiter {
    /// Whether nobody waits any more.
    pub(super) fn is_gone(&self) -> bool {
        self.there.strong_count() == 0
    }
}

/// A request for a permission whose hook waits.
#[derive(Debug)]
pub(super) struct Held {
    pub agent: AgentId,
    pub call: HookCall,
    pub what: String,
    pub waiter: Waiter,
    pub since: Instant,
    /// When the session is looked at next.
    pub look: Instant,
    /// The question about it; one is asked at a time.
    pub question: Option<MsgId>,
    /// Whether the program went on without an answer.
    pub passed: bool,
}
