//! The end of an agent's program.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Turn};
use pairflow_core::ids::AgentId;

use super::play::Play;
use super::room::started;
use super::seat::Status;
use crate::tmux::Pane;

/// How long tmux may take to find out how a program has ended, and how often it is asked.
const TOLD_WITHIN: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

impl Play {
    /// A program is gone; the next step sees what that means.
    pub(super) fn gone(&mut self, agent: &AgentId, pid: i32) {
        if self.seats.get(agent).is_none_or(|seat| seat.pid != Some(pid)) {
            // Another one has taken its place.
            return;
        }
        let now = self.bubble().engine.clock.now().ts;
        let seat = self.seat(agent);
        seat.pid = None;
        seat.becomes(Status::Gone, now);
        (seat.telling, seat.waiting, seat.held_back) = (None, None, false);
        if seat.kept.hooks && std::mem::take(&mut seat.resumed) {
            // Its earlier conversation cannot be taken up; the next start is a fresh one.
            let seat = self.state.as_ref().and_then(|state| state.presence.sessions.get(agent)?.seat);
            self.report(&Command::AgentSession { agent: agent.clone(), turn: 0, seat, session: None });
        }
    }

    /// Says whether the program of the agent that has the turn has ended in it, seen or not, and has a person
    /// asked then. One that ended before its turn, or is to be started again, has not.
    pub(super) fn has_died(&mut self, state: &BubbleState, turn: &Turn) -> bool {
        let agent = &turn.agent;
        let session = state.presence.sessions.get(agent).filter(|session| session.restarts == state.presence.restarts);
        let in_this_turn = match state.notice_for(agent) {
            None => true,
            Some(notice) => notice.attempts > 0 && session.is_some_and(|session| session.turn == turn.number),
        };
        if session.is_none() || !in_this_turn || self.living(agent).is_some() {
            return false;
        }
        let how = self.how(agent);
        if state.notice_for(agent).is_some() && self.gets_a_second_start(agent, turn.number) {
            (self.props.say)(&format!(
                "{}: {agent} ended {how} before it said anything; it is started once more",
                state.id
            ));
            return false;
        }
        let begun = self.seat(agent).history;
        let output = self.last_pane(agent).and_then(|pane| self.room.as_ref()?.tmux.last_words(&pane.id, begun).ok());
        self.report(&Command::AgentEnded { turn: turn.number, how, output: output.unwrap_or_default() });
        true
    }

    /// A program that ended before it said anything is started once more in a turn: Codex ends when another one is just
    /// making the database of their common home.
    fn gets_a_second_start(&mut self, agent: &AgentId, turn: u32) -> bool {
        let seat = self.seat(agent);
        let first = std::mem::take(&mut seat.silent) && seat.once_more != Some(turn);
        if first {
            seat.once_more = Some(turn);
        }
        first
    }

    /// How a program ended, as part of a sentence. tmux knows of the end a moment before it knows how.
    fn how(&self, agent: &AgentId) -> String {
        let until = Instant::now() + TOLD_WITHIN;
        loop {
            match self.last_pane(agent) {
                Some(Pane { signal: Some(signal), .. }) => return format!("by signal {signal}"),
                Some(Pane { status: Some(code), .. }) => return format!("with exit code {code}"),
                Some(_) if Instant::now() < until => std::thread::sleep(PAUSE),
                _ => return "together with its pane".to_owned(),
            }
        }
    }

    /// The pane in which a program of `agent` ran; one that was made anew knows nothing of the one before.
    fn last_pane(&self, agent: &AgentId) -> Option<Pane> {
        let panes = self.room.as_ref()?.tmux.panes().ok()?;
        let pane = panes.into_iter().find(|pane| pane.tag.as_deref() == Some(agent.as_str()))?;
        let begun = self.seats.get(agent).and_then(|seat| seat.begun);
        (begun == Some(pane.pid) || started(self.bubble(), agent, pane.pid)).then_some(pane)
    }
}
