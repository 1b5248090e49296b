//! The tree that a worktree contains now, how it is kept on a private ref, and how two trees differ.
//!
//! Tracked is what the worktree's own index lists, so `git add -f` and `git rm --cached` work as usual. Content is
//! always read from the files, never from that index: flags such as `assume-unchanged` hide nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pairflow_core::facts::FileChange;
use pairflow_core::ids::{CommitId, TreeId};

use super::repo::find_object;
use super::workspace::{Index, reading_git};
use super::{Git, GitCall, GitError, GitOutput, Worktree, fetch, update_refs};

/// The name of the private ref that keeps the commit of the newest snapshot.
pub(crate) const NEWEST: &str = "newest";

const OWN: &[u8] = b".pairflow";
const GITLINK: &[u8] = b"160000 ";

/// A snapshot that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// The tree.
    pub tree: TreeId,
    /// A commit of it on top of the base.
    pub commit: CommitId,
    /// The ref that holds the tree.
    pub r#ref: String,
}

/// Returns the tree of the worktree: tracked files plus untracked ones that are not ignored.
pub fn observe(workspace: &Worktree) -> Result<TreeId, GitError> {
    let (tree, index) = read_worktree(workspace)?;
    index.keep();
    Ok(tree)
}

/// Whether the file `path` of the tree `now` differs from `before` only in what git converts when it reads a file, such
/// as line ends: it was not edited.
pub(crate) fn is_reread(workspace: &Worktree, (before, now): (&TreeId, &TreeId), path: &str) -> Result<bool, GitError> {
    let git = &reading_git(workspace, &Index::open(workspace)?)?;
    let entry = |tree: &TreeId| -> Result<Option<(String, String)>, GitError> {
        let listed = git.run(GitCall::new(["ls-tree", "-z", &tree.0, "--"]).arg(path))?;
        let words = listed.parts().next().map(|line| String::from_utf8_lossy(line).into_owned());
        let mut words = words.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned);
        Ok(words.next().zip(words.nth(1)))
    };
    let (Some((mode, blob)), Some(found)) = (entry(before)?, entry(now)?) else { return Ok(false) };
    let content = git.run(GitCall::new(["cat-file", "blob", &blob]))?.stdout;
    let read = git.run(GitCall::new(["hash-object", "--stdin", "--path"]).arg(path).input(content))?.line()?;
    Ok(found == (mode, read))
}

/// Keeps the tree of the worktree on `refs/pairflow/<id>/<number>`. The same tree gives the same commit again.
pub fn take(workspace: &Worktree, number: u64) -> Result<KeptSnapshot, GitError> {
    keep(workspace, observe(workspace)?, number)
}

/// Keeps a tree that was observed before on `refs/pairflow/<id>/<number>`, and its commit on `newest` beside it.
///
/// The numbered ref holds the tree itself: git keeps it as it would keep a commit, and `git log --all` does not list it.
pub fn keep(workspace: &Worktree, tree: TreeId, number: u64) -> Result<KeptSnapshot, GitError> {
    let git = workspace.git();
    let commit = commit_of(workspace, &git, &tree)?;
    let (r#ref, newest) = (workspace.private_ref(number), workspace.private_ref(NEWEST));
    update_refs(&git, &format!("update {ref} {tree}\nupdate {newest} {commit}\n", ref = r#ref))?;
    if workspace.is_clone() {
        fetch_from_clone(workspace, &r#ref, &r#ref, &tree.0)?;
        fetch_from_clone(workspace, &newest, &newest, &commit.0)?;
    }
    Ok(KeptSnapshot { tree, commit, r#ref })
}

/// Fetches a ref of a clone into the repository, so that it outlives the clone.
pub(crate) fn fetch_from_clone(workspace: &Worktree, from: &str, to: &str, expected: &str) -> Result<(), GitError> {
    let git = workspace.repo()?.git();
    fetch(&git, &workspace.git_dir, format!("+{from}:{to}"))?;
    // The clone is the agents': what arrived is only trusted if it is what was sent.
    let found = find_object(&git, to)?.map(|found| found.commit()).transpose()?;
    match found {
        Some(found) if found.0 == expected => Ok(()),
        found => Err(GitError::BranchMoved { branch: from.to_owned(), expected: CommitId(expected.to_owned()), found }),
    }
}

/// Makes the commit of a snapshot; it depends on nothing but the tree, the base and the bubble.
pub(super) fn commit_of(workspace: &Worktree, git: &Git, tree: &TreeId) -> Result<CommitId, GitError> {
    own_commit(git, tree, &workspace.base, format!("pairflow: snapshot of {}\n", workspace.id))
}

/// Makes a commit of `tree` with other files laid over it, without touching any directory. `entries` are lines of
/// `ls-tree -z`; a file or link that is in the way of one is replaced. No ref keeps the commit.
pub(crate) fn lay_over(workspace: &Worktree, git: &Git, tree: &TreeId, entries: Vec<u8>) -> Result<CommitId, GitError> {
    if entries.is_empty() {
        return commit_of(workspace, git, tree);
    }
    let dir = workspace.private_dir("overlay-")?;
    let index = dir.path().join("index");
    git.run(GitCall::new(["read-tree", &tree.0]).index(&index).whole())?;
    git.run(GitCall::new(["update-index", "-z", "--index-info"]).input(entries).index(&index))?;
    let tree = git.run(GitCall::new(["write-tree"]).index(&index).durable())?.tree()?;
    commit_of(workspace, git, &tree)
}

/// Makes a commit in pairflow's own name and without a date, so that the same arguments give the same commit.
pub(crate) fn own_commit(git: &Git, tree: &TreeId, parent: &CommitId, message: String) -> Result<CommitId, GitError> {
    let mut call = GitCall::new(["commit-tree", &tree.0, "-p", &parent.0, "-F", "-"]).input(message);
    for (name, value) in [
        ("GIT_AUTHOR_NAME", "pairflow"),
        ("GIT_AUTHOR_EMAIL", "pairflow@localhost"),
        ("GIT_AUTHOR_DATE", "@0 +0000"),
        ("GIT_COMMITTER_NAME", "pairflow"),
        ("GIT_COMMITTER_EMAIL", "pairflow@localhost"),
        ("GIT_COMMITTER_DATE", "@0 +0000"),
    ] {
        call = call.env(name, value);
    }
    git.run(call.durable())?.commit()
}

/// Reads the worktree into an index of its own, and returns it with its tree.
pub(super) fn read_worktree(workspace: &Worktree) -> Result<(TreeId, Index), GitError> {
    workspace.connected()?;
    let mut index = Index::open(workspace)?;
    let git = &reading_git(workspace, &index)?;
    let mut filled = fill_index(workspace, git, &index);
    let stopped = matches!(filled, Err(GitError::TimedOut { .. } | GitError::Blocked { .. }));
    if filled.is_err() && !stopped && index.is_warm() {
        // The cache may be damaged; without it every file is read again. A git that was stopped would hang again.
        index.clear()?;
        filled = fill_index(workspace, git, &index);
    }
    match filled {
        Ok(tree) => Ok((tree, index)),
        Err(error @ GitError::Failed { .. }) => Err(find_unreadable(workspace, git, &index).unwrap_or(error)),
        Err(error) => Err(error),
    }
}

fn fill_index(workspace: &Worktree, git: &Git, index: &Index) -> Result<TreeId, GitError> {
    if !index.is_warm() {
        git.run(GitCall::new(["read-tree", &workspace.base.0]).index(index.path()).whole())?;
    }
    git.run(GitCall::new(["add", "--all"]).index(index.path()).whole().durable())?;
    follow_tracking(workspace, git, index)?;
    let entries = git.run(GitCall::new(["ls-files", "-s", "-z"]).index(index.path()))?;
    follow_submodules(git, index, &entries)?;
    refuse_nested(workspace, git, &entries)?;
    leave_out_own(workspace, git, index, &entries)?;
    git.run(GitCall::new(["write-tree"]).index(index.path()).durable())?.tree()
}

/// A list of files; ignored are those that `git add` passes over.
pub(super) fn listing(args: &[&str]) -> GitCall {
    GitCall::new(["ls-files", "-z", "--exclude-standard"].iter().chain(args))
}

/// Reads the commits of submodules once more: `ignore` in `.gitmodules` can make `git add` pass over them.
fn follow_submodules(git: &Git, index: &Index, entries: &GitOutput) -> Result<(), GitError> {
    let links = joined(entries.parts().filter(|entry| entry.starts_with(GITLINK)).filter_map(path_of));
    if links.is_empty() {
        return Ok(());
    }
    let call = GitCall::new(["update-index", "-z", "--stdin"]).input(links);
    git.run(call.index(index.path()).whole()).map(drop)
}

/// Ignored files belong to the tree if, and only if, the worktree's own index lists them.
fn follow_tracking(workspace: &Worktree, git: &Git, index: &Index) -> Result<(), GitError> {
    if !workspace.index().is_file() {
        return Ok(());
    }
    let ignored = || listing(&["--cached", "--ignored"]);
    let theirs = git.run(ignored().index(&workspace.index()))?;
    let ours = git.run(ignored().index(index.path()))?;
    let set = |output: &GitOutput| output.parts().map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
    let (theirs, ours) = (set(&theirs), set(&ours));
    let dropped = joined(ours.difference(&theirs));
    if !dropped.is_empty() {
        let call = GitCall::new(["update-index", "-z", "--force-remove", "--stdin"]).input(dropped);
        git.run(call.index(index.path()))?;
    }
    let added = joined(theirs.difference(&ours));
    if !added.is_empty() {
        let call = GitCall::new(["update-index", "-z", "--add", "--remove", "--stdin"]).input(added);
        git.run(call.index(index.path()).durable())?;
    }
    Ok(())
}

/// A repository inside the worktree would enter as a bare commit name. Only declared submodules may do that.
fn refuse_nested(workspace: &Worktree, git: &Git, entries: &GitOutput) -> Result<(), GitError> {
    let links: Vec<&[u8]> = entries.parts().filter(|entry| entry.starts_with(GITLINK)).filter_map(path_of).collect();
    if links.is_empty() {
        return Ok(());
    }
    let paths = || links.iter().map(|path| OsStr::from_bytes(path));
    let in_base = paths().fold(GitCall::new(["ls-tree", "-z", &workspace.base.0, "--"]), GitCall::arg);
    let staged = paths().fold(GitCall::new(["ls-files", "-s", "-z", "--"]), GitCall::arg);
    let (in_base, staged) = (git.run(in_base)?, git.run(staged.index(&workspace.index()))?);
    let declared: Vec<&[u8]> =
        in_base.parts().chain(staged.parts()).filter(|entry| entry.starts_with(GITLINK)).filter_map(path_of).collect();
    match links.iter().find(|path| !declared.contains(path)) {
        Some(path) => Err(GitError::NestedRepository(OsStr::from_bytes(path).into())),
        None => Ok(()),
    }
}

/// Keeps pairflow's own files and the ones that were copied in as they are in the base, which is mostly: absent.
fn leave_out_own(workspace: &Worktree, git: &Git, index: &Index, entries: &GitOutput) -> Result<(), GitError> {
    let own = |path: &[u8]| {
        let under = path.strip_prefix(OWN).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        under || workspace.included.iter().any(|included| included.as_bytes() == path)
    };
    let found: Vec<&[u8]> = entries.parts().filter_map(path_of).filter(|path| own(path)).collect();
    if found.is_empty() {
        return Ok(());
    }
    let in_base = GitCall::new(["ls-tree", "-r", "-z", &workspace.base.0, "--", ".pairflow"]);
    let in_base = git.run(workspace.included.iter().fold(in_base, GitCall::arg))?;
    let mut input = Vec::new();
    for path in found {
        input.extend_from_slice(b"0 ");
        input.extend_from_slice("0".repeat(workspace.base.0.len()).as_bytes());
        input.push(b'\t');
        input.extend_from_slice(path);
        input.push(0);
    }
    input.extend_from_slice(&in_base.stdout);
    git.run(GitCall::new(["update-index", "-z", "--index-info"]).input(input).index(index.path())).map(drop)
}

/// Finds the file that kept git from reading the worktree, if there is one.
fn find_unreadable(workspace: &Worktree, git: &Git, index: &Index) -> Option<GitError> {
    let list = |args: &[&str]| git.run(listing(args).index(index.path()));
    let others = list(&["--others", "--directory"]).ok()?;
    let dirs = others.parts().filter(|part| part.ends_with(b"/")).map(|part| PathBuf::from(OsStr::from_bytes(part)));
    if let Some(path) = dirs.into_iter().find_map(|dir| nested(&workspace.path, &dir)) {
        return Some(GitError::NestedRepository(path));
    }
    let files = list(&["--others", "--modified"]).ok()?;
    let denied = |path: &&[u8]| {
        let opened = crate::regular::open(&workspace.path.join(OsStr::from_bytes(path)));
        opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    };
    files.parts().find(denied).map(|path| GitError::Unreadable(OsStr::from_bytes(path).into()))
}

fn nested(root: &Path, dir: &Path) -> Option<PathBuf> {
    let full = root.join(dir);
    if full.join(".git").exists() {
        return Some(dir.to_owned());
    }
    let entries = std::fs::read_dir(full).ok()?.flatten();
    let mut dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    dirs.find_map(|entry| nested(root, &dir.join(entry.file_name())))
}

/// Returns the path of a line of `ls-files -s` or `ls-tree`.
fn path_of(entry: &[u8]) -> Option<&[u8]> {
    entry.iter().position(|byte| *byte == b'\t').map(|at| &entry[at + 1..])
}

fn joined<'a>(paths: impl Iterator<Item = impl AsRef<[u8]> + 'a>) -> Vec<u8> {
    let mut all = Vec::new();
    for path in paths {
        all.extend_from_slice(path.as_ref());
        all.push(0);
    }
    all
}

/// Returns every file that differs between two trees, in git's order. Renames are a deletion and an addition.
pub fn changes(git: &Git, from: &TreeId, to: &TreeId) -> Result<Vec<FileChange>, GitError> {
    if from == to {
        return Ok(Vec::new());
    }
    let answer = difference(git, (from, to), &["-z", "--raw", "--numstat"], &[], None)?;
    let mut found: Vec<FileChange> = Vec::new();
    let mut counted = 0;
    let mut parts = answer.parts();
    while let Some(part) = parts.next() {
        if part.starts_with(b":") {
            let status = part.last().copied().map(char::from).ok_or_else(|| answer.unexpected())?;
            let path = parts.next().ok_or_else(|| answer.unexpected())?;
            found.push(FileChange { path: text(path), status, added: None, removed: None });
        } else {
            let (path, added, removed) = numbers(part).ok_or_else(|| answer.unexpected())?;
            // The counts follow in the order of the files, but not every file needs to have some.
            let later = found[counted..].iter().position(|change| change.path == path);
            counted += later.ok_or_else(|| answer.unexpected())?;
            (found[counted].added, found[counted].removed) = (added, removed);
        }
    }
    Ok(found)
}

/// Whether two changes are the same: the same files, from the same content and mode to the same content and mode.
pub fn same_change(git: &Git, one: (&TreeId, &TreeId), other: (&TreeId, &TreeId)) -> Result<bool, GitError> {
    let raw = |trees| difference(git, trees, &["-z", "--raw", "--no-abbrev"], &[], None).map(|answer| answer.stdout);
    Ok(raw(one)? == raw(other)?)
}

/// Returns the difference as a patch of at most `max_bytes`; a longer one is cut after a whole line, with a note.
pub fn diff_text(git: &Git, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Vec<u8>, GitError> {
    patch(git, (from, to), &AS_PATCH, max_bytes)
}

/// Returns the difference like [`diff_text`], with the content of binary files: a patch that `git apply` takes.
pub fn exact_patch(git: &Git, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Vec<u8>, GitError> {
    patch(git, (from, to), &with(&["--binary"]), max_bytes)
}

/// Returns the difference of the files `paths` as lines of text, whatever their bytes are; at most `max_bytes` of it.
pub fn line_diff(
    git: &Git,
    trees: (&TreeId, &TreeId),
    paths: &[&str],
    max_bytes: usize,
) -> Result<GitOutput, GitError> {
    difference(git, trees, &with(&["--text"]), paths, Some(max_bytes))
}

/// Returns the difference of one file like [`line_diff`], without the lines around it.
pub(crate) fn bare_line_diff(
    git: &Git,
    trees: (&TreeId, &TreeId),
    path: &str,
    max_bytes: usize,
) -> Result<GitOutput, GitError> {
    difference(git, trees, &with(&["--text", "-U0"]), &[path], Some(max_bytes))
}

/// Returns git's summary: a line for each file, and the totals.
pub fn diff_stat(git: &Git, from: &TreeId, to: &TreeId) -> Result<String, GitError> {
    let answer = difference(git, (from, to), &["--stat=100"], &[], None)?;
    Ok(text(&answer.stdout))
}

const AS_PATCH: [&str; 3] = ["-p", "--src-prefix=a/", "--dst-prefix=b/"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    AS_PATCH.iter().chain(more).copied().collect()
}

fn patch(git: &Git, trees: (&TreeId, &TreeId), how: &[&str], max_bytes: usize) -> Result<Vec<u8>, GitError> {
    let mut answer = difference(git, trees, how, &[], Some(max_bytes))?;
    if answer.cut {
        let whole = answer.stdout.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        answer.stdout.truncate(whole);
        let note = format!("[the rest was left out: the difference is longer than {max_bytes} bytes]\n");
        answer.stdout.extend_from_slice(note.as_bytes());
    }
    Ok(answer.stdout)
}

/// Asks git how two trees differ. Every difference that pairflow shows, counts or decides by comes from here: no setting,
/// attribute or file has a say in it.
fn difference(
    git: &Git,
    (from, to): (&TreeId, &TreeId),
    how: &[&str],
    paths: &[&str],
    limit: Option<usize>,
) -> Result<GitOutput, GitError> {
    let plain = ["diff-tree", "-r", "--no-renames", "--no-color", "--ignore-submodules=none"];
    let call = GitCall::new(plain.iter().chain(how)).arg(&from.0).arg(&to.0).arg("--");
    let call = paths.iter().fold(call, GitCall::arg);
    let call = match limit {
        Some(limit) => call.cut_at(limit),
        None => call,
    };
    git.objects_only(&from.0)?.run(call)
}

/// Reads `added TAB removed TAB path`; a binary file has dashes instead of numbers.
fn numbers(part: &[u8]) -> Option<(String, Option<u64>, Option<u64>)> {
    let line = text(part);
    let mut words = line.splitn(3, '\t');
    let (added, removed) = (words.next()?.parse().ok(), words.next()?.parse().ok());
    Some((words.next()?.to_owned(), added, removed))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
