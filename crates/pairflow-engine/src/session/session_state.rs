//! What a session thread holds: each agent's program, the notice on its way to it, and permission requests that wait.

use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::sync::mpsc::Sender;
use std::time::Instant;

use pairflow_core::ids::{AgentId, MsgId};
use pairflow_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent_socket::{HookAnswer, HookCall};
use crate::caller::pane_records;
use crate::driver::{Composer, Dialog};
use crate::engine::{Bubble, EngineError};
use crate::limits::Limits;
use crate::process::{reap, records};
use crate::tmux::{PaneId, Tmux, TmuxError};

/// What an agent's program is doing, as far as its hooks tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProgramStatus {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It was started and has not reported yet.
    Starting,
    /// It waits for a prompt.
    Ready,
    /// It works.
    Busy,
    /// It waits for a permission.
    Permission,
    /// It shows a dialog.
    Dialog,
    /// It has ended.
    Gone,
}

/// Whose prompt an agent is working on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Prompted {
    /// None yet.
    #[default]
    Nobody,
    /// A notice of pairflow.
    Pairflow,
    /// Text that a person typed into the pane.
    Person,
}

/// One agent's program.
#[derive(Debug, Default)]
pub(super) struct AgentProgram {
    pub status: ProgramStatus,
    /// When the status last changed; `None` if that was before this supervisor started.
    pub since: Option<Timestamp>,
    pub pid: Option<i32>,
    /// The process that was started here last, even after it has ended.
    pub started_pid: Option<i32>,
    pub pane: Option<PaneId>,
    /// How many lines had scrolled out of the pane when the program was started.
    pub history: Option<usize>,
    pub saved: SavedProgram,
    /// The notice on its way.
    pub delivery: Option<NoticeDelivery>,
    /// Since when a notice waits for the program to be free.
    pub waiting: Option<Instant>,
    /// Whether the program resumed an earlier conversation and has not taken a prompt since.
    pub resumed: bool,
    /// When its conversation record was last read.
    pub record_read: Option<Instant>,
    /// When a hook last reported.
    pub last_hook: Option<Instant>,
    /// Whether the program was started here with hooks, and none has reported yet.
    pub silent: bool,
    /// The turn in which it was restarted because it had ended before any hook reported.
    pub restarted_in: Option<u32>,
    /// When its briefing was typed.
    pub briefed: Option<Instant>,
    /// Since when the screen shows no dialog although the program is said to wait for a permission.
    pub dialog_gone_since: Option<Instant>,
    /// Since when the screen shows something unknown while a notice has to be typed or acknowledged.
    pub unknown_since: Option<Instant>,
    /// Whether a notice is held back because a person has typed something there.
    pub held_back: bool,
    /// How often the program was interrupted in the current pause.
    pub interrupted: u32,
}

/// What a later supervisor has to know about a program that it did not start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedProgram {
    pub status: ProgramStatus,
    pub hooks: bool,
    pub dialogs: Vec<Dialog>,
    pub composer: Option<Composer>,
    /// The mark in the environment of the program that was started last.
    pub mark: Option<String>,
    #[serde(default)]
    pub sandboxed: bool,
    pub transcript: Option<PathBuf>,
    pub prompted: Prompted,
    /// What the program wants a permission for, while a hook waits for the answer.
    pub permit: Option<String>,
    /// The notice that still has to be typed because the program took none with its start; 0 is the briefing. It is
    /// cleared before the typing, so that nothing is ever typed twice.
    pub untyped: Option<u64>,
}

/// A notice on its way.
#[derive(Debug, Clone)]
pub(super) struct NoticeDelivery {
    pub notice: u64,
    pub method: DeliveryMethod,
    /// Since when the program could have taken it.
    pub at: Instant,
    /// How often Enter was pressed for it.
    pub entered: u32,
    /// When the screen is looked at next.
    pub look: Instant,
}

/// How a notice reaches a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryMethod {
    /// As the first prompt, an argument of its start.
    Start,
    /// To be pasted as soon as a program that takes no prompt with its start is ready.
    Type,
    /// Pasted into its pane.
    Paste,
}

/// A hook that waits for its answer.
#[derive(Debug)]
pub(super) struct HookWaiter {
    pub answer: Sender<HookAnswer>,
    /// Upgradable while the hook's process is connected.
    pub alive: Weak<()>,
}

/// A permission request whose hook waits.
#[derive(Debug)]
pub(super) struct PendingPermission {
    pub agent: AgentId,
    pub call: HookCall,
    pub what: String,
    pub waiter: HookWaiter,
    pub since: Instant,
    /// When to check next whether a person has attached.
    pub look: Instant,
    /// The question about it; one is asked at a time.
    pub question: Option<MsgId>,
    /// Whether the program went on without an answer.
    pub passed: bool,
}

/// Why a step of a session thread failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// tmux failed.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    /// A file, a socket or the log failed, or an agent cannot be started.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The result of a step of a session thread.
pub(super) type StepResult<T = ()> = Result<T, SessionError>;

impl AgentProgram {
    /// Sets a new status and when it began.
    pub(super) fn set_status(&mut self, status: ProgramStatus, now: Timestamp) {
        if self.status != status {
            (self.status, self.since, self.saved.status) = (status, Some(now), status);
        }
    }

    /// Whether a hook belongs to an earlier program, which ends while the next one starts. Not every hook has the mark
    /// of its program in its environment; one without a mark is believed.
    pub(super) fn is_of_another(&self, call: &HookCall) -> bool {
        call.mark.as_ref().zip(self.saved.mark.as_ref()).is_some_and(|(its, ours)| its != ours)
    }

    /// Whether a person has to act in the pane before anything may be typed there.
    pub(super) fn is_blocked(&self) -> bool {
        matches!(self.status, ProgramStatus::Permission | ProgramStatus::Dialog)
    }
}

impl NoticeDelivery {
    /// Begins a delivery now.
    pub(super) fn new(notice: u64, method: DeliveryMethod, entered: u32, limits: Limits) -> Self {
        let at = Instant::now();
        Self { notice, method, at, entered, look: at + limits.screen_look }
    }

    /// Whether the text is typed on the screen but Enter was not pressed.
    pub(super) fn is_unsent(&self) -> bool {
        self.method == DeliveryMethod::Paste && self.entered == 0
    }
}

impl HookWaiter {
    /// Whether the hook's process is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.alive.strong_count() == 0
    }
}

/// Returns the tmux server of a bubble; if it is started, it runs in the environment `env`.
pub(super) fn tmux_of(bubble: &Bubble, env: &[(String, String)]) -> Tmux {
    Tmux::new(bubble.control.tmux_socket(&bubble.id), env.iter().cloned())
}

/// Ends the agents of a bubble and its tmux server.
pub(super) fn close_session(bubble: &Bubble) -> StepResult {
    let runtime = bubble.control.runtime(&bubble.id);
    end_agents(&runtime)?;
    match tmux_of(bubble, &[]).kill_server() {
        Ok(()) | Err(TmuxError::NoServer { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    // A program that was just being started has put itself on record only now, or never runs.
    Ok(end_agents(&runtime)?)
}

/// Ends every process on record for any pane.
fn end_agents(runtime: &Path) -> Result<(), EngineError> {
    let entries = std::fs::read_dir(pane_records(runtime)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).try_for_each(|dir| end_recorded(&dir))
}

/// Ends the processes on record in `dir`.
pub(super) fn end_recorded(dir: &Path) -> Result<(), EngineError> {
    reap(dir).map(drop).map_err(|error| EngineError::io("cannot end an agent", std::io::Error::other(error)))
}

/// Returns where the processes of one agent's pane are on record.
pub(super) fn records_of(bubble: &Bubble, agent: &AgentId) -> PathBuf {
    pane_records(&bubble.control.runtime(&bubble.id)).join(agent.as_str())
}

/// Whether `pid` is a program that pairflow started for `agent`, and not the placeholder in its pane.
pub(super) fn was_started(bubble: &Bubble, agent: &AgentId, pid: i32) -> bool {
    records(&records_of(bubble, agent)).is_ok_and(|records| records.iter().any(|record| record.pid == pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_socket::HookName;

    #[test]
    fn a_hook_is_of_another_program_only_if_both_marks_are_known() {
        let another = |its: Option<&str>, ours: Option<&str>| {
            let (its, ours) = (its.map(str::to_owned), ours.map(str::to_owned));
            let program = AgentProgram {
                saved: SavedProgram { mark: ours, ..SavedProgram::default() },
                ..AgentProgram::default()
            };
            program.is_of_another(&HookCall { mark: its, ..HookCall::new(HookName::SessionEnd) })
        };
        assert!(another(Some("1.2.3"), Some("1.2.4")));
        assert!(!another(Some("1.2.3"), Some("1.2.3")));
        assert!(![(None, Some("1.2.3")), (Some("1.2.3"), None), (None, None)].iter().any(|(a, b)| another(*a, *b)));
    }
}
