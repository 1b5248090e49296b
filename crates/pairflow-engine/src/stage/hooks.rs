//! What the hooks of an agent's program say: signs of life, acknowledgements, the wish to stop.

use std::time::Instant;

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::ids::AgentId;

use super::held::Waiter;
use super::notice;
use super::play::Play;
use super::seat::{Prompted, Status};
use crate::seat::{HookAnswer, HookCall, HookName, SeatCall};

/// The notification with which Claude Code says that it has waited for a prompt for a while.
const IDLE: &str = "idle_prompt";

impl Play {
    /// Takes what a hook says, and answers it.
    pub(super) fn heard(&mut self, call: SeatCall) {
        let SeatCall { agent, call, answer, there } = call;
        if self.seat(&agent).is_of_another(&call) {
            // A hook that does not wait any more needs no answer.
            let _ = answer.send(HookAnswer::Nothing);
            return;
        }
        let now = self.bubble().engine.clock.now();
        self.props.activity.note(&agent, now);
        let seat = self.seat(&agent);
        (seat.heard, seat.silent) = (Some(Instant::now()), false);
        self.identify(&agent, &call);
        if call.event == HookName::PermissionRequest {
            return self.wants_permission(&agent, call, Waiter { answer, there });
        }
        let says = self.react(&agent, &call);
        // A hook that does not wait any more needs no answer.
        let _ = answer.send(says);
    }

    fn react(&mut self, agent: &AgentId, call: &HookCall) -> HookAnswer {
        let now = self.bubble().engine.clock.now().ts;
        let beside = self.is_beside_a_permission(agent, call);
        match call.event {
            HookName::SessionStart => {
                self.seat(agent).becomes(Status::Ready, now);
            }
            HookName::UserPromptSubmit => self.prompted(agent, call),
            // Programs work at several things at once: what goes on beside a dialog answers it not.
            HookName::PreToolUse | HookName::PostToolUse if beside || self.still_shows_dialog(agent) => {}
            HookName::PreToolUse => {
                self.seat(agent).becomes(Status::Busy, now);
                self.is_active(agent, true);
            }
            // It may be the end of the very command that handed over.
            HookName::PostToolUse => {
                self.seat(agent).becomes(Status::Busy, now);
                self.is_active(agent, false);
            }
            HookName::Stop => return self.stops(agent),
            HookName::StopFailure => self.failed(agent, call),
            HookName::Interrupt => {
                let seat = self.seat(agent);
                seat.becomes(Status::Ready, now);
                seat.kept.prompted = Prompted::Person;
            }
            // There is no other event for a dialog that a person has left with Esc.
            HookName::Notification if call.reason.as_deref() == Some(IDLE) && !self.holds_for(agent) => {
                self.seat(agent).becomes(Status::Ready, now);
            }
            HookName::Notification | HookName::PermissionRequest => {}
            HookName::SessionEnd => {
                self.seat(agent).becomes(Status::Gone, now);
            }
        }
        HookAnswer::Nothing
    }

    /// Keeps the name of the session and the place of its record.
    fn identify(&mut self, agent: &AgentId, call: &HookCall) {
        if let Some(transcript) = &call.transcript {
            self.seat(agent).kept.transcript = Some(transcript.clone());
        }
        let known = self.state.as_ref().and_then(|state| state.presence.sessions.get(agent));
        // Before the first prompt there is no conversation that could be taken up again.
        let spoken = call.event != HookName::SessionStart;
        let (Some(session), Some(known)) = (call.session.as_ref().filter(|_| spoken), known) else { return };
        if known.id.as_ref() != Some(session) {
            let (turn, seat, session) = (known.turn, known.seat, Some(session.clone()));
            self.report(&Command::AgentSession { agent: agent.clone(), turn, seat, session });
        }
    }

    fn prompted(&mut self, agent: &AgentId, call: &HookCall) {
        let now = self.bubble().engine.clock.now().ts;
        let numbers = call.prompt.as_deref().map(notice::numbers_in).unwrap_or_default();
        let seat = self.seat(agent);
        seat.becomes(Status::Busy, now);
        seat.resumed = false;
        seat.kept.prompted = if numbers.is_empty() { Prompted::Person } else { Prompted::Pairflow };
        for notice in numbers {
            self.report(&Command::Acknowledged { agent: agent.clone(), notice });
        }
        self.is_active(agent, true);
    }

    /// A sign of life withdraws what was asked because there was none; that of an agent without the turn is recorded.
    fn is_active(&mut self, agent: &AgentId, begins: bool) {
        let disturbs = |state: &BubbleState| begins && state.disturbed_by(agent).is_some();
        let asked = |state: &BubbleState| {
            !state.gate.questions.is_empty() || state.presence.parked.is_some() || disturbs(state)
        };
        if self.state.as_ref().is_some_and(asked) {
            self.report(&Command::Active { agent: agent.clone() });
        }
    }

    /// An agent that wants to stop in its own turn without a hand-over is told to go on, a few times.
    ///
    /// Spec: never while paused, and never after a person's prompt.
    fn stops(&mut self, agent: &AgentId) -> HookAnswer {
        let now = self.bubble().engine.clock.now().ts;
        let seat = self.seat(agent);
        seat.becomes(Status::Ready, now);
        if seat.kept.prompted != Prompted::Pairflow {
            return HookAnswer::Nothing;
        }
        let before = self.bubble().load().map_or(0, |loaded| nudges(&loaded.state));
        let state = self.report(&Command::Stopped { agent: agent.clone() });
        let Some(state) = state.filter(|state| nudges(state) > before) else { return HookAnswer::Nothing };
        self.seat(agent).becomes(Status::Busy, now);
        let seat = state.phase.turn().map_or(String::new(), |turn| turn.seat.to_string());
        HookAnswer::Block {
            reason: format!(
                "You have the turn in pairflow bubble {} (round {}, {seat}) and have not handed over. Run `pairflow brief` \
                 again, which prints {}, and end your turn with the pairflow command that it names. If you cannot go on without a person, run: \
                 pairflow ask-human --question \"...\"",
                state.id,
                state.rounds.round,
                self.bubble().brief(agent).display()
            ),
        }
    }

    /// The model could not be reached, or refuses to work for a while.
    fn failed(&mut self, agent: &AgentId, call: &HookCall) {
        let said = [call.error.as_deref(), call.message.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let said = if said.is_empty() { "its model did not answer".to_owned() } else { said.join(": ") };
        if let Some(state) = self.state.clone() {
            self.why_it_failed(&state, agent, &said);
        }
    }
}

fn nudges(state: &BubbleState) -> u32 {
    match &state.phase {
        Phase::Running(turn) => turn.nudges,
        _ => 0,
    }
}
