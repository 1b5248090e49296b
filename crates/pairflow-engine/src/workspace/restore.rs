//! Restores a workspace: files that were removed, the link between a worktree and git's record of it, and the files of a
//! repository that was moved.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::TreeId;
use pairflow_core::rules::WorkMode;

use super::WorkspaceError;
use super::place::lock_worktrees;
use super::prepare::{
    WorkspaceJournal, add_clone, add_worktree, copy_again, remove_dir, remove_worktree, worktree_git_dir,
};
use crate::git::{GitCall, GitError, Repo, Worktree, fetch, linked, resolve, show_in_index};
use crate::regular;

const CHECKOUT: Duration = Duration::from_secs(900);

/// Restores the files of `workspace` as `tree`, on `branch`, with the included files. Existing files are never touched.
///
/// They are made elsewhere and moved into place when they are complete, so that a half-made tree is never taken for work.
pub fn restore(workspace: &Worktree, branch: &str, tree: &TreeId) -> Result<Worktree, WorkspaceError> {
    let repo = workspace.repo()?;
    let _lock = lock_worktrees(&repo)?;
    if std::fs::symlink_metadata(&workspace.path).is_ok() {
        return Err(WorkspaceError::PathTaken(workspace.path.clone()));
    }
    let aside = Worktree { path: aside(&workspace.path), ..workspace.clone() };
    if is_stale(&workspace.git_dir) {
        remove_dir(&workspace.git_dir)?;
    }
    // What an interrupted call left, and git's memory of the files that are gone: its name is needed again.
    remove_worktree(&repo, &aside.path)?;
    remove_worktree(&repo, &workspace.path)?;
    let made = if workspace.is_clone() {
        recreate_clone(&aside, &repo, branch)
    } else {
        recreate_worktree(&aside, &repo, branch)
    };
    let made = made.and_then(|made| write_tree(&made, branch, tree).map(|()| made));
    let made = made.and_then(|made| copy_again(&repo.root, &made.path, &made.included).map(|()| made));
    let moved = made.and_then(|made| move_in(&made, &workspace.path));
    if moved.is_err() {
        // The half-made files are this call's own.
        let _ = remove_worktree(&repo, &aside.path);
    }
    moved
}

/// Whether git's record of a worktree is stale: the repository was copied, so the worktree belongs to another one.
fn is_stale(git_dir: &Path) -> bool {
    let Ok(named) = regular::read_text(&git_dir.join("gitdir")) else { return false };
    let back = linked(Path::new(named.trim_end()));
    back.is_some() && back != git_dir.canonicalize().ok()
}

/// Links the files of `workspace` to git again, after git's record of them was removed. No file is touched.
pub fn relink(workspace: &Worktree, branch: &str) -> Result<(), WorkspaceError> {
    let repo = workspace.repo()?;
    let _lock = lock_worktrees(&repo)?;
    if workspace.git_dir.join("gitdir").is_file() {
        refuse_second(&workspace.git_dir, &[&workspace.path], std::slice::from_ref(&workspace.git_dir))?;
        return connect(&workspace.path, &workspace.git_dir, &workspace.git_dir);
    }
    let stand_in = Worktree { path: aside(&workspace.path), ..workspace.clone() };
    remove_worktree(&repo, &stand_in.path)?;
    let call = GitCall::new(["worktree", "add", "--quiet", "--force", "--no-checkout"]).arg(&stand_in.path).arg(branch);
    repo.git().run(call.whole().within(CHECKOUT))?;
    let made = worktree_git_dir(&repo, &stand_in.path)?;
    connect(&workspace.path, &made, &workspace.git_dir)?;
    // Its record now belongs to the worktree.
    remove_worktree(&repo, &stand_in.path)?;
    Ok(show_in_index(workspace, &workspace.git(), &format!("refs/heads/{branch}"))?)
}

/// Where a worktree is made before it is complete. It has the same last name, because git names its own directory by it.
fn aside(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(path);
    parent.join(".restoring").join(path.file_name().unwrap_or_default())
}

/// Moves a complete workspace to `path`, in one step.
fn move_in(made: &Worktree, path: &Path) -> Result<Worktree, WorkspaceError> {
    let failed = WorkspaceError::io("make", path);
    let mut moved = Worktree { path: path.to_owned(), ..made.clone() };
    if made.is_clone() {
        moved.git_dir = path.join(".git");
        moved.common_dir.clone_from(&moved.git_dir);
    } else {
        let named = format!("{}\n", path.join(".git").display());
        regular::replace(&made.git_dir.join("gitdir"), named.as_bytes()).map_err(failed)?;
    }
    std::fs::rename(&made.path, path).map_err(failed)?;
    // Another bubble may be restored beside it at this moment.
    let _ = made.path.parent().map(std::fs::remove_dir);
    Ok(moved)
}

fn recreate_worktree(workspace: &Worktree, repo: &Repo, branch: &str) -> Result<Worktree, WorkspaceError> {
    if resolve(&repo.git(), &format!("refs/heads/{branch}"))?.is_none() {
        let git_dir = add_worktree(
            repo,
            &WorkspaceJournal::begun(workspace.path.clone(), branch, WorkMode::Worktree, workspace.base.clone()),
        )?;
        return Ok(Worktree { git_dir, ..workspace.clone() });
    }
    // --force: git still remembers the worktree that is gone.
    let call = GitCall::new(["worktree", "add", "--quiet", "--force"]).arg(&workspace.path).arg(branch);
    repo.git().run(call.whole().within(CHECKOUT))?;
    let git_dir = worktree_git_dir(repo, &workspace.path)?;
    Ok(Worktree { git_dir, ..workspace.clone() })
}

fn recreate_clone(workspace: &Worktree, repo: &Repo, branch: &str) -> Result<Worktree, WorkspaceError> {
    let git_dir = add_clone(
        repo,
        &WorkspaceJournal::begun(workspace.path.clone(), branch, WorkMode::Clone, workspace.base.clone()),
    )?;
    let made = Worktree { common_dir: git_dir.clone(), git_dir, ..workspace.clone() };
    let all = made.private_ref("*");
    fetch(&made.git(), &repo.root, format!("+{all}:{all}"))?;
    Ok(made)
}

/// Writes the tree into the files and leaves the index at the branch, as if the work had been done by hand.
fn write_tree(workspace: &Worktree, branch: &str, tree: &TreeId) -> Result<(), WorkspaceError> {
    let git = workspace.git();
    let files = GitCall::new(["read-tree", "--reset", "-u", &tree.0]).index(&workspace.index());
    git.run(files.whole().within(CHECKOUT))?;
    Ok(show_in_index(workspace, &git, &format!("refs/heads/{branch}"))?)
}

/// A place at which the repository was, with the place at which the files of the bubble were then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerLocation {
    /// The root of the repository.
    pub root: PathBuf,
    /// The files of the bubble.
    pub worktree: PathBuf,
}

/// Moves the files of a bubble to where they belong after its repository was moved, and links them to git there. They
/// may have been moved already, or be gone.
///
/// Returns whether there are files. Nothing is restored, and nothing is touched that does not belong to the bubble.
pub fn move_here(workspace: &Worktree, former: &[FormerLocation]) -> Result<bool, WorkspaceError> {
    let repo = workspace.repo()?;
    let _lock = lock_worktrees(&repo)?;
    let new = workspace.path.as_path();
    let elsewhere = former.iter().map(|one| one.worktree.as_path()).filter(|path| *path != new);
    let places: Vec<&Path> = elsewhere.chain([new]).collect();
    let found: Vec<&Path> = places.iter().copied().filter(|path| is_dir(path)).collect();
    let from = match &found[..] {
        [] => return Ok(false),
        [one] => *one,
        [.., last] => return Err(WorkspaceError::PathTaken((*last).to_owned())),
    };
    if workspace.is_clone() {
        move_clone(workspace, from, former)?;
        return Ok(true);
    }
    let name = workspace.git_dir.file_name().unwrap_or_default();
    // A git directory beside the repository was not moved, and is named as before.
    let before = former.iter().map(|one| one.root.join(".git/worktrees").join(name));
    let git_dirs: Vec<PathBuf> = before.chain([workspace.git_dir.clone()]).collect();
    if !belongs(from, &git_dirs) {
        return Err(not_ours(from, "its .git file does not name the repository that was moved"));
    }
    refuse_second(&workspace.git_dir, &places, &git_dirs)?;
    if from != new {
        rename(from, new)?;
    }
    // Without git's record, the caller has it linked again.
    if workspace.git_dir.is_dir() {
        connect(new, &workspace.git_dir, &workspace.git_dir)?;
    }
    Ok(true)
}

/// Moves a clone, which names the repository as its origin, and lets it name the place where the repository is now.
fn move_clone(workspace: &Worktree, from: &Path, former: &[FormerLocation]) -> Result<(), WorkspaceError> {
    let git_dir = from.join(".git");
    let before = Worktree { path: from.to_owned(), common_dir: git_dir.clone(), git_dir, ..workspace.clone() };
    before.real_directory()?;
    let origin = before.cloned_from()?;
    let known = |origin: &PathBuf| *origin == workspace.root || former.iter().any(|one| one.root == *origin);
    if !origin.as_ref().is_some_and(known) {
        return Err(not_ours(from, "it is not a clone of the repository that was moved"));
    }
    if from != workspace.path {
        rename(from, &workspace.path)?;
    }
    workspace.git().run(GitCall::new(["config", "remote.origin.url"]).arg(&workspace.root))?;
    Ok(())
}

fn is_dir(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn rename(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    let parent = to.parent().unwrap_or(to);
    std::fs::create_dir_all(parent).map_err(WorkspaceError::io("create", parent))?;
    std::fs::rename(from, to).map_err(|source| WorkspaceError::Move {
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    })
}

/// Gives git's record `made` the name `git_dir`, and lets it and the worktree at `path` point to each other.
pub(super) fn connect(path: &Path, made: &Path, git_dir: &Path) -> Result<(), WorkspaceError> {
    let failed = WorkspaceError::io("repair", path);
    if made != git_dir {
        std::fs::rename(made, git_dir).map_err(failed)?;
    }
    let (dot_git, back) = (path.join(".git"), git_dir.join("gitdir"));
    regular::replace(&back, format!("{}\n", dot_git.display()).as_bytes()).map_err(failed)?;
    regular::replace(&dot_git, format!("gitdir: {}\n", git_dir.display()).as_bytes()).map_err(failed)
}

/// Refuses to link a worktree at one of `own` to `git_dir` while that record names a worktree elsewhere that names one of
/// `git_dirs`: one record cannot be that of two worktrees.
pub(super) fn refuse_second(git_dir: &Path, own: &[&Path], git_dirs: &[PathBuf]) -> Result<(), WorkspaceError> {
    let text = regular::read_text(&git_dir.join("gitdir")).unwrap_or_default();
    let Some(other) = Path::new(text.trim_end()).parent() else { return Ok(()) };
    if own.contains(&other) || !belongs(other, git_dirs) {
        return Ok(());
    }
    let why = format!("git has recorded the worktree of this bubble at {}", other.display());
    Err(not_ours(own.last().unwrap_or(&other), &why))
}

/// Whether the `.git` file of a worktree names one of these git directories.
pub(super) fn belongs(worktree: &Path, git_dirs: &[PathBuf]) -> bool {
    let text = regular::read_text(&worktree.join(".git")).unwrap_or_default();
    let named = worktree.join(text.trim_end().strip_prefix("gitdir: ").unwrap_or_default());
    git_dirs.contains(&named)
}

/// The error about files at `path` that are not the bubble's.
pub(super) fn not_ours(path: &Path, why: &str) -> WorkspaceError {
    GitError::NotOurs { path: path.to_owned(), why: why.to_owned() }.into()
}
