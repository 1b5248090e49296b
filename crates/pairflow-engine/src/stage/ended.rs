//! The end of an agent's program.

use pairflow_core::ids::AgentId;
use pairflow_core::unit::{Command, Phase};

use super::play::Play;
use super::seat::Status;
use crate::tmux::Pane;

impl Play {
    /// A program is gone. In its own open turn that is a question to a person; crash and exit are told apart.
    pub(super) fn gone(&mut self, agent: &AgentId, pid: i32) {
        if self.seats.get(agent).is_none_or(|seat| seat.pid != Some(pid)) {
            // Another one has taken its place.
            return;
        }
        let now = self.bubble().engine.clock.now().ts;
        let how = self.how(agent);
        let seat = self.seat(agent);
        seat.pid = None;
        seat.becomes(Status::Gone, now);
        (seat.telling, seat.waiting) = (None, None);
        let Ok(loaded) = self.bubble().load() else { return };
        let unit = loaded.unit;
        let holder = match &unit.phase {
            Phase::Running(turn) if turn.agent == *agent && turn.is_open() && !unit.paused => Some(turn.number),
            _ => None,
        };
        self.unit = Some(unit);
        if let Some(turn) = holder {
            self.report(&Command::AgentEnded { turn, how });
        }
    }

    fn how(&mut self, agent: &AgentId) -> String {
        let panes = self.room.as_ref().map(|room| room.tmux.panes());
        match panes {
            Some(Ok(panes)) => match panes.iter().find(|pane| pane.tag.as_deref() == Some(agent.as_str())) {
                Some(Pane { status: Some(code), signal: None, .. }) => format!("with exit code {code}"),
                Some(Pane { signal: Some(signal), .. }) => format!("by signal {signal}"),
                Some(_) => "in an unknown way".to_owned(),
                None => "with its pane".to_owned(),
            },
            _ => {
                self.lost();
                "with the tmux server".to_owned()
            }
        }
    }
}
