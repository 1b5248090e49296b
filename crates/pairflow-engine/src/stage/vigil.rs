//! A dialog that a person is asked about is over when the prompt is there again: no hook tells of one that was left.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::ids::AgentId;
use pairflow_core::log::QuestionKind;

use super::error::StageError;
use super::play::Play;
use super::sight::Sight;

/// How often it is looked.
const PACE: Duration = Duration::from_secs(5);

impl Play {
    /// Takes back the questions about dialogs that are not there any more.
    pub(super) fn keep_vigil(&mut self, state: &BubbleState) -> Result<(), StageError> {
        for agent in self.shown_dialogs(state) {
            self.seat(&agent).strange = None;
            let Some(pane) = self.living(&agent) else { continue };
            if matches!(self.sight(&agent, &pane)?, Sight::Free(_)) {
                self.report(&Command::Active { agent });
            }
        }
        Ok(())
    }

    /// When it is to be looked again.
    pub(super) fn vigil_due(&self, stepped: Instant) -> Option<Instant> {
        let asked = self.state.as_ref().is_some_and(|state| !state.paused && !self.shown_dialogs(state).is_empty());
        asked.then(|| stepped + PACE)
    }

    /// The agents about whose dialog a person is asked, and whose prompt would be known.
    fn shown_dialogs(&self, state: &BubbleState) -> Vec<AgentId> {
        let asked = state.gate.questions.iter().filter(|open| open.kind == QuestionKind::Dialog);
        let known = |agent: &&AgentId| self.seats.get(*agent).is_some_and(|seat| seat.kept.composer.is_some());
        asked.filter_map(|open| open.about.as_ref()).filter(known).cloned().collect()
    }
}
