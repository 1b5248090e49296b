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
        Repo::locate(self.control.repo())?.insist_on_usable()?;
        let unit = self.load()?.unit;
        match self.foreign()? {
            None => Ok(Adopted { unit, moved_from: None }),
            Some(Foreign::Moved { from }) => self.settle_in(unit, from),
            Some(why) if !why.is_adoptable() => Err(StoreError::Foreign { id: self.id.clone(), why }.into()),
            Some(why) => {
                let here = self.control.repo().display().to_string();
                let identity = commit_identity(&Repo::locate(self.control.repo())?)?;
                let events = adopt(&unit, here, why.to_string(), Some(identity));
                let locked = self.log.adopt(&events, self.engine.clock.now())?;
                let unit = locked.into_loaded().unit;
                // What was shown is what runs: a file that came with the log says nothing.
                self.write_config(&unit)?;
                Ok(Adopted { unit, moved_from: None })
            }
        }
    }

    /// Puts the bubble on record where it is now. Its worktree comes along first: a record without it would have it made
    /// anew, and the old one would be lost from sight.
    fn settle_in(&self, unit: Unit, from: PathBuf) -> Result<Adopted, EngineError> {
        let registry = self.engine.registry();
        let lost = || EngineError::Effect(format!("the record of bubble {} for {} is gone", self.id, from.display()));
        let Known { entry, head } = registry.find(&from, &self.id).map_err(StoreError::from)?.ok_or_else(lost)?;
        if unit.workspace.is_some() {
            let workspace = self.workspace(&unit)?;
            move_here(&workspace, &self.worktree_for(&from), &from)?;
            self.reconnect(&workspace, &unit)?;
        }
        self.write_config(&unit)?;
        let here = Registered { repo: self.control.repo().to_owned(), ..entry };
        registry.register(&here).map_err(StoreError::from)?;
        if let Some(head) = head {
            registry.note(&here, &head);
        }
        registry.forget(&from, &self.id).map_err(StoreError::from)?;
        Ok(Adopted { unit, moved_from: Some(from) })
    }

    /// Returns where the worktree is, or was, if the repository lies at `root`.
    pub fn worktree_for(&self, root: &Path) -> PathBuf {
        Control::of(root).files(&self.id).worktree()
    }
}
