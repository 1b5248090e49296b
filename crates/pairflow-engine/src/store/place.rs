//! Where the files and the worktree of a bubble are, and whether these places are this user's.
//!
//! Places are derived from the repository and the name, whatever a log says: it may come from anywhere, and a repository
//! may have been moved since. What is read, written or removed is therefore never named by a log.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pairflow_core::unit::Unit;

use super::error::StoreError;
use super::log::Log;
use super::ownership::Foreign;
use super::registry::Registry;
use super::storage::{FileKind, Storage};

/// Fails if another user owns the state directory, or can write to it: it says which bubbles are this user's.
///
/// A sticky directory is refused, too: others can still put files into it. A link to a directory is followed, and the
/// directories above are not looked at.
pub fn insist_private(disk: &dyn Storage, state: &Path) -> Result<(), StoreError> {
    for path in [state.to_owned(), state.join("bubbles")] {
        match disk.stat(&path.join(".")) {
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

impl Log {
    /// Returns why the places of the bubble make it foreign; fails if those of the registry cannot be trusted.
    pub(super) fn misplaced(&self) -> Result<Option<Foreign>, StoreError> {
        if let Some(state) = self.registry.as_ref().map(Registry::key_path).as_deref().and_then(Path::parent) {
            insist_private(&*self.disk, state)?;
        }
        for path in self.files.own_dirs() {
            match self.disk.stat(&path)? {
                Some(stat) if stat.kind != FileKind::Dir => return Ok(Some(Foreign::Linked { path })),
                Some(stat) if !stat.own => return Ok(Some(Foreign::OtherUser { path })),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Puts the places at which the bubble's files are into its state.
    pub fn place(&self, unit: &mut Unit) {
        if !unit.about.repo.is_empty() {
            unit.about.repo = self.files.repo().display().to_string();
        }
        let Some(record) = &mut unit.evidence.workspace else { return };
        let path = self.files.worktree();
        let clone = record.git_dir == record.common_dir;
        let common_dir = if clone { path.join(".git") } else { self.common_dir() };
        let git_dir =
            if clone { common_dir.clone() } else { common_dir.join("worktrees").join(self.name_of(&record.git_dir)) };
        let text = |path: &Path| path.display().to_string();
        (record.path, record.common_dir, record.git_dir) = (text(&path), text(&common_dir), text(&git_dir));
    }

    /// Returns the name that git has given to the worktree; the bubble's own if none is recorded.
    fn name_of(&self, git_dir: &str) -> String {
        let name = Path::new(git_dir).file_name().and_then(|name| name.to_str());
        name.map_or_else(|| self.id.to_string(), str::to_owned)
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
