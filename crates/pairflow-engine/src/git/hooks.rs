//! The repository's own hooks that have a say in a commit: which there are, and which may run.
//!
//! Hooks that are files of the repository are taken from the base, so that the work under review does not judge itself.
//! Hooks elsewhere lie where agents can write, so they run only as they were recorded.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use pairflow_core::hash::sha256;
use pairflow_core::ids::TreeId;
use pairflow_core::log::{HookFile, Hooks};

use super::error::GitError;
use super::repo::{Repo, unique};
use super::run::{Call, Git};
use super::workspace::Workspace;

/// The hooks that have a say in a commit, in the order in which they run.
pub(super) const COMMIT_HOOKS: [&str; 2] = ["pre-commit", "commit-msg"];
/// The most files that a directory of hooks may have.
const MOST_FILES: usize = 200;
/// The most bytes that they may have in all.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How deep directories among them may lie.
const DEEPEST: usize = 4;

/// Returns the hooks of a repository as they are now; nothing if there are too many files to look at.
pub(super) fn hooks(repo: &Repo) -> Result<Option<Hooks>, GitError> {
    let dir = hooks_dir(repo)?;
    if !dir.starts_with(&repo.common_dir)
        && let Ok(inside) = dir.strip_prefix(&repo.root)
    {
        return Ok(Some(Hooks::Base { path: inside.to_string_lossy().into_owned() }));
    }
    // Seen from the root it stays the same when the repository is moved.
    let path = dir.strip_prefix(&repo.root).unwrap_or(&dir).to_string_lossy().into_owned();
    if !COMMIT_HOOKS.iter().any(|hook| dir.join(hook).exists()) {
        return Ok(Some(Hooks::Directory { path, files: BTreeMap::new() }));
    }
    let mut found = Found::default();
    Ok(found.look(&dir, "", 0).then_some(Hooks::Directory { path, files: found.files }))
}

/// Returns the hooks that have a say in a commit and lie in a bubble's worktree or repository.
pub fn commit_hooks(workspace: &Workspace) -> Result<Vec<&'static str>, GitError> {
    let repo = workspace.repo()?;
    let dir = hooks_dir(&repo)?;
    let inside = dir.strip_prefix(&repo.root).ok().filter(|_| !dir.starts_with(&repo.common_dir));
    let dir = inside.map_or_else(|| dir.clone(), |inside| workspace.path.join(inside));
    Ok(executable(&dir))
}

/// Names the hooks that the work changes; those of the base are run nevertheless.
pub fn hooks_changed_by_work(workspace: &Workspace, hooks: &Hooks, tree: &TreeId) -> Result<Vec<String>, GitError> {
    let Hooks::Base { path } = hooks else { return Ok(Vec::new()) };
    let base = format!("{}^{{tree}}", workspace.base);
    let call = Call::new(["diff-tree", "-r", "-z", "--name-only", "--no-renames", &base, &tree.0, "--"]);
    let call = if path.is_empty() { call } else { call.arg(path) };
    let changed = workspace.git().run(call)?;
    Ok(changed.parts().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// A directory with hooks that may run. One that was made for that goes away with it.
pub(super) struct Runnable {
    /// The directory.
    pub(super) dir: PathBuf,
    made: bool,
}

impl Runnable {
    /// Makes the recorded hooks ready to run, or says why they do not run.
    pub(super) fn of(workspace: &Workspace, recorded: Option<&Hooks>) -> Result<Self, GitError> {
        let id = workspace.id.clone();
        match recorded {
            None => Err(GitError::HooksUnknown { id }),
            Some(Hooks::Base { path }) => Self::of_base(workspace, path),
            Some(hooks @ Hooks::Directory { path, .. }) => {
                let dir = workspace.root.join(path);
                let mut found = Found::default();
                let whole = found.look(&dir, "", 0);
                let there = COMMIT_HOOKS.iter().any(|hook| dir.join(hook).exists());
                let files = if there { found.files } else { BTreeMap::new() };
                let files = hooks.changed(&Hooks::Directory { path: path.clone(), files });
                if whole && files.is_empty() {
                    Ok(Self { dir, made: false })
                } else {
                    Err(GitError::HooksChanged { id, dir, files })
                }
            }
        }
    }

    /// Checks the hooks of the base out to a directory of pairflow's own.
    fn of_base(workspace: &Workspace, path: &str) -> Result<Self, GitError> {
        let git = workspace.git();
        let runtime = workspace.runtime_dir();
        let dir = runtime.join(format!("hooks.{}.{}", std::process::id(), unique()));
        std::fs::create_dir_all(&dir).map_err(|source| GitError::io("create", &dir, source))?;
        let made = Self { dir, made: true };
        let tree = Call::new(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        let tree = git.run(tree.arg(format!("{}:{path}", workspace.base)).accept(&[0, 1, 128]))?;
        if tree.code == 0 {
            check_out(&git, &tree.tree()?, &made.dir)?;
        }
        let runs = executable(&made.dir);
        let missing: Vec<_> =
            executable(&workspace.path.join(path)).into_iter().filter(|hook| !runs.contains(hook)).collect();
        if missing.is_empty() {
            Ok(made)
        } else {
            Err(GitError::HooksNotOnBase { path: path.to_owned(), hooks: missing })
        }
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        if self.made {
            // What stays behind is removed with the bubble.
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// Writes the files of a tree below `dir`.
fn check_out(git: &Git, tree: &TreeId, dir: &Path) -> Result<(), GitError> {
    if git.run(Call::new(["cat-file", "-t", &tree.0]))?.line()? != "tree" {
        return Ok(());
    }
    let index = dir.with_extension("index");
    let mut prefix = std::ffi::OsString::from("--prefix=");
    prefix.push(dir);
    prefix.push("/");
    let read = git.run(Call::new(["read-tree", &tree.0]).index(&index).whole());
    let wrote = read.and_then(|_| git.run(Call::new(["checkout-index", "--all", "--quiet"]).arg(prefix).index(&index)));
    let _ = std::fs::remove_file(index);
    wrote.map(drop)
}

/// Returns where the hooks of a repository lie. A relative path is one inside of the main checkout.
fn hooks_dir(repo: &Repo) -> Result<PathBuf, GitError> {
    let call = Call::new(["config", "--type=path", "--get", "core.hooksPath"]).raw_config().accept(&[0, 1]);
    let configured = repo.git().run(call)?.line()?;
    if configured.is_empty() {
        return Ok(repo.common_dir.join("hooks"));
    }
    let mut dir = PathBuf::new();
    for part in repo.root.join(configured).components() {
        match part {
            Component::ParentDir => drop(dir.pop()),
            Component::CurDir => {}
            other => dir.push(other),
        }
    }
    Ok(dir)
}

fn executable(dir: &Path) -> Vec<&'static str> {
    let runs = |hook: &&str| {
        let found = dir.join(hook).metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    COMMIT_HOOKS.into_iter().filter(runs).collect()
}

/// The files of a directory of hooks.
#[derive(Default)]
struct Found {
    files: BTreeMap<String, HookFile>,
    bytes: u64,
}

impl Found {
    /// Adds the files below `dir`. Returns whether all of them could be read.
    fn look(&mut self, dir: &Path, below: &str, depth: usize) -> bool {
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => return error.kind() == std::io::ErrorKind::NotFound && depth == 0,
        };
        depth < DEEPEST && entries.into_iter().all(|entry| entry.is_ok_and(|entry| self.add(&entry, below, depth)))
    }

    fn add(&mut self, entry: &std::fs::DirEntry, below: &str, depth: usize) -> bool {
        let Ok(name) = entry.file_name().into_string() else { return false };
        if name.ends_with(".sample") {
            return true;
        }
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let Ok(known) = entry.path().metadata() else { return false };
        if known.is_dir() {
            return self.look(&entry.path(), &name, depth + 1);
        }
        self.bytes = self.bytes.saturating_add(known.len());
        // Only of a plain file it is sure that reading it comes to an end.
        if !known.is_file() || self.bytes > MOST_BYTES || self.files.len() >= MOST_FILES {
            return false;
        }
        let Ok(content) = crate::regular::read(&entry.path()) else { return false };
        let executable = known.permissions().mode() & 0o111 != 0;
        self.files.insert(name, HookFile { sha256: sha256(&content), executable });
        true
    }
}
