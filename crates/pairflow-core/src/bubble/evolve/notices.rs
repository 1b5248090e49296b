//! What agents are told, and what is known of their programs.

use crate::bubble::conversation::Known;
use crate::bubble::{BubbleState, Notice, Parked, Phase};
use crate::ids::{AgentId, Party};
use crate::log::{Control, ControlAction, Delivery, Lifecycle};
use crate::time::Moment;

/// The holder of the open turn is to be told; an older notice to the same agent says nothing that this one does not.
pub(super) fn notify_holder(state: &mut BubbleState) {
    let Phase::Running(turn) = &state.phase else { return };
    if !turn.is_open() || !state.notifies() {
        return;
    }
    let (agent, turn) = (turn.agent.clone(), turn.number);
    state.presence.notices += 1;
    // The turn has moved on: nobody else has anything to read any more.
    state.presence.outbox.clear();
    state.presence.outbox.push(Notice { number: state.presence.notices, agent, turn, attempts: 0, sent: None });
}

/// An agent did something that it can only do after reading, and with an account that is not used up.
pub(super) fn has_read(state: &mut BubbleState, agent: &AgentId) {
    knows_return(state, agent);
    state.sits_down(agent);
    state.presence.outbox.retain(|notice| notice.agent != *agent);
    state.presence.parked = state.presence.parked.take().filter(|parked| parked.agent != *agent);
}

/// From here on `agent` knows that its work came back, if it did: the same words are a new hand-over.
fn knows_return(state: &mut BubbleState, agent: &AgentId) {
    if state.phase.turn().is_some_and(|turn| turn.agent == *agent) {
        state.rounds.returned = None;
    }
}

/// The holder of the turn gave a sign of life.
pub(super) fn heard(state: &mut BubbleState, sender: &Party, at: Moment) {
    if let Some(turn) = state.phase.turn_mut().filter(|turn| *sender == Party::Agent(turn.agent.clone())) {
        turn.heard = at;
    }
}

pub(super) fn delivered(state: &mut BubbleState, to: &Party, delivery: &Delivery, at: Moment) {
    if delivery.acknowledged {
        state.presence.outbox.retain(|notice| notice.number != delivery.notice);
        if let Party::Agent(agent) = to {
            knows_return(state, agent);
            state.sits_down(agent);
        }
        heard(state, to, at);
        return;
    }
    if let Some(notice) = state.presence.outbox.iter_mut().find(|notice| notice.number == delivery.notice) {
        notice.attempts = delivery.attempt;
        notice.sent = Some(at);
    }
}

pub(super) fn session_known(state: &mut BubbleState, fact: &Lifecycle) {
    let Lifecycle::AgentSession { agent, turn, seat, session } = fact else { return };
    state.note_session(Known { agent, turn: *turn, seat: *seat, id: session.as_ref() });
}

/// An intervention that is about the agents' programs.
pub(super) fn intervened(state: &mut BubbleState, control: &Control, to: &Party, at: Moment) {
    match (control.action, to) {
        (ControlAction::Nudge, _) => {
            if let Some(turn) = state.phase.turn_mut() {
                turn.nudges += 1;
                turn.heard = at;
            }
        }
        (ControlAction::Restart, _) => {
            state.presence.restarts += 1;
            state.presence.parked = None;
            state.presence.outbox.clear();
            notify_holder(state);
        }
        (ControlAction::Park, Party::Agent(agent)) => {
            state.presence.parked = control.until.map(|until| Parked { agent: agent.clone(), since: at, until });
        }
        (ControlAction::Unpark, _) => {
            state.presence.parked = None;
            if let Some(turn) = state.phase.turn_mut() {
                turn.heard = at;
            }
            notify_holder(state);
        }
        _ => {}
    }
}
