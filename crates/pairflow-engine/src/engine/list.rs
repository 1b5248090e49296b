//! All bubbles of a repository. One bad bubble never hides the others.

use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;
use pairflow_core::unit::Unit;

use crate::engine::{Bubble, Control, Engine, EngineError};

/// One entry of the list.
pub struct Listed {
    /// The bubble.
    pub bubble: Bubble,
    /// Its state, or why it cannot be read.
    pub unit: Result<Unit, EngineError>,
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
            .map(|bubble| Listed { unit: bubble.load().map(|loaded| loaded.unit), bubble })
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
        let text = crate::regular::read_text(&self.dirs.repositories()).unwrap_or_default();
        let mut repos: Vec<_> =
            text.lines().map(PathBuf::from).filter(|repo| Control::of(repo).dir().is_dir()).collect();
        repos.sort();
        repos.dedup();
        repos
    }

    /// Remembers that bubbles are made in the repository at `repo`.
    pub(crate) fn remember(&self, repo: &Path) -> Result<(), EngineError> {
        let path = self.dirs.repositories();
        let failed = |error| EngineError::world(format!("cannot write {}", path.display()), error);
        if self.repositories().iter().any(|known| known == repo) {
            return Ok(());
        }
        std::fs::create_dir_all(&self.dirs.state).map_err(failed)?;
        let line = format!("{}\n", repo.display());
        let file = crate::regular::append(&path);
        file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes())).map_err(failed)
    }
}
