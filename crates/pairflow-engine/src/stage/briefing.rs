//! Types the briefing of a program that took none with its start, while its first turn is still to come.
//!
//! It is worth less than a notice: it is typed once, nobody asks a person about it, and an agent whose turn comes first
//! gets the notice in its place.

use std::time::Instant;

use pairflow_core::bubble::{BubbleState, Turn};
use pairflow_core::ids::AgentId;

use super::error::StageError;
use super::notice;
use super::play::Play;
use super::seat::{Telling, Way};
use super::sight::Sight;
use super::tell::ENTERS;
use crate::tmux::PaneId;

/// What stands for a number where a notice has one.
pub(super) const BRIEFING: u64 = 0;

impl Play {
    /// Brings the briefing to the agents that wait for their first turn; no other notice is on its way to them.
    pub(super) fn brief(&mut self, state: &BubbleState, turn: &Turn) -> Result<(), StageError> {
        let others = state.rules.agents.all().filter(|agent| **agent != turn.agent);
        let limits = self.limits();
        for agent in others {
            let pane = self.living(agent);
            let seat = self.seat(agent);
            seat.waiting = None;
            let now = Instant::now();
            let to_type = seat.kept.untyped == Some(BRIEFING);
            let first =
                Telling { notice: BRIEFING, by: Way::Type, at: now, entered: 0, look: now + limits.screen_look };
            let telling = seat.telling.take().filter(|telling| telling.notice == BRIEFING);
            let Some(telling) = telling.or(to_type.then_some(first)) else { continue };
            let Some(pane) = pane else { continue };
            if now < telling.look {
                seat.telling = Some(telling);
                continue;
            }
            let next = Telling { look: now + limits.screen_look, ..telling };
            let left = match next.by {
                Way::Type => self.type_briefing(agent, &pane, next)?,
                Way::Start | Way::Paste => self.press_again(agent, &pane, next)?,
            };
            self.seat(agent).telling = left;
        }
        Ok(())
    }

    /// Types the briefing if nothing is in the way; returns what is still to be done for it.
    fn type_briefing(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        telling: Telling,
    ) -> Result<Option<Telling>, StageError> {
        let limits = self.limits();
        if self.seat(agent).still_starts(&telling, limits) {
            return Ok(Some(telling));
        }
        let text = notice::standby(&self.bubble().id, &self.bubble().briefing(agent));
        let Some(entered) = self.type_in(agent, pane, (BRIEFING, &text))? else { return Ok(Some(telling)) };
        let now = Instant::now();
        let seat = self.seat(agent);
        seat.briefed = Some(now);
        let typed = Telling { by: Way::Paste, at: now, entered, ..telling };
        Ok(Some(typed).filter(|typed| seat.kept.hooks || typed.is_unsent()))
    }

    /// Presses Enter again for a briefing that stands typed on the screen and was not taken; a notice that is typed
    /// later must not be joined to it.
    fn press_again(&mut self, agent: &AgentId, pane: &PaneId, telling: Telling) -> Result<Option<Telling>, StageError> {
        let taken = self.seat(agent).heard.is_some_and(|heard| heard >= telling.at);
        if taken || telling.entered >= ENTERS {
            return Ok(None);
        }
        let Sight::Free(free) = self.sight(agent, pane)? else { return Ok(Some(telling)) };
        if free.holds(BRIEFING) && !self.press(agent, pane, BRIEFING)? {
            return Ok(Some(telling));
        }
        Ok(Some(Telling { entered: telling.entered + 1, ..telling }))
    }
}
