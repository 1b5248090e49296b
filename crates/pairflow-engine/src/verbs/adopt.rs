//! A foreign bubble becomes this user's, or one's own is found again at the place to which its repository was moved.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, adopt};

use crate::engine::{Bubble, ControlDir, EngineError};
use crate::git::{Repo, commit_identity};
use crate::store::{Foreign, ForeignLog};
use crate::workspace::{FormerLocation, move_here};

/// What became of an adoption.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// The state afterwards.
    pub state: BubbleState,
    /// Where the repository was, if the bubble only was on record for another place.
    pub moved_from: Option<PathBuf>,
}

impl Bubble {
    /// Reads a foreign bubble to show it to the person, from its log alone; nothing if it is this user's.
    ///
    /// Fails for one that cannot be adopted.
    pub fn examine(&self) -> Result<Option<ForeignLog>, EngineError> {
        Ok(self.log.examine()?)
    }

    /// Makes a foreign bubble this user's. The caller has shown it, and was told to go on; one that has changed since is
    /// refused.
    ///
    /// What was checked, reviewed and approved before does not count, unless the repository was only moved.
    pub fn adopt(&self, shown: &ForeignLog) -> Result<Adopted, EngineError> {
        let repo = Repo::locate(self.control.repo())?;
        repo.insist_on_usable()?;
        if let Foreign::Moved(from) = &shown.why {
            return self.complete_move(shown, from);
        }
        let here = self.control.repo().display().to_string();
        let events = adopt(&shown.state, here, shown.why.to_string(), Some(commit_identity(&repo)?));
        let state = self.log.adopt(shown, &events, self.engine.clock.now())?.into_loaded().state;
        // What was shown is what runs: a file that came with the log says nothing.
        self.write_config(&state)?;
        Ok(Adopted { state, moved_from: None })
    }

    /// Puts the bubble on record where it is now. Its worktree comes along first: a record without it would have it made
    /// anew, and the old one would be lost from sight.
    fn complete_move(&self, shown: &ForeignLog, from: &Path) -> Result<Adopted, EngineError> {
        let state = &shown.state;
        self.log.complete_move(shown, |places| {
            if state.evidence.workspace.is_some() {
                let workspace = self.workspace(state)?;
                let former = |root: &PathBuf| FormerLocation { worktree: self.worktree_for(root), root: root.clone() };
                move_here(&workspace, &places.iter().map(former).collect::<Vec<_>>())?;
                self.reconnect(&workspace, state)?;
            }
            self.write_config(state)
        })?;
        Ok(Adopted { state: state.clone(), moved_from: Some(from.to_owned()) })
    }

    /// Returns where the worktree is, or was, if the repository lies at `root`.
    pub fn worktree_for(&self, root: &Path) -> PathBuf {
        ControlDir::of(root).files(&self.id).worktree()
    }
}
