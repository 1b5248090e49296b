//! Makes the workspace of a bubble, once: a worktree that shares the repository's objects, or a clone of its own.
//!
//! A journal is written before anything is made. After a crash it tells our own leftovers from other branches and
//! directories, so that the next call finishes the work or starts again. If a call fails it removes what it made, and
//! nothing else. Untracked files that `.worktreeinclude` names are copied in; git itself matches the patterns.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::log::Ground;
use pairflow_core::rules::WorkMode;
use serde::{Deserialize, Serialize};

use super::place::lock_worktrees;
use super::{WorkspaceError, default_path};
use crate::git::{
    Git, GitCall, GitError, GitHead, Repo, Worktree, attributes_hash, bring_to, exclude_own_files, exclude_patterns,
    fetch, head, linked, merge_marked, own_commit, resolve, tree_of,
};
use crate::regular;

const CHECKOUT: Duration = Duration::from_secs(900);
const NO_PUSH: &str = "no-push://pairflow-never-pushes";

/// What workspace is wanted.
#[derive(Debug, Clone)]
pub struct WorkspaceRequest<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Whose workspace it is.
    pub id: &'a BubbleId,
    /// A worktree or a clone.
    pub mode: WorkMode,
    /// The branch that it is cut from.
    pub base_branch: &'a str,
    /// A commit of earlier work that goes on: its files are merged with those of the base.
    pub continues: Option<&'a CommitId>,
    /// The branch that is made.
    pub bubble_branch: &'a str,
}

/// A workspace that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedWorkspace {
    /// The root of the files.
    pub path: PathBuf,
    /// Its git directory.
    pub git_dir: PathBuf,
    /// The git directory shared with the repository; its own, for a clone.
    pub common_dir: PathBuf,
    /// The commit that it was cut from.
    pub base: CommitId,
    /// The tree of that commit.
    pub base_tree: TreeId,
    /// Files that were copied in because `.worktreeinclude` names them.
    pub included: Vec<String>,
    /// The conditions at its start.
    pub ground: Ground,
}

impl WorkspaceRequest<'_> {
    /// Returns where the files of the bubble are to be.
    pub fn path(&self) -> PathBuf {
        default_path(self.repo, self.id)
    }
}

impl PreparedWorkspace {
    /// Returns it as git calls need it.
    pub fn workspace(&self, repo: &Repo, id: &BubbleId) -> Worktree {
        Worktree {
            id: id.clone(),
            root: repo.root.clone(),
            path: self.path.clone(),
            git_dir: self.git_dir.clone(),
            common_dir: self.common_dir.clone(),
            base: self.base.clone(),
            included: self.included.clone(),
            excludes: self.ground.excludes.clone(),
            attributes: self.ground.attributes.clone(),
        }
    }
}

/// Makes the workspace, or finds the one that an interrupted call made.
pub fn prepare(request: &WorkspaceRequest<'_>) -> Result<PreparedWorkspace, WorkspaceError> {
    let repo = request.repo;
    repo.exclude()?;
    let _lock = lock_worktrees(repo)?;
    let path = request.path();
    let wanted = |journal: &WorkspaceJournal| {
        journal.path == path && journal.branch == request.bubble_branch && journal.mode == request.mode
    };
    if let Some(journal) = WorkspaceJournal::read(repo, request.id).filter(wanted) {
        if journal.ready
            && let Some(git_dir) = intact_git_dir(&journal, repo)
        {
            return finish(repo, &journal, git_dir);
        }
        clear_leftovers(repo, &journal)?;
    }
    let base = repo.resolve_branch(request.base_branch)?;
    refuse_foreign(request, &path)?;
    let journal = WorkspaceJournal::begun(path, request.bubble_branch, request.mode, base);
    journal.write(repo, request.id)?;
    make(request, &journal).inspect_err(|_| {
        // A note that stays, because clearing failed as well, lets the next call clear.
        if clear_leftovers(repo, &journal).is_ok() {
            let _ = WorkspaceJournal::erase(repo, request.id);
        }
    })
}

/// Removes a workspace in which no work was done yet, so that the next start makes a new one.
pub fn discard(repo: &Repo, id: &BubbleId) -> Result<(), WorkspaceError> {
    let _lock = lock_worktrees(repo)?;
    let ours = |journal: &WorkspaceJournal| journal.path == default_path(repo, id);
    let Some(journal) = WorkspaceJournal::read(repo, id).filter(ours) else { return Ok(()) };
    clear_leftovers(repo, &WorkspaceJournal { ready: false, ..journal })?;
    WorkspaceJournal::erase(repo, id)
}

fn make(request: &WorkspaceRequest<'_>, journal: &WorkspaceJournal) -> Result<PreparedWorkspace, WorkspaceError> {
    let (repo, id) = (request.repo, request.id);
    let git_dir = match journal.mode {
        WorkMode::Worktree => add_worktree(repo, journal)?,
        WorkMode::Clone => add_clone(repo, journal)?,
    };
    let included = copy_included(repo, &journal.path)?;
    let common_dir = if journal.mode == WorkMode::Clone { &git_dir } else { &repo.common_dir };
    let ground = Ground {
        excludes: Some(exclude_patterns(common_dir)),
        attributes: Some(attributes_hash(common_dir)),
        ..Ground::default()
    };
    let mut journal = WorkspaceJournal { ready: true, included, ground, ..journal.clone() };
    if let Some(earlier) = request.continues {
        let made = finish(repo, &journal, git_dir.clone())?.workspace(repo, id);
        (journal.ground.tree, journal.ground.conflicts) = merge_earlier_work(&made, earlier)?;
    }
    journal.write(repo, id)?;
    finish(repo, &journal, git_dir)
}

/// Merges earlier work with the base and writes the result into the files, with markers where both conflict.
fn merge_earlier_work(
    workspace: &Worktree,
    earlier: &CommitId,
) -> Result<(Option<TreeId>, Vec<String>), WorkspaceError> {
    let repo = workspace.repo()?.git();
    let (tree, conflicts) = merge_marked(&repo, earlier, &workspace.base, None)?;
    if workspace.is_clone() {
        let kept = own_commit(&repo, &tree, &workspace.base, format!("pairflow: start of {}\n", workspace.id))?;
        let name = workspace.private_ref("start");
        repo.run(GitCall::new(["update-ref", &name, &kept.0]).durable())?;
        fetch(&workspace.git(), &workspace.root, format!("+{name}:{name}"))?;
    }
    bring_to(workspace, &tree)?;
    Ok((Some(tree), conflicts))
}

fn finish(repo: &Repo, journal: &WorkspaceJournal, git_dir: PathBuf) -> Result<PreparedWorkspace, WorkspaceError> {
    let base_tree = tree_of(&repo.git(), &journal.base)?;
    let common_dir = match journal.mode {
        WorkMode::Worktree => repo.common_dir.clone(),
        WorkMode::Clone => git_dir.clone(),
    };
    let WorkspaceJournal { path, base, included, ground, .. } = journal.clone();
    Ok(PreparedWorkspace { path, git_dir, common_dir, base, base_tree, included, ground })
}

/// Adds the worktree on a new branch, and returns its git directory.
pub(super) fn add_worktree(repo: &Repo, journal: &WorkspaceJournal) -> Result<PathBuf, WorkspaceError> {
    make_parent(&journal.path)?;
    // Without --no-track parallel calls fight for the lock of the configuration. -f -f allows a path of which git
    // still remembers a worktree that was removed by hand; the path itself is known to be free.
    let call = GitCall::new(["worktree", "add", "--quiet", "-f", "-f", "--no-track", "-b", &journal.branch]);
    repo.git().run(call.arg(&journal.path).arg(&journal.base.0).whole().within(CHECKOUT))?;
    admin_dir(repo, &journal.path).ok_or_else(|| not_ours(&journal.path))
}

/// Makes a clone on a new branch that cannot push, and returns its git directory.
pub(super) fn add_clone(repo: &Repo, journal: &WorkspaceJournal) -> Result<PathBuf, WorkspaceError> {
    make_parent(&journal.path)?;
    let clone = ["clone", "--quiet", "--no-local", "--no-hardlinks", "--no-checkout", "--template=", "--origin=origin"];
    let call = GitCall::new(clone).arg("--upload-pack=git-upload-pack").arg("--").arg(&repo.root).arg(&journal.path);
    Git::outside_repository().run(call.within(CHECKOUT))?;
    let git_dir = journal.path.join(".git").canonicalize().map_err(WorkspaceError::io("open", &journal.path))?;
    let git = Git::at(&git_dir, &git_dir, &journal.path);
    git.run(GitCall::new(["config", "remote.origin.pushurl", NO_PUSH]))?;
    exclude_own_files(&git_dir)?;
    let checkout = GitCall::new(["checkout", "--quiet", "--no-track", "-B", &journal.branch, &journal.base.0]);
    git.run(checkout.whole().within(CHECKOUT))?;
    Ok(git_dir)
}

fn make_parent(path: &Path) -> Result<(), WorkspaceError> {
    let parent = path.parent().unwrap_or(path);
    std::fs::create_dir_all(parent).map_err(WorkspaceError::io("create", parent))
}

fn refuse_foreign(request: &WorkspaceRequest<'_>, path: &Path) -> Result<(), WorkspaceError> {
    let git = request.repo.git();
    let branch = request.bubble_branch;
    let name = GitCall::new(["check-ref-format", "--branch", branch]).accept(&[0, 1, 128]);
    if git.run(name)?.code != 0 {
        return Err(WorkspaceError::BadBranchName(branch.to_owned()));
    }
    if let Some(tip) = resolve(&git, &format!("refs/heads/{branch}"))? {
        return Err(WorkspaceError::BranchExists { branch: branch.to_owned(), tip });
    }
    let below = format!("{branch}/");
    let blocks = |other: &String| other.starts_with(&below) || branch.starts_with(&format!("{other}/"));
    if let Some(other) = request.repo.branches()?.into_iter().find(blocks) {
        return Err(WorkspaceError::BranchBlocked { branch: branch.to_owned(), other });
    }
    let empty = || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if std::fs::symlink_metadata(path).is_ok() && !empty() { Err(not_ours(path)) } else { Ok(()) }
}

/// Returns the git directory of a finished workspace, if it is still whole.
fn intact_git_dir(journal: &WorkspaceJournal, repo: &Repo) -> Option<PathBuf> {
    let git_dir = match journal.mode {
        WorkMode::Worktree => admin_dir(repo, &journal.path)?,
        WorkMode::Clone => journal.path.join(".git").canonicalize().ok()?,
    };
    (head(&git_dir) == GitHead::Branch(journal.branch.clone())).then_some(git_dir)
}

/// Returns the git directory of the worktree at `path`, if it is one of this repository.
pub(super) fn admin_dir(repo: &Repo, path: &Path) -> Option<PathBuf> {
    linked(&path.join(".git")).filter(|git_dir| git_dir.starts_with(repo.common_dir.join("worktrees")))
}

/// Returns the git directory of the worktree at `path`, which has just been made.
pub(super) fn worktree_git_dir(repo: &Repo, path: &Path) -> Result<PathBuf, WorkspaceError> {
    admin_dir(repo, path).ok_or_else(|| GitError::WorktreeGone(path.to_owned()).into())
}

/// Removes what an interrupted or failed call made. A branch that has moved and files that were ready may hold work, so
/// they stay.
fn clear_leftovers(repo: &Repo, journal: &WorkspaceJournal) -> Result<(), WorkspaceError> {
    if journal.ready && std::fs::symlink_metadata(&journal.path).is_ok() {
        return Err(not_ours(&journal.path));
    }
    let git = repo.git();
    let branch = format!("refs/heads/{}", journal.branch);
    if journal.mode == WorkMode::Clone {
        return remove_dir(&journal.path);
    }
    remove_worktree(repo, &journal.path)?;
    if resolve(&git, &branch)?.as_ref() == Some(&journal.base) {
        git.run(GitCall::new(["update-ref", "-d", &branch, &journal.base.0]))?;
    }
    Ok(())
}

/// Removes the files of a worktree and git's memory of it, in whatever state either of them is.
pub(super) fn remove_worktree(repo: &Repo, path: &Path) -> Result<(), WorkspaceError> {
    let entries = std::fs::read_dir(repo.common_dir.join("worktrees")).into_iter().flatten().flatten();
    let dot_git = path.join(".git");
    let points_here = |dir: &PathBuf| {
        regular::read_text(&dir.join("gitdir")).is_ok_and(|named| Path::new(named.trim_end()) == dot_git)
    };
    let remembered: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(points_here).collect();
    remove_dir(path)?;
    // Not `worktree prune`: that would also forget worktrees that are not ours.
    remembered.iter().try_for_each(|dir| remove_dir(dir))
}

/// Removes a directory that may be gone already.
pub(super) fn remove_dir(path: &Path) -> Result<(), WorkspaceError> {
    let removed = regular::optional(std::fs::remove_dir_all(path));
    removed.map(drop).map_err(WorkspaceError::io("remove", path))
}

fn not_ours(path: &Path) -> WorkspaceError {
    WorkspaceError::PathTaken(path.to_owned())
}

/// What was begun for a bubble, and whether it was finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkspaceJournal {
    pub(super) path: PathBuf,
    pub(super) branch: String,
    pub(super) mode: WorkMode,
    pub(super) base: CommitId,
    pub(super) ready: bool,
    pub(super) included: Vec<String>,
    #[serde(default)]
    pub(super) ground: Ground,
}

impl WorkspaceJournal {
    /// Makes the note about a workspace that is going to be made.
    pub(super) fn begun(path: PathBuf, branch: &str, mode: WorkMode, base: CommitId) -> Self {
        let branch = branch.to_owned();
        Self { path, branch, mode, base, ready: false, included: Vec::new(), ground: Ground::default() }
    }

    /// Reads the note of a bubble. One that cannot be understood counts as none: then nothing is taken for ours.
    pub(super) fn read(repo: &Repo, id: &BubbleId) -> Option<Self> {
        serde_json::from_slice(&regular::read(&file(repo, id)).ok()?).ok()
    }

    /// Writes the note, for good.
    pub(super) fn write(&self, repo: &Repo, id: &BubbleId) -> Result<(), WorkspaceError> {
        let file = file(repo, id);
        let dir = file.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(dir).map_err(WorkspaceError::io("create", dir))?;
        let text = serde_json::to_vec(self).expect("a note holds nothing but text");
        regular::replace(&file, &text).map_err(WorkspaceError::io("write", &file))
    }

    /// Removes the note of a bubble.
    pub(super) fn erase(repo: &Repo, id: &BubbleId) -> Result<(), WorkspaceError> {
        let file = file(repo, id);
        regular::remove(&file).map_err(WorkspaceError::io("remove", &file))
    }
}

fn file(repo: &Repo, id: &BubbleId) -> PathBuf {
    repo.root.join(".pairflow/runtime").join(id.as_str()).join("workspace.json")
}

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
    let found = repo.git().run(GitCall::new(["ls-files", "-z", "--others", "--ignored"]).arg(from))?;
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
    let failed = WorkspaceError::io("copy", &from);
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
    regular::copy(&from, &to).map(|()| true).map_err(failed)
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
