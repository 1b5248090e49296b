//! What the hooks of an agent's program say: signs of life, acknowledgements, the wish to stop.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Hindrance, Notice, Phase};
use pairflow_core::ids::AgentId;
use pairflow_core::safe::safe_line;

use super::notice;
use super::notice::is_recorded;
use super::session_loop::SessionLoop;
use super::session_state::{AgentProgram, HookWaiter, ProgramStatus, Prompted};
use crate::agent_socket::{HookAnswer, HookCall, HookEvent, HookName};
use crate::driver::TroubleKind;
use crate::regular::end_of;

/// The notification with which Claude Code says that it has waited for a prompt for a while.
const IDLE: &str = "idle_prompt";

impl SessionLoop {
    /// Takes what a hook says, and answers it.
    pub(super) fn on_hook(&mut self, call: HookEvent) {
        let HookEvent { agent, call, answer, there } = call;
        if self.program(&agent).is_of_another(&call) {
            // A hook that does not wait any more needs no answer.
            let _ = answer.send(HookAnswer::Nothing);
            return;
        }
        let now = self.bubble().engine.clock.now();
        self.setup.activity.note(&agent, now);
        let program = self.program(&agent);
        (program.heard, program.silent) = (Some(Instant::now()), false);
        self.identify(&agent, &call);
        if call.event == HookName::PermissionRequest {
            return self.request_permission(&agent, call, HookWaiter { answer, there });
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
                self.program(agent).set_status(ProgramStatus::Ready, now);
            }
            HookName::UserPromptSubmit => self.prompted(agent, call),
            // Programs work at several things at once: what goes on beside a dialog answers it not.
            HookName::PreToolUse | HookName::PostToolUse if beside || self.still_shows_dialog(agent) => {}
            HookName::PreToolUse => {
                self.program(agent).set_status(ProgramStatus::Busy, now);
                self.is_active(agent, true);
            }
            // It may be the end of the very command that handed over.
            HookName::PostToolUse => {
                self.program(agent).set_status(ProgramStatus::Busy, now);
                self.is_active(agent, false);
            }
            HookName::Stop => return self.stops(agent),
            HookName::StopFailure => self.failed(agent, call),
            HookName::Interrupt => {
                let program = self.program(agent);
                program.set_status(ProgramStatus::Ready, now);
                program.saved.prompted = Prompted::Person;
            }
            // There is no other event for a dialog that a person has left with Esc.
            HookName::Notification if call.reason.as_deref() == Some(IDLE) && !self.has_pending(agent) => {
                self.program(agent).set_status(ProgramStatus::Ready, now);
            }
            HookName::Notification | HookName::PermissionRequest => {}
            HookName::SessionEnd => {
                self.program(agent).set_status(ProgramStatus::Gone, now);
            }
        }
        HookAnswer::Nothing
    }

    /// Keeps the name of the session and the place of its record.
    fn identify(&mut self, agent: &AgentId, call: &HookCall) {
        if let Some(transcript) = &call.transcript {
            self.program(agent).saved.transcript = Some(transcript.clone());
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
        let program = self.program(agent);
        program.set_status(ProgramStatus::Busy, now);
        program.resumed = false;
        program.saved.prompted = if numbers.is_empty() { Prompted::Person } else { Prompted::Pairflow };
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
        let program = self.program(agent);
        program.set_status(ProgramStatus::Ready, now);
        if program.saved.prompted != Prompted::Pairflow {
            return HookAnswer::Nothing;
        }
        let before = self.bubble().load().map_or(0, |loaded| nudges(&loaded.state));
        let state = self.report(&Command::Stopped { agent: agent.clone() });
        let Some(state) = state.filter(|state| nudges(state) > before) else { return HookAnswer::Nothing };
        self.program(agent).set_status(ProgramStatus::Busy, now);
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

/// How much of the end of a record is read.
const END: u64 = 256 * 1024;
/// How long a busy program is quiet before its record is looked at, and between two looks.
const QUIET: Duration = Duration::from_secs(20);
/// How much of what a program says is told to a person.
const SHOWN: usize = 200;

impl AgentProgram {
    /// When the record of a busy program is looked at next, unless hooks say something before.
    pub(super) fn record_due(&self) -> Option<Instant> {
        let last = self.heard.into_iter().chain(self.read).max()?;
        (self.status == ProgramStatus::Busy && self.saved.transcript.is_some()).then_some(last + QUIET)
    }
}

impl SessionLoop {
    /// Whether the record holds the notice.
    pub(super) fn has_read(&mut self, notice: &Notice) -> bool {
        self.record(&notice.agent).is_some_and(|text| is_recorded(notice.number, &text))
    }

    /// Looks whether the program of the agent that has the turn has failed without a word.
    pub(super) fn look_for_failure(&mut self, state: &BubbleState, agent: &AgentId) {
        let now = Instant::now();
        let program = self.program(agent);
        if program.record_due().is_none_or(|at| at > now) {
            return;
        }
        program.read = Some(now);
        self.why_it_failed(state, agent, "");
    }

    /// Tells a person why a turn failed: out of the record, or else in the words of `otherwise`, if there are any.
    pub(super) fn why_it_failed(&mut self, state: &BubbleState, agent: &AgentId, otherwise: &str) {
        let spec = state.rules.agents_custom.get(agent);
        let record = self.record(agent).unwrap_or_default();
        let (by, what) = match self.setup.driver.trouble(agent, spec, &record) {
            Some(trouble) if trouble.kind == TroubleKind::Limit => {
                (Hindrance::Limit { until: trouble.until }, trouble.text)
            }
            Some(trouble) => (Hindrance::Failure, trouble.text),
            None if otherwise.is_empty() => return,
            None => (Hindrance::Failure, otherwise.to_owned()),
        };
        let now = self.bubble().engine.clock.now().ts;
        self.program(agent).set_status(ProgramStatus::Ready, now);
        self.report(&Command::Hindered { agent: agent.clone(), by, what: safe_line(&what, SHOWN) });
    }

    fn record(&mut self, agent: &AgentId) -> Option<String> {
        let path = self.program(agent).saved.transcript.clone()?;
        end_of(&path, END)
    }
}
