//! Brings a bubble's commit to the base branch: planned without changing anything, then done in one step.
//!
//! A branch that is checked out anywhere is not moved, unless the caller asks for it from a clean checkout.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::log::CommitIdentity;

use super::commit::{commit_as_person, moved_error, resolve_identity};
use super::{Git, GitCall, GitError, GitHead, Repo, head, is_ancestor, linked};

const MERGE_TREE: [&str; 5] = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];

/// How long git may take for what is only shown.
const LOOK: Duration = Duration::from_secs(5);

/// What is to be merged, and where.
#[derive(Debug, Clone)]
pub struct MergeRequest<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Whose work it is.
    pub id: &'a BubbleId,
    /// The branch that is to have it.
    pub base_branch: &'a str,
    /// The bubble's branch, for the line that a person can type.
    pub bubble_branch: &'a str,
    /// The bubble's commit.
    pub commit: &'a CommitId,
    /// Who merges, as recorded; the rest is taken from git's configuration now.
    pub identity: Option<&'a CommitIdentity>,
}

/// What a merge leads to. Nothing has moved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePlan {
    /// Where the base branch was when the plan was made.
    pub tip: CommitId,
    /// What kind of merge it is.
    pub how: MergeKind,
}

/// What kind of merge it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeKind {
    /// The base branch has the commit already.
    AlreadyIn,
    /// The base branch only has to be moved to the commit.
    FastForward(CommitId),
    /// Both sides moved; this commit joins them and is kept at `refs/pairflow/<id>/merge`.
    Join(CommitId),
    /// The two sides conflict in these files.
    Conflict(Vec<String>),
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The base branch has the work; it points to this commit.
    Moved(CommitId),
    /// The base branch is checked out, so it was not moved.
    CheckedOut {
        /// Where.
        at: PathBuf,
        /// What to type there.
        line: String,
    },
}

/// The result of merging two commits in memory: the tree, or the files in which they conflict.
pub type MergedTree = Result<TreeId, Vec<String>>;

impl MergePlan {
    /// Returns the commit that the base branch would point to; nothing if there is a conflict.
    pub fn result(&self) -> Option<&CommitId> {
        match &self.how {
            MergeKind::AlreadyIn => Some(&self.tip),
            MergeKind::FastForward(commit) | MergeKind::Join(commit) => Some(commit),
            MergeKind::Conflict(_) => None,
        }
    }
}

/// Finds out what merging would lead to.
pub fn plan_merge(request: &MergeRequest<'_>) -> Result<MergePlan, GitError> {
    let git = request.repo.git();
    let tip = request.repo.resolve_branch(request.base_branch)?;
    let how = if is_ancestor(&git, request.commit, &tip)? {
        MergeKind::AlreadyIn
    } else if is_ancestor(&git, &tip, request.commit)? {
        MergeKind::FastForward(request.commit.clone())
    } else {
        match merge_tree(&git, &tip, request.commit, None)? {
            Ok(tree) => MergeKind::Join(commit_join(request, &git, &tip, &tree)?),
            Err(files) => MergeKind::Conflict(files),
        }
    };
    Ok(MergePlan { tip, how })
}

/// Moves the base branch as planned, unless it moved in the meantime. With `here`, a clean checkout of the base branch
/// at that path is brought along; without it, a checked-out branch is left alone.
pub fn merge(request: &MergeRequest<'_>, plan: &MergePlan, here: Option<&Path>) -> Result<MergeOutcome, GitError> {
    let to = match &plan.how {
        MergeKind::AlreadyIn => return Ok(MergeOutcome::Moved(plan.tip.clone())),
        MergeKind::Conflict(files) => return Err(GitError::MergeConflict(files.clone())),
        MergeKind::FastForward(commit) | MergeKind::Join(commit) => commit,
    };
    let git = request.repo.git();
    if let Some(path) = here {
        return merge_here(request, plan, to, path);
    }
    if let Some(at) = checked_out_at(request.repo, &git, request.base_branch)? {
        let name = match plan.how {
            MergeKind::Join(_) => format!("refs/pairflow/{}/merge", request.id),
            _ => request.bubble_branch.to_owned(),
        };
        return Ok(MergeOutcome::CheckedOut { at, line: format!("git merge --ff-only {name}") });
    }
    let branch = format!("refs/heads/{}", request.base_branch);
    let call = GitCall::new(["update-ref", "-m", "pairflow: merge", &branch, &to.0, &plan.tip.0]).durable();
    git.run(call).map_err(|error| moved_error(&git, &branch, &plan.tip, error))?;
    Ok(MergeOutcome::Moved(to.clone()))
}

/// Merges two commits without touching any file or branch. `base` replaces their common ancestor.
pub fn merge_tree(
    git: &Git,
    ours: &CommitId,
    theirs: &CommitId,
    base: Option<&CommitId>,
) -> Result<MergedTree, GitError> {
    let (tree, files) = merge_marked(git, ours, theirs, base)?;
    Ok(if files.is_empty() { Ok(tree) } else { Err(files) })
}

/// Returns the files in which two commits conflict. Not even an object is written to the repository.
pub fn conflicts(repo: &Repo, ours: &CommitId, theirs: &CommitId) -> Result<Vec<String>, GitError> {
    let place = std::env::temp_dir();
    let aside = tempfile::tempdir_in(&place).map_err(GitError::io("make a directory in", &place))?;
    let call = GitCall::new(MERGE_TREE).env("GIT_OBJECT_DIRECTORY", aside.path());
    let call = call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repo.common_dir.join("objects"));
    Ok(merged(&repo.git(), call.arg(&ours.0).arg(&theirs.0).within(LOOK))?.1)
}

/// Returns how many commits `new` has that `old` does not have.
pub fn commits_between(git: &Git, old: &CommitId, new: &CommitId) -> Result<u64, GitError> {
    let answer = git.run(GitCall::new(["rev-list", "--count", &format!("{old}..{new}")]).within(LOOK))?;
    answer.line()?.parse().map_err(|_| answer.unexpected())
}

/// Merges two commits like [`merge_tree`]. Where they conflict the tree has markers, and the files are named.
pub(crate) fn merge_marked(
    git: &Git,
    ours: &CommitId,
    theirs: &CommitId,
    base: Option<&CommitId>,
) -> Result<(TreeId, Vec<String>), GitError> {
    let mut call = GitCall::new(MERGE_TREE).durable();
    if let Some(base) = base {
        call = call.arg(format!("--merge-base={base}"));
    }
    merged(git, call.arg(&ours.0).arg(&theirs.0))
}

fn merged(git: &Git, call: GitCall) -> Result<(TreeId, Vec<String>), GitError> {
    let answer = git.run(call.accept(&[0, 1]))?;
    let mut parts = answer.parts().map(|part| String::from_utf8_lossy(part).into_owned());
    let tree = parts.next().ok_or_else(|| answer.unexpected())?;
    let files: Vec<String> = parts.collect();
    if (answer.code == 0) == files.is_empty() { Ok((TreeId(tree), files)) } else { Err(answer.unexpected()) }
}

fn commit_join(request: &MergeRequest<'_>, git: &Git, tip: &CommitId, tree: &TreeId) -> Result<CommitId, GitError> {
    let message = format!("Merge branch '{}' into {}\n", request.bubble_branch, request.base_branch);
    let identity = resolve_identity(request.identity, request.repo)?;
    let commit = commit_as_person(git, tree, &[tip, request.commit], message, &identity)?;
    let kept = format!("refs/pairflow/{}/merge", request.id);
    git.run(GitCall::new(["update-ref", &kept, &commit.0]).durable())?;
    Ok(commit)
}

/// Returns git in the checkout that `path` lies in, provided that it is one of the branch and clean.
pub(crate) fn clean_checkout(repo: &Repo, branch: &str, path: &Path) -> Result<Git, GitError> {
    let (top, git_dir) = checkout_of(repo, path)?;
    if head(&git_dir) != GitHead::Branch(branch.to_owned()) {
        return Err(GitError::NotOnBranch { path: top, branch: branch.to_owned() });
    }
    let git = Git::at(&git_dir, &repo.common_dir, &top);
    let status = git.run(GitCall::new(["status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"]))?;
    let files: Vec<String> =
        status.parts().map(|part| String::from_utf8_lossy(part.get(3..).unwrap_or(part)).into_owned()).collect();
    if !files.is_empty() {
        return Err(GitError::Dirty { path: top, files });
    }
    Ok(git)
}

fn merge_here(
    request: &MergeRequest<'_>,
    plan: &MergePlan,
    to: &CommitId,
    path: &Path,
) -> Result<MergeOutcome, GitError> {
    let git = clean_checkout(request.repo, request.base_branch, path)?;
    let branch = format!("refs/heads/{}", request.base_branch);
    let merge = ["merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", &to.0];
    git.run(GitCall::new(merge).durable()).map_err(|error| moved_error(&git, &branch, &plan.tip, error))?;
    Ok(MergeOutcome::Moved(to.clone()))
}

/// Returns the root and the git directory of the checkout that `path` lies in.
fn checkout_of(repo: &Repo, path: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let path = path.canonicalize().map_err(GitError::io("open", path))?;
    let worktrees = repo.common_dir.join("worktrees");
    let own = |dir: &Path| linked(&dir.join(".git")).filter(|git_dir| git_dir.starts_with(&worktrees));
    for dir in path.ancestors() {
        if dir == repo.root {
            return Ok((dir.to_owned(), repo.common_dir.clone()));
        }
        if let Some(git_dir) = own(dir) {
            return Ok((dir.to_owned(), git_dir));
        }
    }
    Err(GitError::NotARepository(path))
}

/// Returns where a branch is checked out, or being rebased, if it is.
pub(crate) fn checked_out_at(repo: &Repo, git: &Git, branch: &str) -> Result<Option<PathBuf>, GitError> {
    let listed = git.run(GitCall::new(["worktree", "list", "--porcelain", "-z"]))?;
    let wanted = format!("branch refs/heads/{branch}");
    let mut at = None;
    for part in listed.parts().map(String::from_utf8_lossy) {
        if let Some(path) = part.strip_prefix("worktree ") {
            at = Some(PathBuf::from(path)).filter(|path| path.is_dir());
        } else if *part == wanted && at.is_some() {
            return Ok(at);
        }
    }
    Ok(rebased_in(&repo.common_dir, branch)
        .map(|git_dir| if git_dir == repo.common_dir { repo.root.clone() } else { git_dir }))
}

/// Returns the git directory in which a rebase of `branch` has begun: it moves the branch when it ends.
fn rebased_in(common_dir: &Path, branch: &str) -> Option<PathBuf> {
    let linked = std::fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut dirs = std::iter::once(common_dir.to_owned()).chain(linked.map(|entry| entry.path()));
    let named = |dir: &PathBuf| {
        ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|file| {
            let name = crate::regular::read_text(&dir.join(file)).unwrap_or_default();
            name.trim_end().strip_prefix("refs/heads/") == Some(branch)
        })
    };
    dirs.find(named)
}
