//! Stop and delete: what runs for a bubble is ended, and a deleted bubble is archived first.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::text::counted;

use super::Executor;
use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, Worktree};
use crate::process::{is_alive, records};
use crate::store::StoreError;
use crate::tmux::Tmux;
use crate::workspace::{Archived, DeleteRequest, delete, release};

impl Bubble {
    /// Stops the bubble if it is active, archives it, and removes worktree, branch and directory.
    pub fn delete(&self, executor: &Executor) -> Result<Archived, EngineError> {
        let state = self.durable()?.state;
        let workspace = state.evidence.workspace.is_some().then(|| self.workspace(&state)).transpose()?;
        // Before the bubble is stopped for good.
        workspace.as_ref().map_or(Ok(()), Worktree::removable)?;
        if !state.phase.is_final() {
            self.stop("deleted".to_owned(), executor)?;
        }
        self.nothing_runs(executor)?;
        let repo = Repo::locate(self.control.repo())?;
        let archived = delete(&DeleteRequest {
            repo: &repo,
            id: &self.id,
            workspace: workspace.as_ref(),
            branch: &state.rules.bubble_branch,
            now: self.engine.clock.now().ts,
        })?;
        release(&self.engine.dirs.state, &self.dir())?;
        self.engine.registry().retire(self.control.repo(), &self.id).map_err(StoreError::from)?;
        Ok(archived)
    }

    /// Ends what an earlier supervisor left. While anything runs, nothing is deleted.
    fn nothing_runs(&self, executor: &Executor) -> Result<(), EngineError> {
        if self.running_processes().is_nothing() {
            return Ok(());
        }
        executor.wake(self)?;
        self.wait_for_end(PATIENCE);
        let (running, id) = (self.running_processes(), &self.id);
        if running.is_nothing() {
            return Ok(());
        }
        let runs = if running.programs > 1 { "run" } else { "runs" };
        Err(EngineError::Effect(format!(
            "{running} of bubble {id} still {runs}, so nothing was deleted; end it, and try again with 'pairflow delete {id}'"
        )))
    }

    /// Stops the bubble for good and returns once its processes have ended. No work is deleted.
    pub fn stop(&self, reason: String, executor: &Executor) -> Result<BubbleState, EngineError> {
        let applied = self.apply(&Command::Stop { reason })?;
        executor.wake(self)?;
        self.wait_for_end(PATIENCE);
        Ok(applied.state)
    }
}

/// How long to wait for the bubble's processes. One that ignores the request is killed after a second and may take two
/// more; agents, checks and the terminal are ended one after the other.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(10);

/// What runs for a bubble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningProcesses {
    /// How many programs.
    pub programs: usize,
    /// Whether its tmux server runs.
    pub server: bool,
}

impl RunningProcesses {
    /// Whether nothing runs.
    pub fn is_nothing(self) -> bool {
        self.programs == 0 && !self.server
    }
}

impl std::fmt::Display for RunningProcesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.programs, self.server) {
            (0, false) => f.write_str("nothing"),
            (0, true) => f.write_str("its tmux server"),
            (n, _) => f.write_str(&counted(n, "program")),
        }
    }
}

impl Bubble {
    /// Returns what runs for the bubble at this moment.
    pub fn running_processes(&self) -> RunningProcesses {
        // Unreadable records count as none.
        let recorded = self.registries().into_iter().flat_map(|dir| records(&dir).unwrap_or_default());
        let server = Tmux::new(self.control.tmux_socket(&self.id), []).is_there();
        RunningProcesses { programs: recorded.filter(is_alive).count(), server }
    }

    /// Whether anything is on record as running for the bubble; it may have ended with the machine.
    pub(crate) fn has_process_records(&self) -> bool {
        let recorded = |dir: PathBuf| records(&dir).is_ok_and(|running_processes| !running_processes.is_empty());
        // The socket goes last: it is removed once the server has ended.
        self.registries().into_iter().any(recorded) || self.control.tmux_socket(&self.id).exists()
    }

    /// Waits until nothing is on record as running for the bubble, `patience` at most.
    pub(crate) fn wait_for_end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.has_process_records() && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns the directories with process records: one for checks and the like, and one for each pane.
    fn registries(&self) -> Vec<PathBuf> {
        let panes = std::fs::read_dir(self.control.runtime(&self.id).join("panes")).into_iter().flatten().flatten();
        std::iter::once(self.registry()).chain(panes.map(|pane| pane.path())).collect()
    }
}
