//! All bubbles of a repository. One bad bubble never hides the others.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;

use crate::engine::{Bubble, Control, Engine, EngineError};
use crate::store::Foreign;

/// One entry of the list.
pub struct Listed {
    /// The bubble.
    pub bubble: Bubble,
    /// Why it is foreign, if it is.
    pub foreign: Option<Foreign>,
    /// Its state, or why it cannot be read.
    pub state: Result<BubbleState, EngineError>,
}

impl Engine {
    /// Returns every bubble of the repository at `repo`, by name, also one that has lost its log. Directories that are
    /// no bubbles are passed over.
    pub fn list(&self, repo: &Path) -> Result<Vec<Listed>, EngineError> {
        let mut listed: Vec<_> = self
            .ids(repo)?
            .into_iter()
            .map(|id| self.handle(repo, &id))
            .filter(|bubble| bubble.log.exists() || bubble.log.is_gone())
            .map(Listed::of)
            .collect();
        listed.sort_by(|a, b| a.bubble.id.cmp(&b.bubble.id));
        Ok(listed)
    }

    /// Returns the names of the directories that could be bubbles.
    pub fn ids(&self, repo: &Path) -> Result<Vec<BubbleId>, EngineError> {
        let names = self.disk.list_dir(&Control::of(repo).bubbles()).map_err(crate::store::StoreError::from)?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns what lies beside the bubbles of the repository at `repo` and is none.
    pub fn strays(&self, repo: &Path) -> Result<Vec<PathBuf>, EngineError> {
        let dir = Control::of(repo).bubbles();
        let names = self.disk.list_dir(&dir).map_err(crate::store::StoreError::from)?;
        let is_bubble = |name: &str| {
            let bubble = name.parse().ok().map(|id| self.handle(repo, &id));
            bubble.is_some_and(|bubble| bubble.log.exists() || bubble.log.is_gone())
        };
        let mut strays: Vec<_> = names.iter().filter(|name| !is_bubble(name)).map(|name| dir.join(name)).collect();
        strays.sort();
        Ok(strays)
    }

    /// Returns the repositories in which bubbles were made and that are still there.
    pub fn repositories(&self) -> Vec<PathBuf> {
        // What cannot be read names no repository; whatever needs a bubble of it says so.
        let mut repos = self.registry().repositories().unwrap_or_default();
        repos.retain(|repo| Control::of(repo).dir().is_dir());
        repos
    }
}

impl Listed {
    fn of(bubble: Bubble) -> Self {
        let state = bubble.load().map(|loaded| loaded.state);
        match bubble.log.standing() {
            Ok(standing) => Self { state, foreign: standing.foreign().cloned(), bubble },
            // Nobody acts for a bubble of which it cannot be told whose it is.
            Err(error) => Self { state: state.and_then(|_| Err(error.into())), foreign: None, bubble },
        }
    }

    /// Returns the state of a bubble that is this user's.
    pub fn own(&self) -> Option<&BubbleState> {
        self.state.as_ref().ok().filter(|_| self.foreign.is_none())
    }
}
