//! Copies the untracked files that `.worktreeinclude` names into a new worktree: local configuration that a checkout
//! lacks. git itself matches the patterns, so they mean what they mean in `.gitignore`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::error::WorkspaceError;
use crate::git::{Call, Repo};

const LIST: &str = ".worktreeinclude";

/// Copies what the list in the main checkout names into `worktree`, and returns the copied paths. Files that are there
/// already, links that lead outside, and anything of git's or pairflow's own are left out.
pub fn copy_included(repo: &Repo, worktree: &Path) -> Result<Vec<String>, WorkspaceError> {
    let list = repo.root.join(LIST);
    if !list.is_file() {
        return Ok(Vec::new());
    }
    let mut from = std::ffi::OsString::from("--exclude-from=");
    from.push(&list);
    let found = repo.git().run(Call::new(["ls-files", "-z", "--others", "--ignored"]).arg(from))?;
    let mut copied = Vec::new();
    for part in found.parts() {
        let path = Path::new(OsStr::from_bytes(part));
        let text = path.to_str().filter(|_| admissible(path) && !part.ends_with(b"/"));
        if let Some(text) = text
            && copy(&repo.root, worktree, path)?
        {
            copied.push(text.to_owned());
        }
    }
    Ok(copied)
}

/// Copies files that were copied before, and are still there, once more.
pub(super) fn copy_again(root: &Path, worktree: &Path, files: &[String]) -> Result<(), WorkspaceError> {
    for path in files.iter().map(Path::new).filter(|path| admissible(path) && root.join(path).is_file()) {
        copy(root, worktree, path)?;
    }
    Ok(())
}

fn admissible(path: &Path) -> bool {
    path.components().all(|part| match part {
        Component::Normal(name) => name != ".git" && name != ".pairflow",
        _ => false,
    })
}

fn copy(root: &Path, worktree: &Path, path: &Path) -> Result<bool, WorkspaceError> {
    let (from, to) = (root.join(path), worktree.join(path));
    let failed = |source| WorkspaceError::io("copy", &from, source);
    let kind = std::fs::symlink_metadata(&from).map_err(failed)?.file_type();
    if std::fs::symlink_metadata(&to).is_ok() || !make_parents(worktree, path).map_err(failed)? {
        return Ok(false);
    }
    if kind.is_symlink() {
        let target = std::fs::read_link(&from).map_err(failed)?;
        if !stays_inside(path, &target) {
            return Ok(false);
        }
        return std::os::unix::fs::symlink(target, &to).map(|()| true).map_err(failed);
    }
    if !kind.is_file() {
        return Ok(false);
    }
    crate::regular::copy(&from, &to).map(|()| true).map_err(failed)
}

/// Makes the directories above `path`; says no if one of them is a link or a file in this worktree.
fn make_parents(worktree: &Path, path: &Path) -> std::io::Result<bool> {
    let mut dir = worktree.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        dir.push(part);
        match std::fs::symlink_metadata(&dir) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(_) => std::fs::create_dir(&dir)?,
        }
    }
    Ok(true)
}

/// Whether a link at `path` that says `target` stays beneath the root.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut at: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
    for part in target.components() {
        match part {
            Component::Normal(name) => at.push(name),
            Component::CurDir => {}
            Component::ParentDir if at.pop() => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_lead_anywhere_inside_and_nowhere_outside() {
        let inside = |path: &str, target: &str| stays_inside(Path::new(path), Path::new(target));
        assert!(inside("a/b", "../c"));
        assert!(inside("a", "b/../c"));
        assert!(!inside("a", "../c"));
        assert!(!inside("a/b", "../../c"));
        assert!(!inside("a", "/etc/passwd"));
    }
}
