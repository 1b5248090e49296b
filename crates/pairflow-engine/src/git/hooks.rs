//! The repository's own hooks that have a say in a commit: which there are, and which may run.
//!
//! Hooks that are files of the repository are taken from the base, so that the work under review does not judge itself.
//! Hooks elsewhere lie where agents can write, so they run only as they were recorded, from a private copy of the bytes
//! that were checked.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use pairflow_core::hash::sha256;
use pairflow_core::ids::TreeId;
use pairflow_core::log::{HookFile, Hooks};

use super::diff::changes;
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

/// Returns the hooks of a repository as they are now; nothing if there are too many files to look at. They lie in the
/// usual place unless a setting says so (`elsewhere`).
pub(super) fn hooks(repo: &Repo, elsewhere: bool) -> Result<Option<Hooks>, GitError> {
    let dir = if elsewhere { hooks_dir(repo)? } else { repo.common_dir.join("hooks") };
    if !dir.starts_with(&repo.common_dir)
        && let Ok(inside) = dir.strip_prefix(&repo.root)
    {
        return Ok(Some(Hooks::Base { path: inside.to_string_lossy().into_owned() }));
    }
    // Seen from the root it stays the same when the repository is moved.
    let path = dir.strip_prefix(&repo.root).unwrap_or(&dir).to_string_lossy().into_owned();
    Ok(Found::below(&dir, None)?.map(|files| Hooks::Directory { path, files }))
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
    let git = workspace.git();
    let base = git.run(Call::new(["rev-parse", "--verify", &format!("{}^{{tree}}", workspace.base)]))?.tree()?;
    let changed = changes(&git, &base, tree)?.into_iter().map(|change| change.path);
    Ok(changed.filter(|name| Path::new(name).starts_with(path)).collect())
}

/// A private directory with hooks that may run. It is removed with this value.
pub(super) struct Runnable {
    /// The directory.
    pub(super) dir: PathBuf,
}

impl Runnable {
    /// Makes the recorded hooks ready to run, or says why they do not run.
    pub(super) fn of(workspace: &Workspace, recorded: Option<&Hooks>) -> Result<Self, GitError> {
        let Some(recorded) = recorded else {
            return Err(GitError::HooksUnknown { id: workspace.id.clone() });
        };
        let made = Self::empty(workspace)?;
        match recorded {
            Hooks::Base { path } => made.check_out_base(workspace, path)?,
            Hooks::Directory { path, .. } => made.copy_unchanged(workspace, path, recorded)?,
        }
        Ok(made)
    }

    /// Makes a directory that only this user can read.
    fn empty(workspace: &Workspace) -> Result<Self, GitError> {
        let runtime = workspace.runtime_dir();
        let dir = runtime.join(format!("hooks.{}.{}", std::process::id(), unique()));
        let make = || {
            std::fs::create_dir_all(&runtime)?;
            DirBuilder::new().mode(0o700).create(&dir)
        };
        make().map_err(|source| GitError::io("create", &dir, source))?;
        Ok(Self { dir })
    }

    /// Copies the hooks of a directory, and fails unless each copied file is as recorded.
    fn copy_unchanged(&self, workspace: &Workspace, path: &str, recorded: &Hooks) -> Result<(), GitError> {
        let dir = workspace.root.join(path);
        // The copies are compared, not the files: those can be replaced between the comparison and the run.
        let files = Found::below(&dir, Some(&self.dir))?;
        let now = files.map(|files| Hooks::Directory { path: path.to_owned(), files });
        let changed = now.as_ref().map_or_else(Vec::new, |now| recorded.changed(now));
        if now.is_some() && changed.is_empty() {
            return Ok(());
        }
        Err(GitError::HooksChanged { id: workspace.id.clone(), dir, files: changed })
    }

    /// Checks the hooks of the base out.
    fn check_out_base(&self, workspace: &Workspace, path: &str) -> Result<(), GitError> {
        let git = workspace.git();
        let tree = Call::new(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        let tree = git.run(tree.arg(format!("{}:{path}", workspace.base)).accept(&[0, 1, 128]))?;
        if tree.code == 0 {
            check_out(&git, &tree.tree()?, &self.dir)?;
        }
        let runs = executable(&self.dir);
        let missing: Vec<_> =
            executable(&workspace.path.join(path)).into_iter().filter(|hook| !runs.contains(hook)).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(GitError::HooksNotOnBase { path: path.to_owned(), hooks: missing })
        }
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        // What stays behind is removed with the bubble.
        let _ = std::fs::remove_dir_all(&self.dir);
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

/// The files of a directory of hooks, found and copied so far.
struct Found<'a> {
    files: BTreeMap<String, HookFile>,
    bytes: u64,
    copy: Option<&'a Path>,
}

impl<'a> Found<'a> {
    /// Returns the files below `dir`, copied to `copy` if that is given; nothing if not all of them can be read.
    ///
    /// A directory without any hook for commits counts as empty.
    fn below(dir: &Path, copy: Option<&'a Path>) -> Result<Option<BTreeMap<String, HookFile>>, GitError> {
        let mut found = Self { files: BTreeMap::new(), bytes: 0, copy };
        let there = COMMIT_HOOKS.iter().any(|hook| dir.join(hook).exists());
        Ok((!there || found.look(dir, "", 0)?).then_some(found.files))
    }

    /// Adds the files below `dir`. Returns whether all of them could be read.
    fn look(&mut self, dir: &Path, below: &str, depth: usize) -> Result<bool, GitError> {
        let Ok(entries) = std::fs::read_dir(dir) else { return Ok(false) };
        if depth >= DEEPEST {
            return Ok(false);
        }
        for entry in entries {
            let Ok(entry) = entry else { return Ok(false) };
            if !self.add(&entry, below, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, entry: &std::fs::DirEntry, below: &str, depth: usize) -> Result<bool, GitError> {
        let Ok(name) = entry.file_name().into_string() else { return Ok(false) };
        if name.ends_with(".sample") {
            return Ok(true);
        }
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let Ok(known) = entry.path().metadata() else { return Ok(false) };
        if known.is_dir() {
            self.put(&name, |path| DirBuilder::new().mode(0o700).create(path))?;
            return self.look(&entry.path(), &name, depth + 1);
        }
        if self.files.len() >= MOST_FILES {
            return Ok(false);
        }
        let Ok(content) = crate::regular::read_up_to(&entry.path(), MOST_BYTES - self.bytes) else { return Ok(false) };
        self.bytes += content.len() as u64;
        let executable = known.permissions().mode() & 0o111 != 0;
        let mode = if executable { 0o700 } else { 0o600 };
        self.put(&name, |path| crate::regular::create_new(path, mode)?.write_all(&content))?;
        self.files.insert(name, HookFile { sha256: sha256(&content), executable });
        Ok(true)
    }

    /// Makes the copy of `name`, if copies are made.
    fn put(&self, name: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), GitError> {
        let Some(path) = self.copy.map(|copy| copy.join(name)) else { return Ok(()) };
        make(&path).map_err(|source| GitError::io("create", &path, source))
    }
}
