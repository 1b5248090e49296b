//! What agents are told, and what is known of their programs.

use crate::ids::{AgentId, Party};
use crate::log::{Control, ControlAction, Delivery, Lifecycle};
use crate::time::Moment;
use crate::unit::conversation::Known;
use crate::unit::presence::notified;
use crate::unit::{Notice, Parked, Phase, Unit};

/// The holder of the open turn is to be told; an older notice to the same agent says nothing that this one does not.
pub(super) fn notify_holder(unit: &mut Unit) {
    let Phase::Running(turn) = &unit.phase else { return };
    if !turn.is_open() || !notified(unit) {
        return;
    }
    let (agent, turn) = (turn.agent.clone(), turn.number);
    unit.notices += 1;
    // The turn has moved on: nobody else has anything to read any more.
    unit.outbox.clear();
    unit.outbox.push(Notice { number: unit.notices, agent, turn, attempts: 0, sent: None });
}

/// An agent did something that it can only do after reading, and with an account that is not used up.
pub(super) fn has_read(unit: &mut Unit, agent: &AgentId) {
    knows_return(unit, agent);
    unit.sits_down(agent);
    unit.outbox.retain(|notice| notice.agent != *agent);
    unit.parked = unit.parked.take().filter(|parked| parked.agent != *agent);
}

/// From here on `agent` knows that its work came back, if it did: the same words are a new hand-over.
fn knows_return(unit: &mut Unit, agent: &AgentId) {
    if unit.phase.turn().is_some_and(|turn| turn.agent == *agent) {
        unit.returned = None;
    }
}

pub(super) fn delivered(unit: &mut Unit, to: &Party, delivery: &Delivery, at: Moment) {
    if delivery.acknowledged {
        unit.outbox.retain(|notice| notice.number != delivery.notice);
        if let Party::Agent(agent) = to {
            knows_return(unit, agent);
            unit.sits_down(agent);
        }
        super::people::heard(unit, to, at);
        return;
    }
    if let Some(notice) = unit.outbox.iter_mut().find(|notice| notice.number == delivery.notice) {
        notice.attempts = delivery.attempt;
        notice.sent = Some(at);
    }
}

pub(super) fn session_known(unit: &mut Unit, fact: &Lifecycle) {
    let Lifecycle::AgentSession { agent, turn, seat, session } = fact else { return };
    unit.note_session(Known { agent, turn: *turn, seat: *seat, id: session.as_ref() });
}

/// An intervention that is about the agents' programs.
pub(super) fn intervened(unit: &mut Unit, control: &Control, to: &Party, at: Moment) {
    match (control.action, to) {
        (ControlAction::Nudge, _) => {
            if let Some(turn) = unit.phase.turn_mut() {
                turn.nudges += 1;
                turn.heard = at;
            }
        }
        (ControlAction::Restart, _) => {
            unit.restarts += 1;
            unit.parked = None;
            unit.outbox.clear();
            notify_holder(unit);
        }
        (ControlAction::Park, Party::Agent(agent)) => {
            unit.parked = control.until.map(|until| Parked { agent: agent.clone(), since: at, until });
        }
        (ControlAction::Unpark, _) => {
            unit.parked = None;
            if let Some(turn) = unit.phase.turn_mut() {
                turn.heard = at;
            }
            notify_holder(unit);
        }
        _ => {}
    }
}
