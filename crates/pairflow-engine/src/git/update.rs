//! Brings a moved base branch into a bubble, as one more change of its files.
//!
//! The merge happens in memory first. Only if it fits are files written, and git refuses to write over any file that
//! changed since it was looked at; a conflict changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pairflow_core::ids::{CommitId, TreeId};

use super::commit::show_in_index;
use super::diff::changes;
use super::error::GitError;
use super::head::{Head, head};
use super::index::Index;
use super::merge::{MergedTree, is_ancestor, merge_tree};
use super::repo::resolve;
use super::run::{Call, Git};
use super::snapshot::{commit_of, look};
use super::workspace::Workspace;

/// The base that a bubble now stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The new base.
    pub base: CommitId,
    /// Its tree.
    pub base_tree: TreeId,
    /// The tree of the worktree after the update.
    pub tree: TreeId,
    /// Whether the base had moved at all.
    pub moved: bool,
}

/// Merges the tip of `base_branch` into the worktree. The caller records the new base.
pub fn update(workspace: &Workspace, base_branch: &str) -> Result<Updated, GitError> {
    workspace.present()?;
    let git = workspace.git();
    let base = workspace.repo()?.resolve_branch(base_branch)?;
    fetch_into_clone(workspace, &git, base_branch)?;
    let base_tree = git.run(Call::new(["rev-parse", "--verify", &format!("{base}^{{tree}}")]))?.tree()?;
    let (now, index) = look(workspace, &git)?;
    if base == workspace.base {
        return Ok(Updated { base, base_tree, tree: now, moved: false });
    }
    let ours = commit_of(workspace, &git, &now)?;
    let tree = match merge_tree(&git, &ours, &base, Some(&workspace.base))? {
        MergedTree::Tree(tree) => tree,
        MergedTree::Conflict(files) => return Err(GitError::UpdateConflict { files }),
    };
    refuse_overwriting(workspace, &git, &index, (&now, &tree))?;
    // The index holds what was looked at: git compares every file that it would write with it.
    git.run(Call::new(["read-tree", "-m", "-u", &now.0, &tree.0]).index(index.path()).whole())?;
    follow(workspace, &git, &base)?;
    Ok(Updated { base, base_tree, tree, moved: true })
}

/// git takes ignored files for expendable. They are not: an ignored `.env` is somebody's work.
fn refuse_overwriting(
    workspace: &Workspace,
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
    let call = occupied.iter().fold(Call::new(["ls-files", "-z", "--others", "--"]), Call::arg);
    let unknown = git.run(call.index(index.path()))?;
    let files: Vec<String> = unknown.parts().map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    if files.is_empty() { Ok(()) } else { Err(GitError::WouldOverwrite { files }) }
}

fn fetch_into_clone(workspace: &Workspace, git: &Git, base_branch: &str) -> Result<(), GitError> {
    if !workspace.is_clone() {
        return Ok(());
    }
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
    let call = Call::new(fetch).arg("--no-recurse-submodules").arg("--upload-pack=git-upload-pack");
    let call =
        call.arg("--").arg(&workspace.root).arg(format!("+refs/heads/{base_branch}:{}", workspace.private_ref("base")));
    git.run(call.durable()).map(drop)
}

/// Moves the bubble's branch along if no agent has committed on it, so that `git status` there shows the bubble's work
/// only. Commits of agents stay where they are.
fn follow(workspace: &Workspace, git: &Git, base: &CommitId) -> Result<(), GitError> {
    let Head::Branch(name) = head(&workspace.git_dir) else { return Ok(()) };
    let branch = format!("refs/heads/{name}");
    let Some(tip) = resolve(git, &branch)? else { return Ok(()) };
    if is_ancestor(git, &tip, base)? {
        git.run(Call::new(["update-ref", "-m", "pairflow: update", &branch, &base.0, &tip.0]).durable())?;
        show_in_index(workspace, git, &base.0)?;
    }
    Ok(())
}
