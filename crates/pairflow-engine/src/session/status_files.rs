//! Files for onlookers: who runs where. They are made from what is seen, and nothing depends on them but the display.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::time::{Moment, Timestamp};
use serde::{Deserialize, Serialize};

use crate::engine::Control;
use crate::tmux::Tmux;

/// One agent's program, for the status view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Which agent.
    pub agent: AgentId,
    /// How it is: `ready`, `busy`, `permission`, `dialog`, `starting`, `gone` or `unknown`.
    pub status: String,
    /// Since when, as far as it is known.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Its session, by which it can be taken up again.
    pub session: Option<String>,
    /// Its pane.
    pub pane: Option<String>,
    /// Its process.
    pub pid: Option<i32>,
    /// The notice that it is not known to have read yet.
    pub notice: Option<u64>,
    /// Whether that notice is kept back because a person has typed something where it belongs.
    #[serde(default)]
    pub held_back: bool,
    /// The machine's uptime when its hooks last said anything, in milliseconds.
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

/// Writes what the status view shows of the agents of one bubble, and the overview of all.
pub(super) fn show(control: &Control, id: &BubbleId, agents: &[AgentRecord]) -> std::io::Result<()> {
    let runtime = control.runtime(id);
    replace(&runtime.join("seats.json"), &json(agents))?;
    rebuild(control)
}

/// Returns what is shown of the agents of one bubble; nothing if nobody shows anything.
pub(super) fn read(control: &Control, id: &BubbleId) -> Vec<AgentRecord> {
    let text = crate::regular::read_text(&control.runtime(id).join("seats.json"));
    text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Returns the agent for which a notice is kept back, and the number of the notice.
pub fn held_notice(control: &Control, state: &BubbleState) -> Option<(AgentId, u64)> {
    let pending = read(control, &state.id).into_iter().find(|shown| shown.held_back)?;
    let notice = state.notice_for(&pending.agent)?.number;
    Some((pending.agent, notice))
}

/// Forgets the agents of a bubble whose session is gone.
pub(super) fn forget(control: &Control, id: &BubbleId) -> std::io::Result<()> {
    match std::fs::remove_file(control.runtime(id).join("seats.json")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => rebuild(control),
    }
}

/// Takes the sessions off the list whose server is not there any more.
pub(crate) fn forget_dead(control: &Control) -> std::io::Result<()> {
    let listed = control.dir().join("runtime").join("sessions.json");
    if listed.exists() { rebuild(control) } else { Ok(()) }
}

/// Makes `runtime/sessions.json` anew out of the files of the bubbles; a session whose server is gone has no entry.
fn rebuild(control: &Control) -> std::io::Result<()> {
    // One after the other: a list that was made earlier must not take the place of a later one.
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
    serde_json::to_vec_pretty(value).expect("the overview holds text and numbers only")
}

/// Replaces a file in one step; two who do so at once leave the work of one of them.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{}.{:?}", std::process::id(), std::thread::current().id()));
    crate::regular::write(&staged, bytes)?;
    std::fs::rename(&staged, path)
}

/// The newest sign of life of each agent of one bubble.
#[derive(Debug, Clone, Default)]
pub struct Activity(Arc<Mutex<BTreeMap<AgentId, Moment>>>);

impl Activity {
    /// Reads what a supervisor has shown of a bubble's agents.
    pub fn shown(control: &Control, id: &BubbleId, now: Moment) -> Self {
        let known = Self::default();
        for AgentRecord { agent, active, .. } in read(control, id) {
            let ago = active.and_then(|up| now.up.checked_sub(up));
            let Some(millis) = ago.and_then(|ago| i64::try_from(ago).ok()) else { continue };
            let ts = Timestamp::from_millis(now.ts.millis() - millis);
            known.note(&agent, Moment { ts, up: active.unwrap_or_default() });
        }
        known
    }

    /// Notes a sign of life.
    pub fn note(&self, agent: &AgentId, at: Moment) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(agent.clone(), at);
    }

    /// Returns the newest sign of life of `agent`.
    pub fn of(&self, agent: &AgentId) -> Option<Moment> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(agent).copied()
    }
}
