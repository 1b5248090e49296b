//! Work that came back without a review: who has to know of it.

use crate::bubble::{BubbleState, Turn};
use crate::facts::Seat;
use crate::ids::AgentId;
use crate::policy::told;
use crate::progress::Returned;

impl BubbleState {
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
        let implementer = |turn: &Turn| turn.agent == *agent && turn.seat == Seat::Implementer;
        let back = self.rounds.sent_back > 0 && self.phase.turn().is_some_and(implementer);
        if back { self.failing() } else { Vec::new() }
    }
}
