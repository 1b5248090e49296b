//! What agents are told, and what is known of their programs.

use crate::bubble::conversation::Known;
use crate::bubble::{Notice, Parked, Phase, Unit};
use crate::ids::{AgentId, Party};
use crate::log::{Control, ControlAction, Delivery, Lifecycle};
use crate::time::Moment;

/// The holder of the open turn is to be told; an older notice to the same agent says nothing that this one does not.
pub(super) fn notify_holder(unit: &mut Unit) {
    let Phase::Running(turn) = &unit.phase else { return };
    if !turn.is_open() || !unit.notifies() {
        return;
    }
    let (agent, turn) = (turn.agent.clone(), turn.number);
    unit.presence.notices += 1;
    // The turn has moved on: nobody else has anything to read any more.
    unit.presence.outbox.clear();
    unit.presence.outbox.push(Notice { number: unit.presence.notices, agent, turn, attempts: 0, sent: None });
}

/// An agent did something that it can only do after reading, and with an account that is not used up.
pub(super) fn has_read(unit: &mut Unit, agent: &AgentId) {
    knows_return(unit, agent);
    unit.sits_down(agent);
    unit.presence.outbox.retain(|notice| notice.agent != *agent);
    unit.presence.parked = unit.presence.parked.take().filter(|parked| parked.agent != *agent);
}

/// From here on `agent` knows that its work came back, if it did: the same words are a new hand-over.
fn knows_return(unit: &mut Unit, agent: &AgentId) {
    if unit.phase.turn().is_some_and(|turn| turn.agent == *agent) {
        unit.rounds.returned = None;
    }
}

/// The holder of the turn gave a sign of life.
pub(super) fn heard(unit: &mut Unit, sender: &Party, at: Moment) {
    if let Some(turn) = unit.phase.turn_mut().filter(|turn| *sender == Party::Agent(turn.agent.clone())) {
        turn.heard = at;
    }
}

pub(super) fn delivered(unit: &mut Unit, to: &Party, delivery: &Delivery, at: Moment) {
    if delivery.acknowledged {
        unit.presence.outbox.retain(|notice| notice.number != delivery.notice);
        if let Party::Agent(agent) = to {
            knows_return(unit, agent);
            unit.sits_down(agent);
        }
        heard(unit, to, at);
        return;
    }
    if let Some(notice) = unit.presence.outbox.iter_mut().find(|notice| notice.number == delivery.notice) {
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
            unit.presence.restarts += 1;
            unit.presence.parked = None;
            unit.presence.outbox.clear();
            notify_holder(unit);
        }
        (ControlAction::Park, Party::Agent(agent)) => {
            unit.presence.parked = control.until.map(|until| Parked { agent: agent.clone(), since: at, until });
        }
        (ControlAction::Unpark, _) => {
            unit.presence.parked = None;
            if let Some(turn) = unit.phase.turn_mut() {
                turn.heard = at;
            }
            notify_holder(unit);
        }
        _ => {}
    }
}
