//! A checkout of exactly one commit that belongs to pairflow: where commands run whose results are evidence.
//!
//! Each bubble has one beside its worktree that stays: files that the tree ignores, such as build caches and installed
//! packages, are kept from one run to the next. A fresh one contains nothing but the commit, and is removed afterwards.
//! Until agents run in a sandbox, one of the same user can still write there.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::hash::sha256;
use pairflow_core::ids::{BubbleId, CommitId, TreeId};

use super::place::{ACCEPTANCE_PREFIX, lock_worktrees};
use super::prepare::{admin_dir, remove_dir, remove_worktree, worktree_git_dir};
use super::{WorkspaceError, copy_included, worktrees_dir};
use crate::git::{GitCall, GitError, Repo, Worktree, bring_to, changes, force_to, forget_index, observe};
use crate::regular;
use crate::store::LogFiles;

const CHECKS_PREFIX: &str = ".checks-";
/// The note that says for what the setup command ran last.
const NOTE: &str = "pairflow-setup";
const CHECKOUT: Duration = Duration::from_secs(900);

/// Files that say what has to be installed: where one of them changes, the setup command runs again.
const MANIFESTS: &str = ".gitmodules Cargo.lock Cargo.toml Gemfile Gemfile.lock Package.resolved Package.swift Pipfile \
    Pipfile.lock build.gradle build.gradle.kts bun.lock bun.lockb composer.json composer.lock deno.lock \
    go.mod go.sum mix.exs mix.lock package-lock.json package.json pdm.lock pnpm-lock.yaml poetry.lock \
    pom.xml pyproject.toml setup.cfg setup.py uv.lock yarn.lock";

/// A checkout. A fresh one is removed when this is dropped.
#[derive(Debug)]
pub struct Checkout {
    workspace: Worktree,
    commit: CommitId,
    tree: TreeId,
    rewritten: bool,
    fresh: Option<Scratch>,
}

/// What a setup command was last run for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUpFor {
    /// The command and what it reads, as a hash.
    pub needs: String,
    /// The commit that was checked out.
    pub commit: CommitId,
}

impl Checkout {
    /// Brings the bubble's own checkout to `commit`, or makes it. `like` is the bubble's worktree, whose rules for
    /// ignored files hold here, too.
    pub fn warm(repo: &Repo, like: &Worktree, commit: &CommitId) -> Result<Self, WorkspaceError> {
        let path = checkout_path(&repo.root, &like.id);
        if let Some(git_dir) = admin_dir(repo, &path) {
            let workspace = checkout_workspace(repo, like, path.clone(), git_dir);
            // If that fails for any reason, a new one is made.
            if let Ok((tree, rewritten)) = force_to(&workspace, commit) {
                return Ok(Self { workspace, commit: commit.clone(), tree, rewritten, fresh: None });
            }
        }
        let git_dir = make(repo, &path, commit)?;
        let mut workspace = checkout_workspace(repo, like, path, git_dir);
        forget_index(&workspace);
        workspace.included.extend(copy_included(repo, &workspace.path)?);
        let (tree, rewritten) = force_to(&workspace, commit)?;
        Ok(Self { workspace, commit: commit.clone(), tree, rewritten, fresh: None })
    }

    /// Checks `commit` out in a place of its own.
    pub fn fresh(repo: &Repo, like: &Worktree, commit: &CommitId) -> Result<Self, WorkspaceError> {
        let scratch = Scratch::new(repo, commit)?;
        let git_dir = worktree_git_dir(repo, &scratch.path)?;
        let mut workspace = checkout_workspace(repo, like, scratch.path.clone(), git_dir);
        workspace.included.extend_from_slice(&scratch.included);
        let (tree, rewritten) = force_to(&workspace, commit)?;
        Ok(Self { workspace, commit: commit.clone(), tree, rewritten, fresh: Some(scratch) })
    }

    /// Returns the root of its files.
    pub fn path(&self) -> &Path {
        &self.workspace.path
    }

    /// Returns the commit that it holds.
    pub fn commit(&self) -> &CommitId {
        &self.commit
    }

    /// Returns the tree of that commit, which its files were when it was opened.
    pub fn tree(&self) -> &TreeId {
        &self.tree
    }

    /// Whether other files lay in it when it was opened, such as those that a setup command had added.
    pub fn was_rewritten(&self) -> bool {
        self.rewritten
    }

    /// Whether nothing is in it but the commit.
    pub fn is_fresh(&self) -> bool {
        self.fresh.is_some()
    }

    /// Returns it as git calls need it.
    pub fn workspace(&self) -> &Worktree {
        &self.workspace
    }

    /// Makes its files those of `tree`. Ignored files stay.
    pub fn put_back(&self, tree: &TreeId) -> Result<(), GitError> {
        bring_to(&self.workspace, tree)
    }

    /// Puts the files of the tree back that a setup command changed; what it added stays. Returns the tree of it all.
    pub fn keep_tree(&self) -> Result<TreeId, GitError> {
        let git = self.workspace.git();
        let now = observe(&self.workspace)?;
        let changed = changes(&git, &self.tree, &now)?.into_iter().filter(|change| change.status != 'A');
        let paths: String = changed.map(|change| change.path + "\0").collect();
        if paths.is_empty() {
            return Ok(now);
        }
        let restore =
            ["restore", "--worktree", "--source", &self.commit.0, "--pathspec-from-file=-", "--pathspec-file-nul"];
        git.run(
            GitCall::new(restore).input(paths).index(&self.workspace.index()).env("GIT_LITERAL_PATHSPECS", "1").whole(),
        )?;
        observe(&self.workspace)
    }

    /// Returns what a run of `setup` now would be for: the command, and every file that says what is to be installed.
    pub fn needs(&self, setup: &str) -> Result<SetUpFor, GitError> {
        let listed = self.workspace.git().run(GitCall::new(["ls-tree", "-r", "-z", &self.commit.0]))?;
        let mut text = format!("{setup}\0").into_bytes();
        for entry in listed.parts().filter(|entry| is_manifest(entry)) {
            text.extend_from_slice(entry);
            text.push(0);
        }
        Ok(SetUpFor { needs: sha256(&text), commit: self.commit.clone() })
    }

    /// Returns what the setup command ran for last, if it did.
    pub fn set_up_for(&self) -> Option<SetUpFor> {
        let note = regular::read_text(&self.workspace.git_dir.join(NOTE)).ok()?;
        let (needs, commit) = note.trim_end().split_once(' ')?;
        Some(SetUpFor { needs: needs.to_owned(), commit: CommitId(commit.to_owned()) })
    }

    /// Records what the setup command ran for; nothing if that is unknown.
    pub fn note_set_up(&self, what: Option<&SetUpFor>) -> Result<(), WorkspaceError> {
        let path = self.workspace.git_dir.join(NOTE);
        let done = match what {
            Some(SetUpFor { needs, commit }) => regular::write(&path, format!("{needs} {commit}\n")),
            None => regular::remove(&path),
        };
        done.map_err(WorkspaceError::io("write", &path))
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if self.is_fresh() {
            forget_index(&self.workspace);
        }
    }
}

/// Removes the checkout of a bubble of the repository at `root` that needs it no more. It is no error to have none.
pub fn remove_checkout(root: &Path, id: &BubbleId) -> Result<(), WorkspaceError> {
    let path = checkout_path(root, id);
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    let repo = Repo::discover(root)?;
    let _lock = lock_worktrees(&repo)?;
    remove_worktree(&repo, &path)
}

/// The workspace at `path`, where the rules of the bubble's own hold.
fn checkout_workspace(repo: &Repo, like: &Worktree, path: PathBuf, git_dir: PathBuf) -> Worktree {
    Worktree { path, git_dir, common_dir: repo.common_dir.clone(), ..like.clone() }
}

/// Returns where the checkout of a bubble is, if it has one.
pub(super) fn checkout_path(root: &Path, id: &BubbleId) -> PathBuf {
    LogFiles::of::<BubbleState>(&root.join(".pairflow"), id).worktree().with_file_name(format!("{CHECKS_PREFIX}{id}"))
}

/// Returns where the agents of a bubble write acceptance tests: beside the worktree, so that no snapshot contains them.
pub fn scratch_path(root: &Path, id: &BubbleId) -> PathBuf {
    checkout_path(root, id).with_file_name(format!("{ACCEPTANCE_PREFIX}{id}"))
}

/// Makes the directory for acceptance tests, if it is missing. What an earlier turn wrote there stays.
pub fn make_scratch(root: &Path, id: &BubbleId) -> Result<(), WorkspaceError> {
    let path = scratch_path(root, id);
    let is_dir = || std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
    let made = std::fs::DirBuilder::new().recursive(false).mode(0o700).create(&path);
    match made {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && is_dir() => Ok(()),
        made => made.map_err(WorkspaceError::io("make", &path)),
    }
}

/// Removes the directory for acceptance tests of a bubble that needs it no more. It is no error to have none.
pub fn remove_scratch(root: &Path, id: &BubbleId) -> Result<(), WorkspaceError> {
    remove_dir(&scratch_path(root, id))
}

/// Makes a new checkout, and returns its git directory.
fn make(repo: &Repo, path: &Path, commit: &CommitId) -> Result<PathBuf, WorkspaceError> {
    let _lock = lock_worktrees(repo)?;
    remove_worktree(repo, path)?;
    let call = GitCall::new(["worktree", "add", "--quiet", "--detach"]).arg(path).arg(&commit.0);
    repo.git().run(call.whole().within(CHECKOUT)).inspect_err(|_| {
        // What stays behind is removed by the next attempt.
        let _ = remove_worktree(repo, path);
    })?;
    worktree_git_dir(repo, path)
}

/// Whether an entry of `ls-tree` is a submodule, or a file that says what has to be installed.
fn is_manifest(entry: &[u8]) -> bool {
    let Some((what, path)) = std::str::from_utf8(entry).ok().and_then(|entry| entry.split_once('\t')) else {
        return false;
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let listed = name.starts_with("requirements") && name.ends_with(".txt");
    what.starts_with("160000 ") || listed || MANIFESTS.split(' ').any(|manifest| manifest == name)
}

const SCRATCH_PREFIX: &str = ".scratch-";

/// A detached worktree; it is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    repo: Repo,
    path: PathBuf,
    included: Vec<String>,
}

impl Scratch {
    /// Checks `commit` out beside the bubbles of `repo`, with the files that `.worktreeinclude` names.
    pub fn new(repo: &Repo, commit: &CommitId) -> Result<Self, WorkspaceError> {
        let dir = worktrees_dir(repo);
        let lock = lock_worktrees(repo)?;
        sweep(repo, &dir);
        let path = dir.join(format!("{SCRATCH_PREFIX}{}-{}", std::process::id(), regular::unique()));
        let call = GitCall::new(["worktree", "add", "--quiet", "--detach"]).arg(&path).arg(&commit.0);
        let added = repo.git().run(call.whole().within(Duration::from_secs(600)));
        if let Err(error) = added {
            remove_worktree(repo, &path)?;
            return Err(error.into());
        }
        // Dropping a scratch takes the lock, so it may exist only once the lock is free.
        drop(lock);
        let mut scratch = Self { repo: repo.clone(), path, included: Vec::new() };
        scratch.included = copy_included(repo, &scratch.path)?;
        Ok(scratch)
    }

    /// Returns the root of its files.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lock = lock_worktrees(&self.repo);
        // What stays behind is swept by the next one.
        let _ = remove_worktree(&self.repo, &self.path);
        drop(lock);
    }
}

/// Removes what processes left behind that were killed.
fn sweep(repo: &Repo, dir: &Path) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let pid = name.strip_prefix(SCRATCH_PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
        let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { continue };
        let gone = rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
        if gone {
            // One that resists is tried again by the next sweep.
            let _ = remove_worktree(repo, &path);
        }
    }
}
