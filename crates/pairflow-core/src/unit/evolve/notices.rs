//! What agents are told, and what is known of their programs.

use crate::ids::{AgentId, Party};
use crate::log::{Control, ControlAction, Delivery};
use crate::time::Moment;
use crate::unit::presence::notified;
use crate::unit::{AgentSession, Notice, Parked, Phase, Unit};

/// Whoever has the open turn is to be told; an older notice to the same agent says nothing that this one does not.
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
    unit.outbox.retain(|notice| notice.agent != *agent);
    unit.parked = unit.parked.take().filter(|parked| parked.agent != *agent);
}

pub(super) fn delivered(unit: &mut Unit, to: &Party, delivery: &Delivery, at: Moment) {
    if delivery.acknowledged {
        unit.outbox.retain(|notice| notice.number != delivery.notice);
        super::people::heard(unit, to, at);
        return;
    }
    if let Some(notice) = unit.outbox.iter_mut().find(|notice| notice.number == delivery.notice) {
        notice.attempts = delivery.attempt;
        notice.sent = Some(at);
    }
}

pub(super) fn session_known(unit: &mut Unit, agent: &AgentId, turn: u32, session: Option<&String>) {
    // A program that only now says which conversation it has was started before; it does not say so after each restart.
    let named = |known: &&AgentSession| known.turn == turn && session.is_some() && known.id.as_ref() != session;
    let restarts = unit.sessions.get(agent).filter(named).map_or(unit.restarts, |known| known.restarts);
    let known = AgentSession { turn, id: session.cloned(), restarts };
    unit.sessions.insert(agent.clone(), known);
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
