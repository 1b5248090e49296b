//! Where the files of a log are, and whether these places are this user's.
//!
//! Places are derived from the repository and the name, whatever a log says: it may come from anywhere, and a repository
//! may have been moved since. What is read, written or removed is therefore never named by a log.

use std::io::ErrorKind;
use std::path::PathBuf;

use pairflow_core::log::Machine;
use pairflow_core::log::Places;

use super::error::StoreError;
use super::log::Log;
use super::registry::Registry;
use super::standing::Foreign;
use super::storage::FileKind;

impl Registry {
    /// Fails if another user owns the state directory, or can write to it: it says which logs are this user's.
    ///
    /// A sticky directory is refused, too: others can still put files into it. A link to a directory is followed, and the
    /// directories above are not looked at.
    pub fn insist_private(&self) -> Result<(), StoreError> {
        for path in [self.state.clone(), self.dir()] {
            match self.disk.stat(&path.join(".")) {
                Err(error) if error.source.kind() == ErrorKind::NotADirectory => {
                    return Err(StoreError::StateNotDirectory { path });
                }
                Err(error) => return Err(error.into()),
                Ok(Some(stat)) if !stat.own => return Err(StoreError::StateOfOther { path }),
                Ok(Some(stat)) if stat.shared => return Err(StoreError::StateShared { path }),
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

impl<M: Machine> Log<M> {
    /// Returns why the places of the log make it foreign; fails if those of the registry cannot be trusted.
    pub(super) fn misplaced(&self) -> Result<Option<Foreign>, StoreError> {
        self.registry.as_ref().map_or(Ok(()), Registry::insist_private)?;
        for path in self.files.own_dirs() {
            match self.disk.stat(&path)? {
                Some(stat) if stat.kind != FileKind::Dir => return Ok(Some(Foreign::Linked { path })),
                Some(stat) if !stat.own => return Ok(Some(Foreign::OtherUser { path })),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Puts the places at which the files are into a state.
    pub fn place(&self, state: &mut M) {
        let (repo, worktree) = (self.files.repo(), self.files.worktree());
        state.place(&Places { repo, worktree: &worktree, common_dir: &|| self.common_dir() });
    }

    /// Returns the git directory of the repository.
    fn common_dir(&self) -> PathBuf {
        let dot_git = self.files.repo().join(".git");
        let is_file = self.disk.stat(&dot_git).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == FileKind::File));
        let text = if is_file { self.disk.read(&dot_git).ok().flatten() } else { None };
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let named = text.as_deref().and_then(|text| text.trim_end().strip_prefix("gitdir: "));
        named.map_or(dot_git, |named| self.files.repo().join(named))
    }
}
