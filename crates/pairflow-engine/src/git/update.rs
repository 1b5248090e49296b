//! Brings a moved base branch into a bubble, as one more change of its files.
//!
//! The merge happens in memory first. Only if it fits are files written, and git refuses to write over any file that
//! changed since it was looked at; a conflict changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::log::Conflict;

use super::repo::find_object;
use super::snapshot::{commit_of, listing, read_worktree};
use super::workspace::{Index, reading_git};
use super::{
    Git, GitCall, GitError, GitHead, Worktree, changes, fetch, head, is_ancestor, merge_marked, own_commit, resolve,
    show_in_index, tree_of,
};

/// What to merge into a worktree.
#[derive(Debug, Clone, Copy)]
pub struct UpdateRequest<'a> {
    /// The branch whose tip becomes the base.
    pub base_branch: &'a str,
    /// A conflict that the person has resolved in the worktree: its base is merged, its files stay as they are.
    pub resolved: Option<&'a Conflict>,
    /// The number of the next snapshot. What was there before the merge is kept under it until the merge is recorded.
    pub number: u64,
}

/// The result of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The new base.
    pub base: CommitId,
    /// Its tree.
    pub base_tree: TreeId,
    /// The tree of the worktree before the update, also if an interrupted attempt has already changed files.
    pub before: TreeId,
    /// The tree of the worktree after the update.
    pub tree: TreeId,
    /// Whether the base had moved at all.
    pub moved: bool,
}

/// The planned merge of the base branch, before any file is written.
struct UpdatePlan {
    base: CommitId,
    base_tree: TreeId,
    /// The tree of the worktree, and the index with which it was looked at.
    now: TreeId,
    index: Index,
    /// Whether a conflict is taken as resolved.
    resolved: bool,
    /// The merged tree, or the files in conflict.
    merged: Result<TreeId, Vec<String>>,
}

fn plan_update(workspace: &Worktree, git: &Git, wanted: &UpdateRequest<'_>) -> Result<UpdatePlan, GitError> {
    workspace.connected()?;
    let tip = workspace.repo()?.resolve_branch(wanted.base_branch)?;
    if workspace.is_clone() {
        let refs = format!("+refs/heads/{}:{}", wanted.base_branch, workspace.private_ref("base"));
        fetch(git, &workspace.root, refs)?;
    }
    // A base that the branch no longer has was resolved for nothing.
    let resolved = match wanted.resolved {
        Some(conflict) if is_ancestor(git, &conflict.base, &tip)? => Some(conflict),
        _ => None,
    };
    let base = resolved.map_or(tip, |conflict| conflict.base.clone());
    let base_tree = tree_of(git, &base)?;
    let (now, index) = read_worktree(workspace)?;
    let ours = commit_of(workspace, git, &now)?;
    let joined = merge_marked(git, &ours, &base, Some(&workspace.base))?;
    let merged = match unresolved(&joined.1, resolved) {
        Some(files) => Err(files),
        None => Ok(with_files_of(workspace, git, &now, joined)?),
    };
    Ok(UpdatePlan { base, base_tree, now, index, resolved: resolved.is_some(), merged })
}

/// Returns what [`update`] would come to now; nothing if it would meet a conflict. The worktree is left alone.
pub(crate) fn would_update(workspace: &Worktree, wanted: &UpdateRequest<'_>) -> Result<Option<Updated>, GitError> {
    let UpdatePlan { base, base_tree, now, merged, .. } = plan_update(workspace, &workspace.git(), wanted)?;
    let moved = base != workspace.base;
    Ok(merged.ok().map(|tree| Updated { base, base_tree, before: now, tree, moved }))
}

/// Merges the tip of the base branch into the worktree. The caller records the new base.
pub fn update(workspace: &Worktree, wanted: &UpdateRequest<'_>) -> Result<Updated, GitError> {
    let git = workspace.git();
    let notes = UpdateNotes { workspace, git: &git, number: wanted.number };
    let UpdatePlan { base, base_tree, now, index, resolved, merged } = plan_update(workspace, &git, wanted)?;
    if base == workspace.base {
        return Ok(Updated { base, base_tree, before: now.clone(), tree: now, moved: false });
    }
    let tree = match merged {
        Ok(tree) => tree,
        Err(files) => {
            notes.write("conflict", &now)?;
            return Err(GitError::UpdateConflict { base, files });
        }
    };
    refuse_overwriting(workspace, &git, &index, (&now, &tree))?;
    let before = notes.before(resolved, &now)?;
    // The index holds what was looked at: git compares every file that it would write with it.
    let written = git.run(GitCall::new(["read-tree", "-m", "-u", &now.0, &tree.0]).index(index.path()).whole());
    if let Err(error) = written {
        notes.erase("update");
        return Err(error);
    }
    advance_branch(workspace, &git, &base)?;
    keep_tracking(workspace, &index)?;
    Ok(Updated { base, base_tree, before, tree, moved: true })
}

/// Whether none of the files in conflict was edited since the conflict was recorded for snapshot `number`.
pub(crate) fn is_untouched(workspace: &Worktree, conflict: &Conflict, number: u64) -> Result<bool, GitError> {
    let git = workspace.git();
    let notes = UpdateNotes { workspace, git: &git, number };
    let Some(met) = notes.read("conflict")? else { return Ok(false) };
    let (now, _) = read_worktree(workspace)?;
    let edited = changes(&git, &met, &now)?;
    Ok(!edited.iter().any(|change| conflict.files.contains(&change.path)))
}

/// The result of a conflict between finished work and its base that a person resolved by hand.
pub(crate) enum ManualMerge {
    /// There is no conflict.
    NoConflict,
    /// These files in conflict were not edited.
    Untouched(Vec<String>),
    /// Both together, as one commit on the base: the files in conflict are those of the worktree.
    Joined(CommitId),
}

/// Merges the finished `commit` with `tip` and takes the files in conflict as the worktree has them; with `keep` also those
/// that were not edited.
pub(crate) fn join_by_hand(
    workspace: &Worktree,
    (commit, tip): (&CommitId, &CommitId),
    keep: bool,
) -> Result<ManualMerge, GitError> {
    let git = workspace.git();
    let merged = merge_marked(&git, commit, tip, None)?;
    if merged.1.is_empty() {
        return Ok(ManualMerge::NoConflict);
    }
    let (now, _) = read_worktree(workspace)?;
    let edited = changes(&git, &tree_of(&git, commit)?, &now)?;
    let is_edited = |path: &String| edited.iter().any(|change| change.path == *path);
    let untouched: Vec<_> = merged.1.iter().filter(|path| !keep && !is_edited(path)).cloned().collect();
    if !untouched.is_empty() {
        return Ok(ManualMerge::Untouched(untouched));
    }
    let tree = with_files_of(workspace, &git, &now, merged)?;
    let joined = own_commit(&git, &tree, tip, format!("pairflow: the work of {}, resolved by hand\n", workspace.id))?;
    git.run(GitCall::new(["update-ref", &workspace.private_ref("resolved"), &joined.0]).durable())?;
    Ok(ManualMerge::Joined(joined))
}

/// Makes the files of the worktree those of `tree`. Ignored files stay.
pub(crate) fn bring_to(workspace: &Worktree, tree: &TreeId) -> Result<(), GitError> {
    let git = workspace.git();
    let (now, index) = read_worktree(workspace)?;
    refuse_overwriting(workspace, &git, &index, (&now, tree))?;
    git.run(GitCall::new(["read-tree", "-m", "-u", &now.0, &tree.0]).index(index.path()).whole()).map(drop)
}

/// Resets a checkout of our own to `commit`, files and HEAD. Ignored files stay where they do not conflict. Returns the
/// tree, and whether the files were different.
pub(crate) fn force_to(workspace: &Worktree, commit: &CommitId) -> Result<(TreeId, bool), GitError> {
    let git = workspace.git();
    let (now, index) = read_worktree(workspace)?;
    let tree = tree_of(&git, commit)?;
    if now != tree {
        // Files are written as they are read: without the settings of the repository.
        let writing = reading_git(workspace, &index)?;
        writing.run(GitCall::new(["read-tree", "--reset", "-u", &commit.0]).index(index.path()).whole())?;
    }
    index.copy_to(&workspace.index())?;
    let head = workspace.git_dir.join("HEAD");
    crate::regular::replace(&head, format!("{commit}\n").as_bytes()).map_err(GitError::io("write", &head))?;
    index.keep();
    let differed = now != tree;
    Ok((tree, differed))
}

/// The trees before an update, on private refs: after a crash they tell which changes came from the base.
struct UpdateNotes<'a> {
    workspace: &'a Worktree,
    git: &'a Git,
    number: u64,
}

impl UpdateNotes<'_> {
    fn name(&self, what: &str) -> String {
        self.workspace.private_ref(format_args!("{what}-{}", self.number))
    }

    /// The ref holds the tree: `git log --all` would list a commit.
    fn write(&self, what: &str, tree: &TreeId) -> Result<(), GitError> {
        self.git.run(GitCall::new(["update-ref", &self.name(what), &tree.0]).durable()).map(drop)
    }

    fn read(&self, what: &str) -> Result<Option<TreeId>, GitError> {
        let found = find_object(self.git, &format!("{}^{{tree}}", self.name(what)))?;
        found.map(|found| found.tree()).transpose()
    }

    fn erase(&self, what: &str) {
        // One that stays is passed over as soon as the next snapshot is recorded.
        let _ = self.git.run(GitCall::new(["update-ref", "-d", &self.name(what)]));
    }

    /// Returns the tree before the update: of the attempt that was interrupted, or that met the conflict, or now.
    fn before(&self, resolved: bool, now: &TreeId) -> Result<TreeId, GitError> {
        let interrupted = self.read("update")?;
        let met = if resolved { self.read("conflict")? } else { None };
        let before = interrupted.or(met).unwrap_or_else(|| now.clone());
        self.write("update", &before)?;
        Ok(before)
    }
}

/// Returns the files in conflict, unless the person has resolved all of them.
fn unresolved(files: &[String], resolved: Option<&Conflict>) -> Option<Vec<String>> {
    let known = |file: &String| resolved.is_some_and(|conflict| conflict.files.contains(file));
    (!files.iter().all(known)).then(|| files.to_vec())
}

/// Returns the merged tree with the files that were in conflict as `now` has them.
fn with_files_of(
    workspace: &Worktree,
    git: &Git,
    now: &TreeId,
    (merged, files): (TreeId, Vec<String>),
) -> Result<TreeId, GitError> {
    if files.is_empty() {
        return Ok(merged);
    }
    let mut index = Index::open(workspace)?;
    index.clear()?;
    git.run(GitCall::new(["read-tree", &merged.0]).index(index.path()).whole())?;
    let zero = "0".repeat(now.0.len());
    let mut input: Vec<u8> = files.iter().flat_map(|file| format!("0 {zero}\t{file}\0").into_bytes()).collect();
    let there = files.iter().fold(GitCall::new(["ls-tree", "-r", "-z", &now.0, "--"]), GitCall::arg);
    input.extend_from_slice(&git.run(there)?.stdout);
    git.run(GitCall::new(["update-index", "-z", "--index-info"]).input(input).index(index.path()))?;
    git.run(GitCall::new(["write-tree"]).index(index.path()).durable())?.tree()
}

/// git overwrites ignored files. They may matter, such as an ignored `.env`, so they are never overwritten.
fn refuse_overwriting(
    workspace: &Worktree,
    git: &Git,
    index: &Index,
    (from, to): (&TreeId, &TreeId),
) -> Result<(), GitError> {
    let added = changes(git, from, to)?.into_iter().filter(|change| change.status == 'A').map(|change| change.path);
    let mut occupied: BTreeSet<PathBuf> = BTreeSet::new();
    for path in added {
        let mut upward = Path::new(&path).ancestors().filter(|part| !part.as_os_str().is_empty());
        occupied.extend(
            upward.next().filter(|path| workspace.path.join(path).symlink_metadata().is_ok()).map(Path::to_owned),
        );
        let no_dir = |part: &&Path| workspace.path.join(part).symlink_metadata().is_ok_and(|found| !found.is_dir());
        occupied.extend(upward.filter(no_dir).map(Path::to_owned));
    }
    if occupied.is_empty() {
        return Ok(());
    }
    let call = occupied.iter().fold(GitCall::new(["ls-files", "-z", "--others", "--"]), GitCall::arg);
    let unknown = git.run(call.index(index.path()))?;
    let files: Vec<String> = unknown.parts().map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    if files.is_empty() { Ok(()) } else { Err(GitError::WouldOverwrite(files)) }
}

/// Lets the worktree's own index list every file of the merged tree that is ignored now: otherwise a rule that the base
/// brought, or the index of the new base, would drop it from the work.
fn keep_tracking(workspace: &Worktree, index: &Index) -> Result<(), GitError> {
    let git = reading_git(workspace, index)?;
    let ignored = git.run(listing(&["--cached", "--ignored"]).index(index.path()))?.stdout;
    if ignored.is_empty() || !workspace.index().is_file() {
        return Ok(());
    }
    let call = GitCall::new(["update-index", "-z", "--add", "--remove", "--stdin"]).input(ignored);
    git.run(call.index(&workspace.index()).durable()).map(drop)
}

/// Moves the bubble's branch along if no agent has committed on it, so that `git status` there shows the bubble's work
/// only. Commits of agents stay where they are.
fn advance_branch(workspace: &Worktree, git: &Git, base: &CommitId) -> Result<(), GitError> {
    let GitHead::Branch(name) = head(&workspace.git_dir) else { return Ok(()) };
    let branch = format!("refs/heads/{name}");
    let Some(tip) = resolve(git, &branch)? else { return Ok(()) };
    if is_ancestor(git, &tip, base)? {
        git.run(GitCall::new(["update-ref", "-m", "pairflow: update", &branch, &base.0, &tip.0]).durable())?;
        show_in_index(workspace, git, &base.0)?;
    }
    Ok(())
}
