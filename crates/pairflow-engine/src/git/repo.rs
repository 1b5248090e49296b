//! Where a repository is, which branches it has, and how pairflow's own files are kept out of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use pairflow_core::ids::CommitId;
use pairflow_core::safe::steers;
use pairflow_core::text::distance;

use super::error::GitError;
use super::head::{Head, head};
use super::run::{Call, Git};
use crate::regular;

const EXCLUDED: &str = ".pairflow/";

/// A repository with files and at least one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// The root of its main checkout.
    pub root: PathBuf,
    /// The git directory that all its worktrees share.
    pub common_dir: PathBuf,
    /// The git directory of the checkout that it was found from.
    pub git_dir: PathBuf,
    /// The name of its directory.
    pub name: String,
}

impl Repo {
    /// Finds the repository that `path` lies in, from any of its worktrees, and makes sure that a bubble can be cut
    /// from it.
    pub fn discover(path: &Path) -> Result<Self, GitError> {
        let repo = Self::locate(path)?;
        let git = repo.git();
        let bare = Call::new(["config", "--type=bool", "--get", "core.bare"]).raw_config().accept(&[0, 1]);
        if git.run(bare)?.line()? == "true" {
            return Err(GitError::Bare { path: repo.common_dir });
        }
        let branch = || git.run(Call::new(["for-each-ref", "--count=1", "--format=%(objectname)", "refs/heads"]));
        if !repo.is_on_commit() && branch()?.stdout.is_empty() && resolve(&git, "HEAD")?.is_none() {
            return Err(GitError::Empty { path: repo.root });
        }
        Ok(repo)
    }

    /// Refuses a repository in which a bubble could be made, but would not work.
    pub fn insist_on_usable(&self) -> Result<(), GitError> {
        insist_on_plain_path(&self.root)?;
        insist_on_plain_path(&self.common_dir)?;
        let reftable = self.common_dir.join("reftable").exists();
        if reftable { Err(GitError::Reftable { path: self.root.clone() }) } else { Ok(()) }
    }

    /// Whether the checkout is on a branch that a file of its own names, as it mostly is: found out without git.
    fn is_on_commit(&self) -> bool {
        let Head::Branch(name) = head(&self.git_dir) else { return false };
        self.common_dir.join("refs/heads").join(name).is_file()
    }

    /// Finds the repository that `path` lies in by looking at files only; it may still be empty.
    pub fn locate(path: &Path) -> Result<Self, GitError> {
        let start = path.canonicalize().map_err(|source| GitError::io("open", path, source))?;
        for dir in start.ancestors() {
            if is_git_dir(dir) {
                let inside = dir.file_name().is_some_and(|name| name == ".git");
                return if inside { Self::from(dir, dir) } else { Err(GitError::Bare { path: dir.into() }) };
            }
            let dot_git = dir.join(".git");
            if is_git_dir(&dot_git) {
                return Self::from(&dot_git, &dot_git);
            }
            if let Some(git_dir) = linked(&dot_git).filter(|git_dir| is_git_dir(git_dir)) {
                return Self::from(&git_dir, &dot_git);
            }
        }
        Err(GitError::NotARepository { path: start })
    }

    fn from(git_dir: &Path, dot_git: &Path) -> Result<Self, GitError> {
        let common_dir = common_dir_of(git_dir);
        let of_dot_git = |path: &Path| path.parent().map(Path::to_owned);
        let root = if common_dir.ends_with(".git") {
            of_dot_git(&common_dir)
        } else if common_dir == git_dir {
            of_dot_git(dot_git)
        } else {
            configured_root(&common_dir)?
        };
        let root = root.ok_or_else(|| GitError::NoMainCheckout { path: common_dir.clone() })?;
        let name = root.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
        Ok(Self { root, common_dir, git_dir: git_dir.to_owned(), name })
    }

    /// Returns git, pinned to the main checkout.
    pub fn git(&self) -> Git {
        Git::at(&self.common_dir, &self.common_dir, &self.root)
    }

    /// Returns the branch of the checkout that the repository was found from; nothing if it is on none.
    pub fn current_branch(&self) -> Option<String> {
        match head(&self.git_dir) {
            Head::Branch(name) => Some(name),
            Head::Detached(_) | Head::Missing => None,
        }
    }

    /// Returns the commit that a local branch points to.
    pub fn resolve_branch(&self, name: &str) -> Result<CommitId, GitError> {
        let git = self.git();
        match resolve(&git, &format!("refs/heads/{name}"))? {
            Some(commit) => Ok(commit),
            None => Err(GitError::UnknownBranch { name: name.to_owned(), near: near(&git, name)? }),
        }
    }

    /// Returns the local branches.
    pub fn branches(&self) -> Result<Vec<String>, GitError> {
        branches(&self.git())
    }

    /// Keeps pairflow's own files out of the person's history, in this repository and all its worktrees.
    pub fn exclude(&self) -> Result<(), GitError> {
        if exclude_own_files(&self.common_dir)? {
            return Ok(());
        }
        let own = self.root.join(".pairflow");
        std::fs::create_dir_all(&own).map_err(|source| GitError::io("create", &own, source))?;
        let file = own.join(".gitignore");
        if file.symlink_metadata().is_ok() {
            return Ok(());
        }
        replace(&file, b"*\n").map_err(|source| GitError::io("write", &file, source))
    }
}

/// Refuses a path that cannot be shown on a terminal and recorded as text without becoming another one.
pub fn insist_on_plain_path(path: &Path) -> Result<(), GitError> {
    let why = match path.to_str() {
        None => "is not UTF-8",
        Some(text) if text.contains(|c: char| c.is_control() || steers(c)) => "has control or invisible characters",
        Some(_) => return Ok(()),
    };
    Err(GitError::OddPath { path: path.to_owned(), why })
}

/// Adds pairflow's directory to `info/exclude` of a git directory, once; other lines stay as they are.
///
/// A link is somebody else's file: it is left alone, and the answer is false.
pub fn exclude_own_files(common_dir: &Path) -> Result<bool, GitError> {
    let info = common_dir.join("info");
    std::fs::create_dir_all(&info).map_err(|source| GitError::io("create", &info, source))?;
    let file = info.join("exclude");
    if [&info, &file].iter().any(|path| path.is_symlink()) {
        return Ok(false);
    }
    let mut lines = match regular::read(&file) {
        Ok(lines) => lines,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(GitError::io("read", &file, source)),
    };
    if lines.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == EXCLUDED.as_bytes()) {
        return Ok(true);
    }
    if !lines.is_empty() && !lines.ends_with(b"\n") {
        lines.push(b'\n');
    }
    lines.extend_from_slice(EXCLUDED.as_bytes());
    lines.push(b'\n');
    replace(&file, &lines).map_err(|source| GitError::io("write", &file, source))?;
    Ok(true)
}

/// Replaces a file in one step, so that a reader sees the old or the new content.
pub(crate) fn replace(file: &Path, content: &[u8]) -> std::io::Result<()> {
    let name = format!(".{}.{}", std::process::id(), unique());
    let mut fresh = file.as_os_str().to_owned();
    fresh.push(name);
    let fresh = PathBuf::from(fresh);
    let mut out = regular::create_new(&fresh, 0o666)?;
    let written = out.write_all(content).and_then(|()| out.sync_all()).and_then(|()| std::fs::rename(&fresh, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// Returns a number that this process has not had before.
pub(crate) fn unique() -> u64 {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Returns the commit that `name` stands for, or nothing if there is none.
pub(crate) fn resolve(git: &Git, name: &str) -> Result<Option<CommitId>, GitError> {
    let call = Call::new(["rev-parse", "--verify", "--quiet", "--end-of-options"]).arg(format!("{name}^{{commit}}"));
    let answer = git.run(call.accept(&[0, 1, 128]))?;
    if answer.code == 0 { answer.commit().map(Some) } else { Ok(None) }
}

/// Returns the git directory that a `.git` file names.
pub(crate) fn linked(dot_git: &Path) -> Option<PathBuf> {
    let text = regular::read_text(dot_git).ok()?;
    let named = text.trim_end().strip_prefix("gitdir: ")?;
    dot_git.parent()?.join(named).canonicalize().ok()
}

fn is_git_dir(dir: &Path) -> bool {
    let whole = dir.join("objects").is_dir() && dir.join("refs").is_dir();
    dir.join("HEAD").is_file() && (whole || dir.join("commondir").is_file())
}

fn common_dir_of(git_dir: &Path) -> PathBuf {
    let named = regular::read_text(&git_dir.join("commondir")).ok();
    let common = named.and_then(|named| git_dir.join(named.trim_end()).canonicalize().ok());
    common.unwrap_or_else(|| git_dir.to_owned())
}

/// Asks a git directory that is not called `.git` where its main checkout is.
fn configured_root(common_dir: &Path) -> Result<Option<PathBuf>, GitError> {
    let git = Git::at(common_dir, common_dir, common_dir);
    let get = |key: &str| git.run(Call::new(["config", "--get", key]).raw_config().accept(&[0, 1]))?.line();
    if get("core.bare")? == "true" {
        return Err(GitError::Bare { path: common_dir.to_owned() });
    }
    let root = get("core.worktree")?;
    Ok(if root.is_empty() { None } else { common_dir.join(root).canonicalize().ok() })
}

fn branches(git: &Git) -> Result<Vec<String>, GitError> {
    let listed = git.run(Call::new(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"]))?;
    Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
}

/// Returns up to three branches whose names resemble `name` most.
fn near(git: &Git, name: &str) -> Result<Vec<String>, GitError> {
    let mut all: Vec<(usize, String)> =
        branches(git)?.into_iter().map(|branch| (distance(name, &branch), branch)).collect();
    all.sort();
    Ok(all.into_iter().take(3).map(|(_, branch)| branch).collect())
}

/// Whether `old` is in the history of `new`.
pub fn is_ancestor(git: &Git, old: &CommitId, new: &CommitId) -> Result<bool, GitError> {
    let answer = git.run(Call::new(["merge-base", "--is-ancestor", &old.0, &new.0]).accept(&[0, 1]))?;
    Ok(answer.code == 0)
}
