//! What can go wrong with git, as sentences with a way on.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{BubbleId, CommitId};

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git is not on the search path.
    #[error("git was not found; install git 2.40 or newer and make sure that it is on PATH")]
    Missing,
    /// This version of git is too old.
    #[error("git {0} is too old for this: pairflow needs git 2.40 or newer")]
    TooOld(String),
    /// A file or directory could not be used.
    #[error("cannot {what} {}", .path.display())]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// git ended with an exit code that the caller did not expect.
    #[error("git {args} failed{}: {stderr}", .code.map_or_else(|| " by a signal".to_owned(), |code| format!(" with {code}")))]
    Failed {
        /// The arguments of the call.
        args: String,
        /// The exit code; nothing if a signal ended it.
        code: Option<i32>,
        /// What git said, trimmed.
        stderr: String,
    },
    /// git did not finish in time; its process group was killed.
    #[error("git {args} timed out after {secs} seconds and was stopped")]
    TimedOut {
        /// The arguments of the call.
        args: String,
        /// How long it was waited for.
        secs: u64,
    },
    /// A FIFO or device blocked git; its process group was killed.
    #[error("git {args} is blocked: {} is not a regular file; remove it", .path.display())]
    Blocked {
        /// The arguments of the call.
        args: String,
        /// What git would read.
        path: PathBuf,
    },
    /// git wrote more than the limit.
    #[error("git {args} wrote more than {limit} bytes and was stopped")]
    TooMuchOutput {
        /// The arguments of the call.
        args: String,
        /// What was allowed.
        limit: usize,
    },
    /// The output of git does not have its documented form.
    #[error("unexpected output of git {args}: {said:?}")]
    Unexpected {
        /// The arguments of the call.
        args: String,
        /// The beginning of the answer.
        said: String,
    },
    /// This path is not in a repository.
    #[error("{} is not inside a git repository; change to your project's directory, or name it with --repo (to make one of your project, run `git init` in its directory)", .0.display())]
    NotARepository(PathBuf),
    /// The repository has no working tree.
    #[error("{} is a bare repository; use a clone of it that has files", .0.display())]
    Bare(PathBuf),
    /// The repository has no commit.
    #[error(
        "{} has no commit yet, so no branch can start from it; make one with `git commit --allow-empty -m start`",
        .0.display()
    )]
    Empty(PathBuf),
    /// The repository keeps its refs in an unsupported format.
    #[error(
        "{} keeps its refs as a reftable, which pairflow does not support; convert them with \
         `git refs migrate --ref-format=files`",
        .0.display()
    )]
    Reftable(PathBuf),
    /// A path cannot be shown or recorded as text.
    #[error("the path {path:?} {why}, so pairflow cannot record it as it is; rename that directory")]
    OddPath {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The main checkout of this git directory is unknown.
    #[error("the main checkout of {} cannot be found; run the command inside it", .0.display())]
    NoMainCheckout(PathBuf),
    /// There is no such branch.
    #[error("there is no branch {name}{}", near_names(.near))]
    UnknownBranch {
        /// The name that was asked for.
        name: String,
        /// Branches with similar names.
        near: Vec<String>,
    },
    /// The worktree's directory was removed.
    #[error(
        "the worktree {} is gone; its snapshots are kept, and `pairflow resume` restores it",
        .0.display()
    )]
    WorktreeGone(PathBuf),
    /// The directory in place of the worktree is not this bubble's.
    #[error("{} is not the worktree of this bubble: {why}; nothing was changed. Move it away, then run `pairflow resume` to restore the worktree", .path.display())]
    NotOurs {
        /// Where the worktree should be.
        path: PathBuf,
        /// What is there instead.
        why: String,
    },
    /// The worktree and the repository no longer point to each other.
    #[error("the worktree {} and the repository's record of it, {}, no longer point to each other; `pairflow resume` repairs that", .path.display(), .git_dir.display())]
    Unlinked {
        /// The worktree.
        path: PathBuf,
        /// What git would know it by.
        git_dir: PathBuf,
        /// Whether the worktree still names the repository.
        named: bool,
    },
    /// This file redirects git to another git directory.
    #[error("{} redirects git to another repository; remove that file", .0.display())]
    Redirected(PathBuf),
    /// These untracked files are where the base branch has files.
    #[error("the update would write over {}; move that away first; nothing was changed", .0.join(", "))]
    WouldOverwrite(Vec<String>),
    /// There is a repository inside the worktree, at this path; git would record only its commit.
    #[error("{} is a git repository inside the worktree; remove it, or list it in .gitignore", .0.display())]
    NestedRepository(PathBuf),
    /// This file of the worktree cannot be read.
    #[error("{} cannot be read; correct its permissions, or list it in .gitignore", .0.display())]
    Unreadable(PathBuf),
    /// No name or address is configured for commits.
    #[error(
        "git does not know who commits; run `git config --global user.name \"Your Name\"` and \
         `git config --global user.email you@example.com`"
    )]
    NoIdentity,
    /// The commit could not be signed, for this reason.
    #[error(
        "git could not sign the commit: {0}; unlock the key in this shell (`ssh-add`, or `gpg --clearsign` once with \
         GPG_TTY set) and try again, or turn signatures off with `git config --global commit.gpgSign false` and \
         `pairflow config set ID identity=current`"
    )]
    NotSigned(String),
    /// A commit needs a message.
    #[error("the commit message is empty; give one with --message")]
    EmptyMessage,
    /// A branch was moved by another process.
    #[error("{branch} moved in the meantime: expected {}, found {}; try again", .expected.short(), found_commit(.found))]
    BranchMoved {
        /// The branch.
        branch: String,
        /// What it should have pointed to.
        expected: CommitId,
        /// What it points to.
        found: Option<CommitId>,
    },
    /// The repository already has a branch of this name, at another commit.
    #[error(
        "{branch} already exists at {}; rename it with `git branch -m {branch} NEW-NAME` and try again",
        .tip.short()
    )]
    BranchTaken {
        /// The branch.
        branch: String,
        /// What it points to.
        tip: CommitId,
    },
    /// A hook refused the commit.
    #[error("the {hook} hook refused the commit: {output}")]
    HookRefused {
        /// Which hook.
        hook: &'static str,
        /// What it said.
        output: String,
    },
    /// The hooks were not recorded when this bubble was created.
    #[error(
        "the hooks of this repository were not recorded for this bubble, so they are not run; review them, then run: \
         pairflow config set {0} identity=current; or commit without --hooks"
    )]
    HooksUnknown(BubbleId),
    /// Hooks outside of the tree have changed.
    #[error(
        "hooks in {} have changed since they were recorded for this bubble, so they are not run ({}); review them, then run: \
         pairflow config set {id} identity=current; or commit without --hooks",
        .dir.display(), changed_files(.files)
    )]
    HooksChanged {
        /// Which bubble.
        id: BubbleId,
        /// Their directory.
        dir: PathBuf,
        /// The changed files.
        files: Vec<String>,
    },
    /// Hooks in the worktree are not on the base.
    #[error(
        "{} in {path} is not on the base (git ignores it, or the work added it), so it is not run; commit without --hooks",
        .hooks.join(", ")
    )]
    HooksNotOnBase {
        /// Their directory, relative to the root.
        path: String,
        /// Which ones.
        hooks: Vec<&'static str>,
    },
    /// A hook changed what would be committed.
    #[error(
        "the pre-commit hook changed what would be committed; commit without --hooks, or request rework so that the \
         change is reviewed"
    )]
    HookChangedTree,
    /// The new base and the bubble's work conflict.
    #[error("the base branch and the bubble's work conflict in {}; nothing was changed", .files.join(", "))]
    UpdateConflict {
        /// The base that was to be merged.
        base: CommitId,
        /// The files in conflict.
        files: Vec<String>,
    },
    /// A checkout has uncommitted changes.
    #[error("{} has uncommitted changes ({}); commit or stash them first", .path.display(), .files.join(", "))]
    Dirty {
        /// The checkout.
        path: PathBuf,
        /// The changed files.
        files: Vec<String>,
    },
    /// `here` is not a checkout of the branch.
    #[error("{} is not on branch {branch}; run `git switch {branch}` there first", .path.display())]
    NotOnBranch {
        /// The checkout.
        path: PathBuf,
        /// The branch.
        branch: String,
    },
    /// The merge conflicts in these files.
    #[error("the merge conflicts in {}; bring the base into the bubble with `pairflow bubble update` first", .0.join(", "))]
    MergeConflict(Vec<String>),
}

impl GitError {
    /// Makes an error out of what the system said when `what` was tried with `path`.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}

fn changed_files(files: &[String]) -> String {
    if files.is_empty() { "not all files can be read".to_owned() } else { files.join(", ") }
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) }
}

fn found_commit(found: &Option<CommitId>) -> &str {
    found.as_ref().map_or("nothing", CommitId::short)
}
