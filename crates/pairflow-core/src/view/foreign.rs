//! A foreign bubble as people are told of it: why it is foreign, what its log says as a record, and what can be done.

use crate::view::StateFields;

/// Why a bubble is foreign, and the command lines that help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignNotice {
    /// Why it is foreign, as a clause.
    pub why: String,
    /// Goes on: adopts it, or leads to where the person can have bubbles.
    pub next: String,
    /// Remove it, one after the other.
    pub remove: Vec<String>,
}

impl ForeignNotice {
    /// Rewrites every command line.
    #[must_use]
    pub fn map(self, line: impl Fn(String) -> String) -> Self {
        Self { next: line(self.next), remove: self.remove.into_iter().map(line).collect(), ..self }
    }
}

/// Says where the log of a foreign bubble ends. In the past tense: nothing of it goes on here.
pub(super) fn last_recorded(fields: &StateFields) -> String {
    let paused = if fields.paused { ", paused" } else { "" };
    let round = if fields.round > 0 { format!(", in round {}", fields.round) } else { String::new() };
    let turn = match (&fields.active_agent, fields.active_role) {
        (Some(agent), Some(role)) => format!("; {agent} had the turn as {role}"),
        _ => String::new(),
    };
    format!("It ends in state {}{paused}{round}{turn}.", fields.state)
}
