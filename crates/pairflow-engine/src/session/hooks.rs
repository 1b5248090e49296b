//! What the hooks of an agent's program report: activity, acknowledgements, the wish to stop. Where hooks say too little,
//! the program's own record of its conversation is read: a hook may have found no supervisor, and Codex has no hook for a
//! failure.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Hindrance, Notice, Phase};
use pairflow_core::ids::AgentId;
use pairflow_core::safe::safe_line;

use super::notice;
use super::session_loop::SessionLoop;
use super::session_state::{AgentProgram, HookWaiter, ProgramStatus, Prompted};
use crate::agent_socket::{HookAnswer, HookCall, HookEvent, HookName};
use crate::driver::TroubleKind;
use crate::regular::end_of;

/// The notification with which Claude Code says that it has waited for a prompt for a while.
const IDLE: &str = "idle_prompt";
/// How much of the end of a record is read, in bytes.
const RECORD_END: u64 = 256 * 1024;
/// How long a busy program is quiet before its record is read, and between two reads.
const QUIET: Duration = Duration::from_secs(20);
/// How much of a failure is shown to a person, in columns.
const SHOWN: usize = 200;

impl AgentProgram {
    /// Returns when the record of a busy program is read next, unless a hook reports before.
    pub(super) fn record_due(&self) -> Option<Instant> {
        let last = self.last_hook.into_iter().chain(self.record_read).max()?;
        (self.status == ProgramStatus::Busy && self.saved.transcript.is_some()).then_some(last + QUIET)
    }
}

impl SessionLoop {
    /// Takes the report of a hook, and answers it.
    pub(super) fn on_hook(&mut self, event: HookEvent) {
        let HookEvent { agent, call, answer, alive } = event;
        if self.program(&agent).is_of_another(&call) {
            // A hook that no longer waits needs no answer.
            let _ = answer.send(HookAnswer::Nothing);
            return;
        }
        self.setup.activity.note(&agent, self.bubble().engine.clock.now());
        let program = self.program(&agent);
        (program.last_hook, program.silent) = (Some(Instant::now()), false);
        self.identify(&agent, &call);
        if call.event == HookName::PermissionRequest {
            return self.request_permission(&agent, call, HookWaiter { answer, alive });
        }
        let reply = self.react(&agent, &call);
        let _ = answer.send(reply);
    }

    fn react(&mut self, agent: &AgentId, call: &HookCall) -> HookAnswer {
        let beside = self.is_beside_a_permission(agent, call);
        match call.event {
            HookName::SessionStart => self.set_status(agent, ProgramStatus::Ready),
            HookName::UserPromptSubmit => self.prompted(agent, call),
            // Programs do several things at once: work beside a dialog does not answer it.
            HookName::PreToolUse | HookName::PostToolUse if beside || self.still_shows_dialog(agent) => {}
            HookName::PreToolUse => {
                self.set_status(agent, ProgramStatus::Busy);
                self.on_activity(agent, true);
            }
            // It may be the end of the very command that handed over.
            HookName::PostToolUse => {
                self.set_status(agent, ProgramStatus::Busy);
                self.on_activity(agent, false);
            }
            HookName::Stop => return self.on_stop(agent),
            HookName::StopFailure => self.on_stop_failure(agent, call),
            HookName::Interrupt => {
                self.set_status(agent, ProgramStatus::Ready);
                self.program(agent).saved.prompted = Prompted::Person;
            }
            // There is no other event for a dialog that a person left with Esc.
            HookName::Notification if call.reason.as_deref() == Some(IDLE) && !self.has_pending(agent) => {
                self.set_status(agent, ProgramStatus::Ready);
            }
            HookName::Notification | HookName::PermissionRequest => {}
            HookName::SessionEnd => self.set_status(agent, ProgramStatus::Gone),
        }
        HookAnswer::Nothing
    }

    /// Keeps the name of the conversation and the path of its record.
    fn identify(&mut self, agent: &AgentId, call: &HookCall) {
        if let Some(transcript) = &call.transcript {
            self.program(agent).saved.transcript = Some(transcript.clone());
        }
        let known = self.state.as_ref().and_then(|state| state.presence.sessions.get(agent));
        // Before the first prompt there is no conversation to resume.
        let spoken = call.event != HookName::SessionStart;
        let (Some(session), Some(known)) = (call.session.as_ref().filter(|_| spoken), known) else { return };
        if known.id.as_ref() != Some(session) {
            let (turn, seat, session) = (known.turn, known.seat, Some(session.clone()));
            self.report(&Command::AgentSession { agent: agent.clone(), turn, seat, session });
        }
    }

    fn prompted(&mut self, agent: &AgentId, call: &HookCall) {
        let numbers = call.prompt.as_deref().map(notice::numbers_in).unwrap_or_default();
        self.set_status(agent, ProgramStatus::Busy);
        let program = self.program(agent);
        program.resumed = false;
        program.saved.prompted = if numbers.is_empty() { Prompted::Person } else { Prompted::Pairflow };
        for notice in numbers {
            self.report(&Command::Acknowledged { agent: agent.clone(), notice });
        }
        self.on_activity(agent, true);
    }

    /// Activity withdraws questions about silence; activity of an agent without the turn is recorded.
    fn on_activity(&mut self, agent: &AgentId, begins: bool) {
        let disturbs = |state: &BubbleState| begins && state.disturbed_by(agent).is_some();
        let matters = |state: &BubbleState| {
            !state.gate.questions.is_empty() || state.presence.parked.is_some() || disturbs(state)
        };
        if self.state.as_ref().is_some_and(matters) {
            self.report(&Command::Active { agent: agent.clone() });
        }
    }

    /// Tells an agent that wants to stop in its own turn without a hand-over to go on, a few times.
    ///
    /// Spec: never while paused, and never after a person's prompt.
    fn on_stop(&mut self, agent: &AgentId) -> HookAnswer {
        self.set_status(agent, ProgramStatus::Ready);
        if self.program(agent).saved.prompted != Prompted::Pairflow {
            return HookAnswer::Nothing;
        }
        let before = self.bubble().load().map_or(0, |loaded| nudges(&loaded.state));
        let state = self.report(&Command::Stopped { agent: agent.clone() });
        let Some(state) = state.filter(|state| nudges(state) > before) else { return HookAnswer::Nothing };
        self.set_status(agent, ProgramStatus::Busy);
        let seat = state.phase.turn().map_or(String::new(), |turn| turn.seat.to_string());
        HookAnswer::Block {
            reason: format!(
                "You have the turn in pairflow bubble {} (round {}, {seat}) and have not handed over. Run `pairflow brief` \
                 again, which prints {}, and end your turn with the pairflow command that it names. If you cannot go on \
                 without a person, run: pairflow ask-human --question \"...\"",
                state.id,
                state.rounds.round,
                self.bubble().brief(agent).display()
            ),
        }
    }

    /// The model could not be reached, or refuses to work for a while.
    fn on_stop_failure(&mut self, agent: &AgentId, call: &HookCall) {
        let parts: Vec<_> = [call.error.as_deref(), call.message.as_deref()].into_iter().flatten().collect();
        let text = if parts.is_empty() { "its model did not answer".to_owned() } else { parts.join(": ") };
        if let Some(state) = self.state.clone() {
            self.report_failure(&state, agent, &text);
        }
    }

    /// Whether the record of the conversation has the notice.
    pub(super) fn has_read(&mut self, notice: &Notice) -> bool {
        self.record_end(&notice.agent).is_some_and(|text| notice::is_recorded(notice.number, &text))
    }

    /// Looks whether the program of the agent that has the turn failed without reporting it.
    pub(super) fn look_for_failure(&mut self, state: &BubbleState, agent: &AgentId) {
        let now = Instant::now();
        let program = self.program(agent);
        if program.record_due().is_some_and(|at| at <= now) {
            program.record_read = Some(now);
            self.report_failure(state, agent, "");
        }
    }

    /// Tells a person why a turn failed: from the record, else with the text `otherwise`, if it is not empty.
    fn report_failure(&mut self, state: &BubbleState, agent: &AgentId, otherwise: &str) {
        let spec = state.rules.agents_custom.get(agent);
        let record = self.record_end(agent).unwrap_or_default();
        let (by, what) = match self.setup.driver.trouble(agent, spec, &record) {
            Some(trouble) if trouble.kind == TroubleKind::Limit => {
                (Hindrance::Limit { until: trouble.until }, trouble.text)
            }
            Some(trouble) => (Hindrance::Failure, trouble.text),
            None if otherwise.is_empty() => return,
            None => (Hindrance::Failure, otherwise.to_owned()),
        };
        self.set_status(agent, ProgramStatus::Ready);
        self.report(&Command::Hindered { agent: agent.clone(), by, what: safe_line(&what, SHOWN) });
    }

    fn record_end(&mut self, agent: &AgentId) -> Option<String> {
        end_of(self.program(agent).saved.transcript.as_ref()?, RECORD_END)
    }
}

fn nudges(state: &BubbleState) -> u32 {
    match &state.phase {
        Phase::Running(turn) => turn.nudges,
        _ => 0,
    }
}
