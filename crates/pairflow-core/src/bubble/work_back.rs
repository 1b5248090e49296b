//! Work that came back without a review: who has to know of it.

use crate::bubble::{Turn, Unit};
use crate::facts::Seat;
use crate::ids::AgentId;
use crate::policy::told;
use crate::progress::Returned;

impl Unit {
    /// Returns what pairflow ran itself and keeps the newest tree from being accepted, each as the end of a sentence.
    pub fn failing(&self) -> Vec<String> {
        told(&self.facts().failing())
    }

    /// Returns the hand-over of `agent` that came back and still would, as long as the agent is not known to know that.
    pub fn returned_to(&self, agent: &AgentId) -> Option<&Returned> {
        let holds = self.phase.turn().is_some_and(|turn| turn.agent == *agent);
        self.rounds.returned.as_ref().filter(|_| holds && !self.facts().failing().is_empty())
    }

    /// Returns why the work came back to `agent`, if it is its turn for that reason.
    pub fn came_back_to(&self, agent: &AgentId) -> Vec<String> {
        let producer = |turn: &Turn| turn.agent == *agent && turn.seat == Seat::Producer;
        let back = self.rounds.sent_back > 0 && self.phase.turn().is_some_and(producer);
        if back { self.failing() } else { Vec::new() }
    }
}
