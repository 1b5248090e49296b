//! What is known of one agent's program.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak};
use std::time::Instant;

use pairflow_core::ids::{AgentId, MsgId};
use pairflow_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent_socket::{HookAnswer, HookCall};
use crate::caller::pane_records;
use crate::driver::{Composer, Dialog};
use crate::engine::{Bubble, EngineError};
use crate::process::reap;
use crate::tmux::{PaneId, Tmux, TmuxError};

/// How an agent's program is, as far as its hooks tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProgramStatus {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It was started and has not said anything yet.
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

/// Whose words an agent is working on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Prompted {
    /// Nobody's yet.
    #[default]
    Nobody,
    /// Pairflow's notice.
    Pairflow,
    /// A person's who typed into the pane.
    Person,
}

/// One agent's program.
#[derive(Debug, Default)]
pub(super) struct AgentProgram {
    pub status: ProgramStatus,
    /// Since when; nothing if that was before this supervisor.
    pub since: Option<Timestamp>,
    pub pid: Option<i32>,
    /// The program that was started here last, also when it is gone.
    pub begun: Option<i32>,
    pub pane: Option<PaneId>,
    /// How many lines had scrolled out of its pane when it was started here.
    pub history: Option<usize>,
    pub saved: SavedProgram,
    /// The notice that is on its way.
    pub delivery: Option<NoticeDelivery>,
    /// Since when a notice waits for the program to be free.
    pub waiting: Option<Instant>,
    /// Whether it was started to go on with an earlier conversation, and has not taken a prompt since.
    pub resumed: bool,
    /// When its record was last looked at.
    pub read: Option<Instant>,
    /// When hooks last said anything.
    pub heard: Option<Instant>,
    /// Whether it was started here, has hooks, and none of them has said anything yet.
    pub silent: bool,
    /// The turn in which it was started once more, because it had ended before it said anything.
    pub once_more: Option<u32>,
    /// When its briefing was typed.
    pub briefed: Option<Instant>,
    /// Since when no dialog is on its screen, though it is said to wait for a permission.
    pub clear: Option<Instant>,
    /// Since when its screen shows something unknown, though a notice is to be typed there or was not taken yet.
    pub strange: Option<Instant>,
    /// Whether a notice is kept back because a person has typed something there.
    pub held_back: bool,
    /// How often it was interrupted in the present pause.
    pub interrupted: u32,
}

/// What a later supervisor wants to know of a program that it did not start itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedProgram {
    pub status: ProgramStatus,
    pub hooks: bool,
    pub dialogs: Vec<Dialog>,
    #[serde(default)]
    pub composer: Option<Composer>,
    /// The mark in the environment of the program that was started last.
    #[serde(default)]
    pub mark: Option<String>,
    #[serde(default)]
    pub sandboxed: bool,
    pub transcript: Option<PathBuf>,
    pub prompted: Prompted,
    /// What it wants a permission for, as long as a hook waits for the answer.
    #[serde(default)]
    pub permit: Option<String>,
    /// The notice that is still to be typed, because the program took none with its start; 0 is the briefing. It is
    /// forgotten before the typing, so that nothing is ever typed twice.
    #[serde(default)]
    pub untyped: Option<u64>,
}

/// A notice on its way.
#[derive(Debug, Clone)]
pub(super) struct NoticeDelivery {
    pub notice: u64,
    pub by: DeliveryMethod,
    /// Since when the program had the chance to take it.
    pub at: Instant,
    /// How often Enter was pressed for it.
    pub entered: u32,
    /// When the screen is looked at next.
    pub look: Instant,
}

/// How a notice is handed to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryMethod {
    /// As the first prompt, with its start.
    Start,
    /// Still to be pasted, once a program that takes no prompt with its start is there.
    Type,
    /// Pasted into its pane.
    Paste,
}

impl AgentProgram {
    /// Notes a new status; says whether it is another one.
    pub(super) fn set_status(&mut self, status: ProgramStatus, now: Timestamp) -> bool {
        let news = self.status != status;
        if news {
            (self.status, self.since, self.saved.status) = (status, Some(now), status);
        }
        news
    }

    /// Whether what a hook says is about an earlier program, which ends while the next one is started. Not every hook
    /// has the mark of its program in its environment; one without any is believed.
    pub(super) fn is_of_another(&self, call: &HookCall) -> bool {
        call.mark.as_ref().zip(self.saved.mark.as_ref()).is_some_and(|(its, ours)| its != ours)
    }

    /// Whether a person has to do something in the pane before anything else may be typed there.
    pub(super) fn is_blocked(&self) -> bool {
        matches!(self.status, ProgramStatus::Permission | ProgramStatus::Dialog)
    }
}

/// A session that is there.
pub(super) struct TmuxSession {
    pub tmux: Tmux,
    pub name: String,
}

impl TmuxSession {
    /// Names the session of a bubble; its server runs in the environment `env`.
    pub(super) fn of(bubble: &Bubble, env: &[(String, String)]) -> Self {
        let tmux = Tmux::new(bubble.control.tmux_socket(&bubble.id), env.iter().cloned());
        Self { tmux, name: bubble.control.session_name(&bubble.id) }
    }

    /// Ends the agents of a bubble and its tmux server.
    pub(super) fn close(bubble: &Arc<Bubble>) -> Result<(), SessionError> {
        let runtime = bubble.control.runtime(&bubble.id);
        end_agents(&runtime)?;
        match Self::of(bubble, &[]).tmux.kill_server() {
            Ok(()) | Err(TmuxError::NoServer { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        // A program that was just being started has put itself on record only now, or never runs.
        end_agents(&runtime)
    }
}

/// Where the processes of one agent's pane are on record.
pub(super) fn records_of(runtime: &Path, agent: &AgentId) -> PathBuf {
    pane_records(runtime).join(agent.as_str())
}

/// Ends whatever is on record for any pane.
fn end_agents(runtime: &Path) -> Result<(), SessionError> {
    let entries = std::fs::read_dir(pane_records(runtime)).into_iter().flatten().flatten();
    for dir in entries.map(|entry| entry.path()) {
        reap(&dir).map_err(|error| SessionError::world("cannot end an agent")(std::io::Error::other(error)))?;
    }
    Ok(())
}

/// Whether `pid` is a program that pairflow has started for `agent`, and not the word that stands in for it.
pub(super) fn started(bubble: &Bubble, agent: &AgentId, pid: i32) -> bool {
    let dir = records_of(&bubble.control.runtime(&bubble.id), agent);
    crate::process::records(&dir).is_ok_and(|records| records.iter().any(|record| record.pid == pid))
}

/// Why a step of a stage failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// The terminal.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    /// The log, or an agent that cannot be started.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file or a socket.
    #[error("{what}: {source}")]
    World {
        /// What was tried.
        what: String,
        /// What came of it.
        source: std::io::Error,
    },
}

impl SessionError {
    /// Names what was tried with a file or a socket.
    pub(super) fn world(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::World { what, source }
    }
}

/// A hook that waits for its answer.
#[derive(Debug)]
pub(super) struct HookWaiter {
    pub answer: Sender<HookAnswer>,
    /// Is there as long as the hook is.
    pub there: Weak<()>,
}

impl HookWaiter {
    /// Whether nobody waits any more.
    pub(super) fn is_gone(&self) -> bool {
        self.there.strong_count() == 0
    }
}

/// A request for a permission whose hook waits.
#[derive(Debug)]
pub(super) struct PendingPermission {
    pub agent: AgentId,
    pub call: HookCall,
    pub what: String,
    pub waiter: HookWaiter,
    pub since: Instant,
    /// When the session is looked at next.
    pub look: Instant,
    /// The question about it; one is asked at a time.
    pub question: Option<MsgId>,
    /// Whether the program went on without an answer.
    pub passed: bool,
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
