//! Which repository, and which bubble, a directory belongs to; by looking at files only.

use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;

use crate::git::{GitError, Repo};

/// Where a command was called from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The repository; for a directory inside a bubble's worktree, the one that the bubble belongs to.
    pub repo: Repo,
    /// The bubble whose worktree it is.
    pub bubble: Option<BubbleId>,
}

/// Finds out where `path` is.
pub fn locate(path: &Path) -> Result<Place, GitError> {
    let repo = Repo::locate(path)?;
    let (outer, bubble) = bubble_of(path);
    match outer {
        // A clone is a repository of its own; the bubble it belongs to lies beside it.
        Some(root) if bubble.is_some() && root != repo.root => Ok(Place { repo: Repo::locate(&root)?, bubble }),
        _ => Ok(Place { repo, bubble }),
    }
}

/// Reads repository and bubble off a path of the form `<parent>/.pairflow-worktrees/<repository>/<bubble>/…`.
fn bubble_of(path: &Path) -> (Option<PathBuf>, Option<BubbleId>) {
    let Ok(path) = path.canonicalize() else { return (None, None) };
    let mut parts: Vec<_> = path.components().collect();
    let Some(at) = parts.iter().position(|part| part.as_os_str() == ".pairflow-worktrees") else { return (None, None) };
    if parts.len() < at + 3 {
        return (None, None);
    }
    let name = parts[at + 1].as_os_str().to_owned();
    let id = parts[at + 2].as_os_str().to_str().and_then(|text| text.parse().ok());
    parts.truncate(at);
    let root = parts.iter().collect::<PathBuf>().join(name);
    (root.is_dir().then_some(root), id)
}
