//! A bubble is taken away, after everything of it has been archived.

use super::Hands;
use crate::engine::{Bubble, EngineError};
use crate::git::Repo;
use crate::workspace::{Archived, DeleteRequest, delete, release};

impl Bubble {
    /// Stops the bubble if it is still going, archives it, and removes worktree, branch and directory.
    pub fn delete(&self, hands: &Hands) -> Result<Archived, EngineError> {
        let unit = self.load()?.unit;
        if !unit.phase.is_final() {
            self.stop("deleted".to_owned(), hands)?;
        }
        let repo = Repo::locate(self.control.repo())?;
        let workspace = unit.workspace.is_some().then(|| self.workspace(&unit)).transpose()?;
        let archived = delete(&DeleteRequest {
            repo: &repo,
            id: &self.id,
            workspace: workspace.as_ref(),
            branch: &unit.rules.bubble_branch,
            now: self.engine.clock.now().ts,
        })?;
        release(&self.engine.dirs.state, &self.dir())?;
        Ok(archived)
    }
}
