//! A repository: where it is, its branches, HEAD and refs, and how pairflow's own files are kept out of it.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::safe::steers;
use pairflow_core::text::distance;

use super::{Git, GitCall, GitError, GitOutput};
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
    /// Finds the repository of `path`, from any of its worktrees, and checks that a bubble can be created in it.
    pub fn discover(path: &Path) -> Result<Self, GitError> {
        let repo = Self::locate(path)?;
        let git = repo.git();
        let bare = GitCall::new(["config", "--type=bool", "--get", "core.bare"]).unpinned_config().accept(&[0, 1]);
        if git.run(bare)?.line()? == "true" {
            return Err(GitError::Bare(repo.common_dir));
        }
        let branch = || git.run(GitCall::new(["for-each-ref", "--count=1", "--format=%(objectname)", "refs/heads"]));
        if !repo.is_on_commit() && branch()?.stdout.is_empty() && resolve(&git, "HEAD")?.is_none() {
            return Err(GitError::Empty(repo.root));
        }
        Ok(repo)
    }

    /// Fails for a repository in which bubbles would not work.
    pub fn insist_on_usable(&self) -> Result<(), GitError> {
        insist_on_plain_path(&self.root)?;
        insist_on_plain_path(&self.common_dir)?;
        let reftable = self.common_dir.join("reftable").exists();
        if reftable { Err(GitError::Reftable(self.root.clone())) } else { Ok(()) }
    }

    /// Whether the checkout is on a branch with a loose ref, as it mostly is; found without git.
    fn is_on_commit(&self) -> bool {
        let GitHead::Branch(name) = head(&self.git_dir) else { return false };
        self.common_dir.join("refs/heads").join(name).is_file()
    }

    /// Finds the repository of `path` without running git; it may be empty.
    pub fn locate(path: &Path) -> Result<Self, GitError> {
        let start = path.canonicalize().map_err(GitError::io("open", path))?;
        for dir in start.ancestors() {
            if is_git_dir(dir) {
                let inside = dir.file_name().is_some_and(|name| name == ".git");
                return if inside { Self::from(dir, dir) } else { Err(GitError::Bare(dir.into())) };
            }
            let dot_git = dir.join(".git");
            if is_git_dir(&dot_git) {
                return Self::from(&dot_git, &dot_git);
            }
            if let Some(git_dir) = linked(&dot_git).filter(|git_dir| is_git_dir(git_dir)) {
                return Self::from(&git_dir, &dot_git);
            }
        }
        Err(GitError::NotARepository(start))
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
        let root = root.ok_or_else(|| GitError::NoMainCheckout(common_dir.clone()))?;
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
            GitHead::Branch(name) => Some(name),
            GitHead::Detached(_) | GitHead::Missing => None,
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
        std::fs::create_dir_all(&own).map_err(GitError::io("create", &own))?;
        let file = own.join(".gitignore");
        if file.symlink_metadata().is_ok() {
            return Ok(());
        }
        regular::replace(&file, b"*\n").map_err(GitError::io("write", &file))
    }
}

/// Fails for a path that cannot be shown on a terminal and recorded as text unchanged.
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
/// A link may point anywhere: it is left alone, and the result is false.
pub fn exclude_own_files(common_dir: &Path) -> Result<bool, GitError> {
    let info = common_dir.join("info");
    std::fs::create_dir_all(&info).map_err(GitError::io("create", &info))?;
    let file = info.join("exclude");
    if [&info, &file].iter().any(|path| path.is_symlink()) {
        return Ok(false);
    }
    let read = regular::optional(regular::read(&file)).map_err(GitError::io("read", &file))?;
    let mut lines = read.unwrap_or_default();
    if lines.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == EXCLUDED.as_bytes()) {
        return Ok(true);
    }
    if !lines.is_empty() && !lines.ends_with(b"\n") {
        lines.push(b'\n');
    }
    lines.extend_from_slice(EXCLUDED.as_bytes());
    lines.push(b'\n');
    regular::replace(&file, &lines).map_err(GitError::io("write", &file))?;
    Ok(true)
}

/// Returns the commit of a ref or name; nothing if there is none.
pub(crate) fn resolve(git: &Git, name: &str) -> Result<Option<CommitId>, GitError> {
    find_object(git, &format!("{name}^{{commit}}"))?.map(|found| found.commit()).transpose()
}

/// Looks up the object of a ref or name; nothing if there is none.
pub(super) fn find_object(git: &Git, name: &str) -> Result<Option<GitOutput>, GitError> {
    let call = GitCall::new(["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
    let answer = git.run(call.accept(&[0, 1, 128]))?;
    Ok((answer.code == 0).then_some(answer))
}

/// Returns the tree of a commit.
pub(crate) fn tree_of(git: &Git, commit: &CommitId) -> Result<TreeId, GitError> {
    git.run(GitCall::new(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]))?.tree()
}

/// Fetches refs from the repository at `from`.
pub(crate) fn fetch(git: &Git, from: &Path, refs: String) -> Result<(), GitError> {
    let call = GitCall::new(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
    // A remote of that name in the configuration could name another program for the other side.
    let call = call.arg("--no-recurse-submodules").arg("--upload-pack=git-upload-pack").arg("--");
    git.run(call.arg(from).arg(refs).durable()).map(drop)
}

/// Changes refs in one transaction; `changes` are lines of `git update-ref --stdin`.
pub(crate) fn update_refs(git: &Git, changes: &str) -> Result<(), GitError> {
    let input = format!("start\n{changes}prepare\ncommit\n");
    git.run(GitCall::new(["update-ref", "--stdin"]).input(input).durable()).map(drop)
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
    let get = |key: &str| git.run(GitCall::new(["config", "--get", key]).unpinned_config().accept(&[0, 1]))?.line();
    if get("core.bare")? == "true" {
        return Err(GitError::Bare(common_dir.to_owned()));
    }
    let root = get("core.worktree")?;
    Ok(if root.is_empty() { None } else { common_dir.join(root).canonicalize().ok() })
}

fn branches(git: &Git) -> Result<Vec<String>, GitError> {
    let listed = git.run(GitCall::new(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"]))?;
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
    let answer = git.run(GitCall::new(["merge-base", "--is-ancestor", &old.0, &new.0]).accept(&[0, 1]))?;
    Ok(answer.code == 0)
}

/// The HEAD of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHead {
    /// It is on this branch.
    Branch(String),
    /// It is on a commit and on no branch.
    Detached(CommitId),
    /// There is no HEAD, or it cannot be understood.
    Missing,
}

/// Reads the HEAD in a git directory, without running git.
pub fn head(git_dir: &Path) -> GitHead {
    let Ok(text) = crate::regular::read_text(&git_dir.join("HEAD")) else { return GitHead::Missing };
    let text = text.trim_end();
    if let Some(branch) = text.strip_prefix("ref: refs/heads/") {
        return GitHead::Branch(branch.to_owned());
    }
    commit_id(text).map_or(GitHead::Missing, GitHead::Detached)
}

/// Returns the tip of a branch that has a file of its own; nothing if git keeps the branch elsewhere, such as in
/// `packed-refs`.
pub fn loose_tip(common_dir: &Path, branch: &str) -> Option<CommitId> {
    let text = crate::regular::read_text(&common_dir.join("refs/heads").join(branch)).ok()?;
    commit_id(text.trim_end())
}

fn commit_id(text: &str) -> Option<CommitId> {
    let hex = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| CommitId(text.to_owned()))
}

/// The author of a seeded repository.
const IDENTITY: (&str, &str) = ("Demo", "demo@example.org");

/// Makes a repository for the demo at `root`, an empty directory, with `files` committed on `main`.
///
/// The person's own configuration is not used: no template, no hook, no signature.
pub fn seed(root: &Path, files: &[(&str, &str)], message: &str) -> Result<Repo, GitError> {
    for (name, text) in files {
        let path = root.join(name);
        crate::regular::write(&path, text).map_err(GitError::io("write", &path))?;
    }
    Git::outside_repository()
        .run(GitCall::new(["init", "--quiet", "--template=", "--initial-branch=main", "--"]).arg(root))?;
    let repo = Repo::locate(root)?;
    let git = repo.git();
    let (name, email) = IDENTITY;
    for (key, value) in [("user.name", name), ("user.email", email), ("commit.gpgSign", "false")] {
        git.run(GitCall::new(["config", key, value]))?;
    }
    git.run(GitCall::new(["add", "--all"]))?;
    git.run(GitCall::new(["commit", "--quiet", "--message", message]))?;
    Ok(repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeded_repository_has_its_files_in_one_commit_on_main() {
        let dir = tempfile::tempdir().unwrap();
        let repo = seed(dir.path(), &[("a.txt", "a\n"), ("b.sh", "b\n")], "first").unwrap();
        assert_eq!(repo.current_branch().as_deref(), Some("main"));
        let git = repo.git();
        let log = git.run(GitCall::new(["log", "--format=%an %ae %s", "--name-only"])).unwrap();
        assert_eq!(String::from_utf8(log.stdout).unwrap(), "Demo demo@example.org first\n\na.txt\nb.sh\n");
        assert!(git.run(GitCall::new(["status", "--porcelain"])).unwrap().stdout.is_empty());
    }

    #[test]
    fn the_tip_of_a_branch_is_read_from_its_file_and_not_from_packed_refs() {
        let dir = tempfile::tempdir().unwrap();
        let repo = seed(dir.path(), &[("a.txt", "a\n")], "first").unwrap();
        let git = repo.git();
        let tip = loose_tip(&repo.common_dir, "main");
        assert!(tip.is_some() && tip == resolve(&git, "refs/heads/main").unwrap());
        assert_eq!(loose_tip(&repo.common_dir, "other"), None);
        git.run(GitCall::new(["pack-refs", "--all"])).unwrap();
        assert_eq!(loose_tip(&repo.common_dir, "main"), None);
    }
}
