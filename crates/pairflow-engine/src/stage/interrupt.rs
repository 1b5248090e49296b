//! A pause: what pairflow has told an agent to do is interrupted, as a person would do it, with Esc.
//!
//! What a person has told it goes on: a pause is also the time for work by hand.

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::AgentId;

use super::error::StageError;
use super::play::Play;
use super::seat::{Prompted, SeatNow, Status};
use super::sight::Sight;
use super::tell::AT_WORK;

/// How often a program is interrupted in one pause.
const ESCAPES: u32 = 3;

impl SeatNow {
    /// Whether its program works, as far as is known, at what pairflow has told it.
    fn works_for_us(&self) -> bool {
        let works = self.status == Status::Busy || !self.kept.hooks;
        works && self.kept.prompted == Prompted::Pairflow && self.interrupted < ESCAPES
    }
}

impl Play {
    /// Interrupts each program that is at work. Nothing is pressed unless the program says that Esc interrupts it.
    pub(super) fn interrupt(&mut self, state: &BubbleState) -> Result<(), StageError> {
        let agents: Vec<AgentId> = state.rules.agents.all().cloned().collect();
        for agent in agents {
            self.seat(&agent).strange = None;
            let pane = self.living(&agent).filter(|_| self.seat(&agent).works_for_us());
            let Some(pane) = pane else { continue };
            let Sight::Free(free) = self.sight(&agent, &pane)? else { continue };
            let Some(room) = self.room.as_ref().filter(|_| free.screen.contains(AT_WORK)) else { continue };
            room.tmux.escape(&pane)?;
            let now = self.bubble().engine.clock.now().ts;
            let seat = self.seat(&agent);
            seat.interrupted += 1;
            // Not every program says that it was interrupted; one that was not says what it goes on with.
            seat.becomes(Status::Unknown, now);
        }
        Ok(())
    }

    /// The pause is over, if there was one.
    pub(super) fn goes_on(&mut self) {
        self.seats.values_mut().for_each(|seat| seat.interrupted = 0);
    }
}
