//! Whose conversation an agent's program is in, and which one a turn goes on in.
//!
//! An implementer goes on in its own conversation, however many reviews it has made in between; a review begins with a fresh
//! one, unless it was interrupted. Where reviews need no fresh context, an agent has one conversation for everything.

use crate::bubble::{AgentSession, BubbleState, Turn};
use crate::facts::Seat;
use crate::ids::AgentId;
use crate::rules::ContextMode;

/// A program that was started, or has said which session it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub agent: &'a AgentId,
    pub turn: u32,
    pub seat: Option<Seat>,
    pub id: Option<&'a String>,
}

impl BubbleState {
    /// Whether the program that `turn.agent` has may be told of `turn`, as far as its conversation goes. If not, it is
    /// to be started anew.
    pub fn goes_on_here(&self, turn: &Turn) -> bool {
        let Some(session) =
            self.presence.sessions.get(&turn.agent).filter(|session| session.restarts == self.presence.restarts)
        else {
            return false;
        };
        match turn.seat {
            _ if self.rules.reviewer_context_mode == ContextMode::Persistent => true,
            // A review that was interrupted goes on; it is still the same review.
            Seat::Reviewer | Seat::Judge => session.turn == turn.number,
            // An agent that has only reviewed so far produces in the conversation of the review, which is its own from then on.
            Seat::Implementer => session.seat != Some(Seat::Reviewer) || session.implementer.is_none(),
        }
    }

    /// Returns the name of the conversation that a program for `turn` takes up again; nothing if it begins a fresh one.
    pub fn conversation_for(&self, turn: &Turn) -> Option<&String> {
        let session = self.presence.sessions.get(&turn.agent)?;
        match turn.seat {
            _ if self.rules.reviewer_context_mode == ContextMode::Persistent => session.id.as_ref(),
            Seat::Reviewer | Seat::Judge => session.id.as_ref().filter(|_| session.turn == turn.number),
            Seat::Implementer => session.implementer.as_ref().or(session.id.as_ref()),
        }
    }

    /// Returns the seat that a program sits in of which this was recorded. Not every record says it.
    fn seat_of(&self, known: Known<'_>) -> Option<Seat> {
        let of_turn = || self.phase.turn().filter(|turn| turn.number == known.turn).map(|turn| turn.seat);
        // A conversation that is named later, or cannot be taken up, is the one that was there.
        let same = |session: &&AgentSession| session.turn == known.turn || known.turn == 0;
        let of_program = || self.presence.sessions.get(known.agent).filter(same).and_then(|session| session.seat);
        known.seat.or_else(of_turn).or_else(of_program)
    }

    /// Whether all of that is written down already.
    pub(super) fn knows(&self, known: Known<'_>) -> bool {
        let as_told = |session: &AgentSession| {
            (session.turn, session.id.as_ref(), session.restarts) == (known.turn, known.id, self.presence.restarts)
                && session.seat == self.seat_of(known)
        };
        self.presence.sessions.get(known.agent).is_some_and(as_told)
    }

    /// Takes over what became known of an agent's program.
    pub(super) fn note_session(&mut self, known: Known<'_>) {
        let (seat, before) = (self.seat_of(known), self.presence.sessions.get(known.agent));
        // A program that only now says which conversation it has was started before; it does not say so after each restart.
        let named = |one: &&AgentSession| one.turn == known.turn && known.id.is_some() && one.id.as_ref() != known.id;
        let restarts = before.filter(named).map_or(self.presence.restarts, |one| one.restarts);
        let id = known.id.cloned();
        let implementer = match seat {
            Some(Seat::Implementer) => id.clone(),
            _ => before.and_then(|one| one.implementer.clone()),
        };
        self.presence
            .sessions
            .insert(known.agent.clone(), AgentSession { turn: known.turn, id, restarts, seat, implementer });
    }

    /// An agent has read that it has the turn: the conversation that it has is the one of its seat.
    pub(super) fn sits_down(&mut self, agent: &AgentId) {
        let Some(turn) = self.phase.turn().filter(|turn| turn.agent == *agent && self.goes_on_here(turn)) else {
            return;
        };
        let seat = turn.seat;
        if let Some(session) = self.presence.sessions.get_mut(agent) {
            session.seat = Some(seat);
            if seat == Seat::Implementer {
                session.implementer.clone_from(&session.id);
            }
        }
    }
}
