//! How far the base branch has moved on, and whether the work would still merge. Only shown: nothing depends on it.

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::view::status::BaseMoved;

use crate::engine::Bubble;
use crate::git::{Repo, commits_between, conflicts, is_ancestor, resolve};

impl Bubble {
    /// Returns how the base branch has moved since the bubble was cut from it or last updated; nothing if it has not, if
    /// the work is in it, or if git cannot tell.
    pub fn base_ahead(&self, state: &BubbleState) -> Option<BaseMoved> {
        let base = &state.evidence.workspace.as_ref()?.base;
        let (work, over) = match &state.phase {
            Phase::Done(done) => (Some(&done.commit), state.gate.merged.is_some()),
            phase => (state.evidence.snapshot.as_ref().map(|snapshot| &snapshot.commit), phase.is_final()),
        };
        let repo = Repo::locate(self.control.repo()).ok().filter(|_| !over)?;
        let git = repo.git();
        let tip = resolve(&git, &format!("refs/heads/{}", state.rules.base_branch)).ok()??;
        if tip == *base || work.is_some_and(|work| is_ancestor(&git, work, &tip).unwrap_or(false)) {
            return None;
        }
        let commits = commits_between(&git, base, &tip).ok();
        Some(BaseMoved { commits, conflicts: work.and_then(|work| conflicts(&repo, &tip, work).ok()) })
    }
}
