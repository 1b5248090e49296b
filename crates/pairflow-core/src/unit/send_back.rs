//! Evidence goes before opinions: work on which a check or a reproducer fails goes back to its producer before a review is
//! paid for that could not be clean.

use crate::ids::{AgentId, Party};
use crate::log::Lifecycle;
use crate::time::Moment;
use crate::unit::lifecycle::own;
use crate::unit::{CheckState, Decided, Returned, Seat, Stage, Turn, Unit, converge, missing_checks};

/// How often in a row work goes back without a review; after that a critic looks at it all the same.
pub const SEND_BACKS: u32 = 3;

/// Returns what pairflow ran itself and keeps the newest tree from being accepted, each as a sentence.
pub fn failing(unit: &Unit) -> Vec<String> {
    let failed = |name: &str| matches!(unit.check(name), CheckState::Failed(_));
    let checks = unit.rules.checks.iter().filter(|check| failed(&check.name));
    let checks = checks.map(|check| format!("the check '{}' fails", check.name));
    // Where a reproducer could not be run, nobody knows; that is for a critic to look at.
    let shown =
        unit.ledger.blocking().filter(|row| row.proven() && !unit.could_not.contains_key(&Unit::tries_of(row.id)));
    checks.chain(shown.map(|row| format!("the reproducer of {} still fails", row.id))).collect()
}

impl Unit {
    /// Returns the hand-over of `agent` that came back and still would, as long as the agent is not known to know that.
    pub fn returned_to(&self, agent: &AgentId) -> Option<&Returned> {
        let holds = self.phase.turn().is_some_and(|turn| turn.agent == *agent);
        self.returned.as_ref().filter(|_| holds && !failing(self).is_empty())
    }

    /// Returns why the work came back to `agent`, if it is its turn for that reason.
    pub fn came_back_to(&self, agent: &AgentId) -> Vec<String> {
        let producer = |turn: &Turn| turn.agent == *agent && turn.seat == Seat::Producer;
        let back = self.sent_back > 0 && self.phase.turn().is_some_and(producer);
        if back { failing(self) } else { Vec::new() }
    }
}

/// Appends to a decision that the work goes back, if the evidence that it completes says so.
pub(super) fn send_back(unit: &Unit, mut decided: Decided, now: Moment) -> Decided {
    let handed_over = unit.phase.turn().is_some_and(|turn| turn.seat == Seat::Critic);
    if !handed_over || unit.sent_back >= SEND_BACKS || !converge::moves(&decided.events) {
        return decided;
    }
    let after = converge::fold(unit, &decided.events, now);
    let why = failing(&after);
    if is_next(&after) && !why.is_empty() {
        let agent = after.seats.producer.clone();
        let mut event = own(&after, Lifecycle::SentBack { agent: agent.clone(), why });
        event.recipient = Party::Agent(agent);
        decided.events.push(event);
    }
    decided
}

/// Whether a critic is about to review what the producer left, and all evidence about it is there.
fn is_next(unit: &Unit) -> bool {
    let opening = unit.phase.turn().is_some_and(|turn| turn.seat == Seat::Critic && turn.stage == Stage::Opening);
    let author = unit.snapshot.as_ref().map(|snapshot| &snapshot.author);
    let produced = author == Some(&Party::Agent(unit.seats.producer.clone()));
    opening && produced && missing_checks(unit).is_empty() && unit.to_reproduce().next().is_none()
}
