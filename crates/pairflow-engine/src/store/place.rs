//! Where the worktree of a bubble is: derived from its repository and its name, whatever its log says.
//!
//! A log may come from anywhere, and a repository may have been moved since. What is read, written or removed is
//! therefore never named by a log.

use std::path::{Path, PathBuf};

use pairflow_core::unit::Unit;

use super::log::Log;
use super::storage::FileKind;

impl Log {
    /// Puts the places at which the bubble's files are into its state.
    pub fn place(&self, unit: &mut Unit) {
        if !unit.repo.is_empty() {
            unit.repo = self.files.repo().display().to_string();
        }
        let Some(record) = &mut unit.workspace else { return };
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
