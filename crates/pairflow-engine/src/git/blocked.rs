//! What keeps git waiting for ever: a FIFO or a device in place of a file that git reads.
//!
//! git opens such files without looking at what they are. So they are looked for when a call takes long.

use std::path::{Path, PathBuf};

/// The files that git reads in any directory of a worktree.
const IN_WORKTREE: [&str; 3] = [".gitattributes", ".gitignore", ".gitmodules"];

/// The files that git reads in a git directory.
const IN_GIT_DIR: [&str; 8] =
    ["HEAD", "index", "config", "config.worktree", "commondir", "packed-refs", "info/exclude", "info/attributes"];

/// How many names of a worktree are looked at.
const MOST_NAMES: usize = 200_000;

/// Returns a file that git would read and that is neither a regular file nor a link or a directory.
pub(super) fn special_file(git_dirs: &[&Path], work_tree: &Path) -> Option<PathBuf> {
    let own = git_dirs.iter().flat_map(|dir| IN_GIT_DIR.iter().map(|name| dir.join(name)));
    own.into_iter().find(|path| is_special(path)).or_else(|| in_worktree(work_tree))
}

fn in_worktree(root: &Path) -> Option<PathBuf> {
    let mut dirs = vec![root.to_owned()];
    let mut names = 0;
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            names += 1;
            if names > MOST_NAMES {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let read = IN_WORKTREE.iter().any(|name| entry.file_name() == *name);
            if read && is_special(&entry.path()) {
                return Some(entry.path());
            }
            if kind.is_dir() && entry.file_name() != ".git" {
                dirs.push(entry.path());
            }
        }
    }
    None
}

/// Follows links: git does so, too, where it reads at all.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_is_found_wherever_git_would_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let (git, tree) = (dir.path().join("git"), dir.path().join("tree"));
        for name in ["git/info", "tree/a/b", "tree/.git"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        std::fs::write(tree.join(".gitignore"), "x").unwrap();
        let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        pipe(&tree.join("a/other"));
        assert_eq!(special_file(&[&git], &tree), None);
        pipe(&tree.join("a/b/.gitattributes"));
        assert_eq!(special_file(&[&git], &tree), Some(tree.join("a/b/.gitattributes")));
        pipe(&git.join("info/exclude"));
        assert_eq!(special_file(&[&git], &tree), Some(git.join("info/exclude")));
    }
}
