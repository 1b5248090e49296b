//! An agent's own record of its conversation: whether it holds a notice, and why its last turn failed.
//!
//! It is looked at where hooks say too little: a hook may have found nobody to tell, and Codex has none for a failure.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Hindrance, Notice};
use pairflow_core::ids::AgentId;
use pairflow_core::safe::safe_line;

use super::notice::is_recorded;
use super::play::Play;
use super::seat::{SeatNow, Status};
use crate::driver::TroubleKind;
use crate::regular::end_of;

/// How much of the end of a record is read.
const END: u64 = 256 * 1024;
/// How long a busy program is quiet before its record is looked at, and between two looks.
const QUIET: Duration = Duration::from_secs(20);
/// How much of what a program says is told to a person.
const SHOWN: usize = 200;

impl SeatNow {
    /// When the record of a busy program is looked at next, unless hooks say something before.
    pub(super) fn record_due(&self) -> Option<Instant> {
        let last = self.heard.into_iter().chain(self.read).max()?;
        (self.status == Status::Busy && self.kept.transcript.is_some()).then_some(last + QUIET)
    }
}

impl Play {
    /// Whether the record holds the notice.
    pub(super) fn has_read(&mut self, notice: &Notice) -> bool {
        self.record(&notice.agent).is_some_and(|text| is_recorded(notice.number, &text))
    }

    /// Looks whether the program of the agent that has the turn has failed without a word.
    pub(super) fn look_for_failure(&mut self, state: &BubbleState, agent: &AgentId) {
        let now = Instant::now();
        let seat = self.seat(agent);
        if seat.record_due().is_none_or(|at| at > now) {
            return;
        }
        seat.read = Some(now);
        self.why_it_failed(state, agent, "");
    }

    /// Tells a person why a turn failed: out of the record, or else in the words of `otherwise`, if there are any.
    pub(super) fn why_it_failed(&mut self, state: &BubbleState, agent: &AgentId, otherwise: &str) {
        let spec = state.rules.agents_custom.get(agent);
        let record = self.record(agent).unwrap_or_default();
        let (by, what) = match self.props.driver.trouble(agent, spec, &record) {
            Some(trouble) if trouble.kind == TroubleKind::Limit => {
                (Hindrance::Limit { until: trouble.until }, trouble.text)
            }
            Some(trouble) => (Hindrance::Failure, trouble.text),
            None if otherwise.is_empty() => return,
            None => (Hindrance::Failure, otherwise.to_owned()),
        };
        let now = self.bubble().engine.clock.now().ts;
        self.seat(agent).becomes(Status::Ready, now);
        self.report(&Command::Hindered { agent: agent.clone(), by, what: safe_line(&what, SHOWN) });
    }

    fn record(&mut self, agent: &AgentId) -> Option<String> {
        let path = self.seat(agent).kept.transcript.clone()?;
        end_of(&path, END)
    }
}
