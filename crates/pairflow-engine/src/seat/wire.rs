//! The lines of a seat's socket: one JSON object from the caller, and one or two back.

use serde::{Deserialize, Serialize};

use super::call::{HookAnswer, HookCall};
use crate::engine::Denial;
use crate::verbs::{AgentSays, Heard};

/// What a caller wants. Exactly one of the first three is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Request {
    /// A verb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<AgentSays>,
    /// An event of a hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<Box<HookCall>>,
    /// The verb of a person that the agent has tried, and was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted: Option<String>,
    /// The bubble that the caller believes to work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where the caller is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// For a verb that was said before and perhaps heard: the line of the log after which it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

impl Request {
    /// Returns what it is about, in a word.
    pub(super) fn verb(&self) -> &'static str {
        match &self.said {
            Some(AgentSays::Pass(_)) => "pass",
            Some(AgentSays::AskHuman { .. }) => "ask-human",
            Some(AgentSays::BriefRead) => "brief",
            Some(AgentSays::Converged { .. }) => "converged",
            None if self.hook.is_some() => "hook",
            None => "call",
        }
    }
}

/// What a caller is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// The verb is being dealt with; the answer follows. Said again after a lost line, it comes with this number.
    Taken {
        /// The last line of the log before it.
        since: u64,
    },
    /// The verb is recorded.
    Heard(Box<Heard>),
    /// It is not.
    Refused(Denial),
    /// What the hook tells its CLI.
    Answer(HookAnswer),
}
