//! Which untracked files count, decided by the person and by the tree alone.
//!
//! `.gitignore` files are part of the tree, and their changes are seen. The repository's `info/exclude` lies where
//! agents can write and where no diff looks, so the patterns that it had at the start stay in force.

use std::path::Path;

use pairflow_core::facts::FileChange;
use pairflow_core::hash::sha256;

use super::apart::Apart;
use super::error::GitError;
use super::index::Index;
use super::run::Git;
use super::workspace::Workspace;
use crate::regular;

/// Returns git for reading the files of a worktree, by the rules for ignored files that are in force.
pub(super) fn reading(workspace: &Workspace, index: &Index) -> Result<Git, GitError> {
    let excludes = workspace.excludes.clone().unwrap_or_else(|| exclude_patterns(&workspace.common_dir));
    let path = workspace.common_dir.join("info/attributes");
    let attributes = match regular::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(|source| GitError::io("read", &path, source))?,
    };
    // What was put there since the start changes neither what a tree holds nor what a checkout of it contains.
    let known = workspace.attributes.as_ref().is_none_or(|known| *known == sha256(&attributes));
    let attributes = if known { attributes } else { Vec::new() };
    let place = index.path().parent().unwrap_or(&workspace.path);
    let apart = Apart::make(place, &workspace.common_dir, &workspace.base.0)?.with(&excludes, &attributes)?;
    Ok(Git::apart(apart, Some(&workspace.path)))
}

/// Returns the patterns of a repository's `info/exclude`, without comments and empty lines.
pub(crate) fn exclude_patterns(common_dir: &Path) -> String {
    let text = regular::read(&common_dir.join("info/exclude")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let says = |line: &&str| !line.starts_with('#') && !line.trim().is_empty();
    text.lines().filter(says).fold(String::new(), |all, line| all + line + "\n")
}

/// Returns the SHA-256 of a repository's `info/attributes`; a missing file is an empty one.
pub(crate) fn attributes_hash(common_dir: &Path) -> String {
    sha256(&regular::read(&common_dir.join("info/attributes")).unwrap_or_default())
}

/// Names what decides which files count and is not what it was: among `changed`, and beside the tree.
pub fn ignore_changes(workspace: &Workspace, changed: &[FileChange]) -> Vec<String> {
    let paths = changed.iter().map(|change| &change.path);
    let mut found: Vec<String> = paths.filter(|path| is_ignore_file(path)).cloned().collect();
    if workspace.excludes.as_ref().is_some_and(|known| *known != exclude_patterns(&workspace.common_dir)) {
        found.push(".git/info/exclude (what it said at the start is in force)".to_owned());
    }
    if workspace.attributes.as_ref().is_some_and(|known| *known != attributes_hash(&workspace.common_dir)) {
        found.push(".git/info/attributes (it no longer counts)".to_owned());
    }
    found
}

/// Whether a file tells git or a tool which files to pass over, or how to read them.
fn is_ignore_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == ".gitattributes" || name.starts_with('.') && name.ends_with("ignore")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_files_are_told_by_their_names() {
        for path in [".gitignore", "web/.gitignore", ".dockerignore", ".ignore", ".gitattributes"] {
            assert!(is_ignore_file(path), "{path}");
        }
        for path in ["gitignore", "src/ignore.rs", ".env"] {
            assert!(!is_ignore_file(path), "{path}");
        }
    }

    #[test]
    fn comments_of_the_exclude_file_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(exclude_patterns(dir.path()), "");
        std::fs::create_dir(dir.path().join("info")).unwrap();
        std::fs::write(dir.path().join("info/exclude"), "# a\n\n*.o\n/x\n").unwrap();
        assert_eq!(exclude_patterns(dir.path()), "*.o\n/x\n");
    }
}
