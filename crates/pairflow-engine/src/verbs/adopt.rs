//! A foreign bubble becomes this user's, or one's own is found again at the place to which its repository was moved.

use std::path::{Path, PathBuf};

use pairflow_core::unit::{Unit, adopt};

use crate::engine::{Bubble, Control, EngineError};
use crate::git::{Repo, commit_identity};
use crate::store::{Foreign, Known, Registered, StoreError};
use crate::workspace::move_here;

/// What became of an adoption.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// The state afterwards.
    pub unit: Unit,
    /// Where the repository was, if the bubble only was on record for another place.
    pub moved_from: Option<PathBuf>,
}

impl Bubble {
    /// Makes a foreign bubble this user's. The caller has shown what it would run, and was told to go on.
    ///
    /// What was checked, reviewed and approved before does not count, unless the repository was only moved.
    pub fn adopt(&self) -> Result<Adopted, EngineError> {
        let unit = self.load()?.unit;
        match self.foreign()? {
            None => Ok(Adopted { unit, moved_from: None }),
            Some(Foreign::Moved { from }) => self.settle_in(unit, from),
            Some(why @ Foreign::Linked { .. }) => Err(StoreError::Foreign { id: self.id.clone(), why }.into()),
            Some(why) => {
                let here = self.control.repo().display().to_string();
                let identity = commit_identity(&Repo::locate(self.control.repo())?)?;
                let events = adopt(&unit, here, why.to_string(), Some(identity));
                let locked = self.log.adopt(&events, self.engine.clock.now())?;
                self.readdress(&unit.repo)?;
                Ok(Adopted { unit: locked.into_loaded().unit, moved_from: None })
            }
        }
    }

    /// Puts the bubble on record where it is now. Its worktree comes along first: a record without it would have it made
    /// anew, and the old one would be lost from sight.
    fn settle_in(&self, unit: Unit, from: PathBuf) -> Result<Adopted, EngineError> {
        let registry = self.engine.registry();
        let lost = || EngineError::Effect(format!("the record of bubble {} for {} is gone", self.id, from.display()));
        let Known { entry, head } = registry.find(&from, &self.id).map_err(StoreError::from)?.ok_or_else(lost)?;
        self.readdress(&unit.repo)?;
        if unit.workspace.is_some() {
            let workspace = self.workspace(&unit)?;
            move_here(&workspace, &self.worktree_for(&from), &from)?;
        }
        let here = Registered { repo: self.control.repo().to_owned(), ..entry };
        registry.register(&here).map_err(StoreError::from)?;
        if let Some(head) = head {
            registry.note(&here, &head);
        }
        registry.forget(&from, &self.id).map_err(StoreError::from)?;
        Ok(Adopted { unit, moved_from: Some(from) })
    }

    /// Lets the bubble's own configuration name the repository that it is in now.
    fn readdress(&self, old: &str) -> Result<(), EngineError> {
        let line = |repo: &str| format!("repo_path = {repo:?}");
        let path = self.dir().join("bubble.toml");
        let Some(bytes) = self.engine.disk.read(&path).map_err(StoreError::from)? else { return Ok(()) };
        let text = String::from_utf8_lossy(&bytes);
        let new = text.replacen(&line(old), &line(&self.control.repo().display().to_string()), 1);
        if new == text { Ok(()) } else { Ok(self.log.put_config(&new)?) }
    }

    /// Returns where the worktree is, or was, if the repository lies at `root`.
    pub fn worktree_for(&self, root: &Path) -> PathBuf {
        Control::of(root).files(&self.id).worktree()
    }
}
