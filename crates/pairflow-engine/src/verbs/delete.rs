//! A bubble is taken away, after everything of it has been archived.

use super::Hands;
use super::stop::PATIENCE;
use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, Worktree};
use crate::store::StoreError;
use crate::workspace::{Archived, DeleteRequest, delete, release};

impl Bubble {
    /// Stops the bubble if it is still going, archives it, and removes worktree, branch and directory.
    pub fn delete(&self, hands: &Hands) -> Result<Archived, EngineError> {
        let state = self.durable()?.state;
        let workspace = state.evidence.workspace.is_some().then(|| self.workspace(&state)).transpose()?;
        // Before the bubble is stopped for good.
        workspace.as_ref().map_or(Ok(()), Worktree::removable)?;
        if !state.phase.is_final() {
            self.stop("deleted".to_owned(), hands)?;
        }
        self.nothing_runs(hands)?;
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

    /// Has what an earlier supervisor left ended. As long as anything runs, nothing is taken away from under it.
    fn nothing_runs(&self, hands: &Hands) -> Result<(), EngineError> {
        if self.left().is_nothing() {
            return Ok(());
        }
        hands.wake(self)?;
        self.wait_for_end(PATIENCE);
        let (left, id) = (self.left(), &self.id);
        if left.is_nothing() {
            return Ok(());
        }
        let runs = if left.programs > 1 { "run" } else { "runs" };
        Err(EngineError::Effect(format!(
            "{left} of bubble {id} still {runs}, so nothing was deleted; end it, and try again with 'pairflow delete {id}'"
        )))
    }
}
