//! The session of a bubble, and the processes that are on record for its panes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_core::ids::AgentId;

use super::error::StageError;
use crate::caller::pane_records;
use crate::engine::Bubble;
use crate::process::reap;
use crate::tmux::{Tmux, TmuxError};

/// A session that is there.
pub(super) struct Room {
    pub tmux: Tmux,
    pub session: String,
}

impl Room {
    /// Names the session of a bubble; its server runs in the environment `env`.
    pub(super) fn of(bubble: &Bubble, env: &[(String, String)]) -> Self {
        let tmux = Tmux::new(bubble.control.tmux_socket(&bubble.id), env.iter().cloned());
        Self { tmux, session: bubble.control.session_name(&bubble.id) }
    }

    /// Ends the agents of a bubble and its tmux server.
    pub(super) fn close(bubble: &Arc<Bubble>) -> Result<(), StageError> {
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
fn end_agents(runtime: &Path) -> Result<(), StageError> {
    let entries = std::fs::read_dir(pane_records(runtime)).into_iter().flatten().flatten();
    for dir in entries.map(|entry| entry.path()) {
        reap(&dir).map_err(|error| StageError::world("cannot end an agent")(std::io::Error::other(error)))?;
    }
    Ok(())
}

/// Whether `pid` is a program that pairflow has started for `agent`, and not the word that stands in for it.
pub(super) fn started(bubble: &Bubble, agent: &AgentId, pid: i32) -> bool {
    let dir = records_of(&bubble.control.runtime(&bubble.id), agent);
    crate::process::records(&dir).is_ok_and(|records| records.iter().any(|record| record.pid == pid))
}
