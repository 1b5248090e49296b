//! Files that show who runs where. They are rebuilt from what is seen; only displays read them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::time::{Moment, Timestamp};
use serde::{Deserialize, Serialize};

use super::session_state::ProgramStatus;
use crate::engine::ControlDir;
use crate::tmux::Tmux;

/// One agent's program, for the status view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AgentRecord {
    pub agent: AgentId,
    pub status: ProgramStatus,
    /// Since when, if known.
    pub since: Option<Timestamp>,
    /// The conversation, by which it can be resumed.
    pub session: Option<String>,
    pub pane: Option<String>,
    pub pid: Option<i32>,
    /// The notice that the agent has not acknowledged yet.
    pub notice: Option<u64>,
    /// Whether that notice is held back because a person has typed something in its place.
    #[serde(default)]
    pub held_back: bool,
    /// The machine's uptime in milliseconds when a hook last reported.
    pub active: Option<u64>,
}

/// One running session, for `runtime/sessions.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SessionRecord {
    bubble_id: BubbleId,
    session: String,
    socket: PathBuf,
    agents: Vec<AgentRecord>,
}

/// When each agent of a bubble was last active, by its hooks; shared between the session thread and the supervisor.
#[derive(Debug, Clone, Default)]
pub struct Activity(Arc<Mutex<BTreeMap<AgentId, Moment>>>);

impl Activity {
    /// Reads what the supervisor last wrote about a bubble's agents.
    pub fn recorded(control: &ControlDir, id: &BubbleId, now: Moment) -> Self {
        let known = Self::default();
        for AgentRecord { agent, active, .. } in read(control, id) {
            let ago = active.and_then(|up| now.up.checked_sub(up));
            let Some(millis) = ago.and_then(|ago| i64::try_from(ago).ok()) else { continue };
            let ts = Timestamp::from_millis(now.ts.millis() - millis);
            known.note(&agent, Moment { ts, up: active.unwrap_or_default() });
        }
        known
    }

    /// Notes that `agent` was active.
    pub fn note(&self, agent: &AgentId, at: Moment) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(agent.clone(), at);
    }

    /// Returns when `agent` was last active.
    pub fn of(&self, agent: &AgentId) -> Option<Moment> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(agent).copied()
    }
}

/// Writes the agents of one bubble for the status view, and the list of all sessions.
pub(super) fn write(control: &ControlDir, id: &BubbleId, agents: &[AgentRecord]) -> std::io::Result<()> {
    replace(&control.runtime(id).join("seats.json"), &json(agents))?;
    rebuild(control)
}

/// Reads the agents of one bubble; empty if the file is missing or unreadable.
fn read(control: &ControlDir, id: &BubbleId) -> Vec<AgentRecord> {
    let text = crate::regular::read_text(&control.runtime(id).join("seats.json"));
    text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Returns the agent for which a notice is held back, and the number of the notice.
pub fn held_notice(control: &ControlDir, state: &BubbleState) -> Option<(AgentId, u64)> {
    let held = read(control, &state.id).into_iter().find(|record| record.held_back)?;
    let notice = state.notice_for(&held.agent)?.number;
    Some((held.agent, notice))
}

/// Removes the agents of a bubble whose session is gone.
pub(super) fn remove(control: &ControlDir, id: &BubbleId) -> std::io::Result<()> {
    match std::fs::remove_file(control.runtime(id).join("seats.json")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => rebuild(control),
    }
}

/// Removes sessions from the list whose tmux server is gone.
pub(crate) fn remove_dead(control: &ControlDir) -> std::io::Result<()> {
    let listed = control.dir().join("runtime").join("sessions.json");
    if listed.exists() { rebuild(control) } else { Ok(()) }
}

/// Rebuilds `runtime/sessions.json` from the files of the bubbles; a session whose server is gone is left out.
fn rebuild(control: &ControlDir) -> std::io::Result<()> {
    // One at a time: an older list must not replace a newer one.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = control.dir().join("runtime");
    let mut running = Vec::new();
    for entry in std::fs::read_dir(&runtime)?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<BubbleId>().ok()) else { continue };
        let Ok(text) = crate::regular::read_text(&entry.path().join("seats.json")) else { continue };
        let Ok(agents) = serde_json::from_str(&text) else { continue };
        let socket = control.tmux_socket(&id);
        if Tmux::new(&socket, []).is_there() {
            running.push(SessionRecord { session: control.session_name(&id), bubble_id: id, socket, agents });
        }
    }
    running.sort_by(|a, b| a.bubble_id.cmp(&b.bubble_id));
    replace(&runtime.join("sessions.json"), &json(&running))
}

fn json<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("the records hold text and numbers only")
}

/// Replaces a file in one step. Of two concurrent writers one wins.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{}.{:?}", std::process::id(), std::thread::current().id()));
    crate::regular::write(&staged, bytes)?;
    std::fs::rename(&staged, path)
}
