//! Deletes a bubble without losing anything: log, branch tip, snapshots and uncommitted files are archived first.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::time::Timestamp;

use super::WorkspaceError;
use super::checkout::{checkout_path, remove_scratch};
use super::place::lock_worktrees;
use super::prepare::{WorkspaceJournal, remove_dir, remove_worktree};
use crate::git::{
    Git, GitCall, NEWEST, Repo, Worktree, checked_out_at, fetch_from_clone, observe, own_commit, resolve, tree_of,
    update_refs,
};
use crate::regular;

/// What is to be taken away.
#[derive(Debug, Clone)]
pub struct DeleteRequest<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// Which bubble.
    pub id: &'a BubbleId,
    /// Its workspace, if it ever had one; without one its branch is not touched.
    pub workspace: Option<&'a Worktree>,
    /// Its branch.
    pub branch: &'a str,
    /// The time for the name of the archive.
    pub now: Timestamp,
}

/// What was archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// Where the copy of the bubble's directory is.
    pub dir: PathBuf,
    /// The ref that holds the branch tip, with the uncommitted files on top of it; nothing if there was no branch.
    pub r#ref: Option<String>,
    /// Where the branch is checked out, if it is; it was then not removed.
    pub branch_kept: Option<PathBuf>,
}

/// Archives a bubble, then removes its worktree, its branch and its directory. If archiving fails nothing is removed;
/// if removing fails, calling it again goes on.
pub fn delete(request: &DeleteRequest<'_>) -> Result<Archived, WorkspaceError> {
    let repo = request.repo;
    let git = repo.git();
    let _lock = lock_worktrees(repo)?;
    if let Some(workspace) = request.workspace {
        workspace.removable()?;
    }
    let kept = keep_tip(request, &git)?;
    let dir = copy_transcript(request)?;
    if let Some(workspace) = request.workspace {
        remove_files(repo, workspace)?;
    }
    remove_worktree(repo, &checkout_path(&repo.root, request.id))?;
    remove_scratch(&repo.root, request.id)?;
    let branch_kept = checked_out_at(repo, &git, request.branch)?.filter(|_| kept.is_some());
    move_refs(request, &git, kept.is_some() && branch_kept.is_none())?;
    let control = repo.root.join(".pairflow");
    remove_dir(&control.join("runtime").join(request.id.as_str()))?;
    remove_bubble(&control.join("bubbles"), request.id)?;
    Ok(Archived { dir, r#ref: kept, branch_kept })
}

/// Removes a bubble's directory. It loses its name first: whatever a crash leaves of it is no bubble any more.
fn remove_bubble(bubbles: &Path, id: &BubbleId) -> Result<(), WorkspaceError> {
    let (dir, nameless) = (bubbles.join(id.as_str()), bubbles.join(format!(".{id}.deleted")));
    remove_dir(&nameless)?;
    let renamed = regular::optional(std::fs::rename(&dir, &nameless));
    renamed.map_err(WorkspaceError::io("remove", &dir))?;
    remove_dir(&nameless)
}

/// Removes the files of a workspace, and git's memory of them. Branch and transcript stay.
pub fn remove(repo: &Repo, workspace: &Worktree) -> Result<(), WorkspaceError> {
    let _lock = lock_worktrees(repo)?;
    remove_files(repo, workspace)?;
    WorkspaceJournal::erase(repo, &workspace.id)
}

/// Puts the branch tip on a ref of its own, with the files as they are on top of it.
fn keep_tip(request: &DeleteRequest<'_>, git: &Git) -> Result<Option<String>, WorkspaceError> {
    let Some(workspace) = request.workspace else { return Ok(None) };
    let branch = format!("refs/heads/{}", request.branch);
    let name = archive_ref(request);
    let present = workspace.path.is_dir();
    let own = if present { &workspace.git() } else { git };
    let Some(mut tip) = resolve(own, &branch)? else { return Ok(None) };
    if present {
        let tree = observe(workspace)?;
        if tree != tree_of(own, &tip)? {
            tip = own_commit(own, &tree, &tip, format!("pairflow: uncommitted files of {}\n", request.id))?;
        }
    }
    own.run(GitCall::new(["update-ref", &name, &tip.0]).durable())?;
    if present && workspace.is_clone() {
        fetch_from_clone(workspace, &name, &name, &tip.0)?;
    }
    Ok(Some(name))
}

/// Moves the bubble's private refs to the archive and removes its branch, in one step.
fn move_refs(request: &DeleteRequest<'_>, git: &Git, with_branch: bool) -> Result<(), WorkspaceError> {
    let own = format!("refs/pairflow/{}/", request.id);
    let listed = list_refs(git, &own)?;
    let refs = listed.lines().filter_map(|line| line.split_once(' '));
    let mut moves = String::new();
    // Only direct children: what lies deeper is not one bubble's.
    for (name, commit) in refs.filter(|(name, _)| !name[own.len()..].contains('/')) {
        if &name[own.len()..] == NEWEST {
            // Its tree is on a ref with a number.
            moves += &format!("delete {name} {commit}\n");
            continue;
        }
        moves += &format!("update {}.{} {commit}\ndelete {name} {commit}\n", archive_ref(request), &name[own.len()..]);
    }
    let branch = format!("refs/heads/{}", request.branch);
    if with_branch && let Some(tip) = resolve(git, &branch)? {
        moves += &format!("update {}.branch {tip}\ndelete {branch} {tip}\n", archive_ref(request));
    }
    Ok(update_refs(git, &moves)?)
}

/// Returns a line with name and object for each ref below `prefix`.
fn list_refs(git: &Git, prefix: &str) -> Result<String, WorkspaceError> {
    let listed = git.run(GitCall::new(["for-each-ref", "--format=%(refname) %(objectname)", prefix]))?;
    Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
}

fn archive_ref(request: &DeleteRequest<'_>) -> String {
    format!("refs/pairflow/archive/{}/{}", request.id, request.now.millis() / 1000)
}

/// The name of the directory of an archive that was made at `at`.
fn archive_name(id: &BubbleId, at: Timestamp) -> String {
    format!("{id}-{}T{}Z", at.yyyymmdd(), at.hms().replace(':', ""))
}

/// Returns the newest archive of a bubble, if there is one.
pub fn newest_archive(root: &Path, id: &BubbleId) -> Option<PathBuf> {
    archives(root).into_iter().filter(|(archived, _)| archived == id).map(|(_, dir)| dir).max()
}

/// Returns every archive of the repository, by name, with the bubble that it was.
pub fn archives(root: &Path) -> Vec<(BubbleId, PathBuf)> {
    let digits = |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = |time: &str| {
        time.strip_suffix('Z').and_then(|time| time.split_once('T')).is_some_and(|(d, t)| digits(d, 8) && digits(t, 6))
    };
    let archive = root.join(".pairflow/archive");
    let entries = std::fs::read_dir(&archive).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let archived = |name: &String| {
        let (id, time) = name.rsplit_once('-')?;
        is_time(time).then_some(())?;
        Some((id.parse().ok()?, archive.join(name)))
    };
    names.iter().filter_map(archived).collect()
}

/// Puts the refs of an archive back: the private ones of the bubble, and its branch unless that is there. Returns the
/// tree of the files as they were when it was deleted; nothing if it never had any.
///
/// What the archive keeps stays there.
pub fn put_refs_back(
    repo: &Repo,
    id: &BubbleId,
    archive: &Path,
    branch: &str,
) -> Result<Option<TreeId>, WorkspaceError> {
    let git = repo.git();
    let _lock = lock_worktrees(repo)?;
    let Some(kept) = kept_refs(&git, id, archive)? else { return Ok(None) };
    let mut moves = String::new();
    for (name, object) in &kept.parts {
        match name.as_str() {
            "branch" => {
                let full = format!("refs/heads/{branch}");
                match resolve(&git, &full)? {
                    Some(tip) if tip.0 == *object => {}
                    Some(tip) => return Err(WorkspaceError::BranchExists { branch: branch.to_owned(), tip }),
                    None => moves += &format!("create {full} {object}\n"),
                }
            }
            _ => moves += &format!("update refs/pairflow/{id}/{name} {object}\n"),
        }
    }
    update_refs(&git, &moves)?;
    Ok(Some(tree_of(&git, &kept.tip)?))
}

/// Puts the files of an archive back at the place of the bubble, in one step.
pub fn put_files_back(root: &Path, id: &BubbleId, archive: &Path) -> Result<(), WorkspaceError> {
    let bubbles = root.join(".pairflow/bubbles");
    let (partial, to) = (bubbles.join(format!(".{id}.restored")), bubbles.join(id.as_str()));
    copy_in_one_step(archive, &partial, &to)
}

/// Removes an archive whose bubble is back.
pub fn clear_archive(repo: &Repo, id: &BubbleId, archive: &Path) -> Result<(), WorkspaceError> {
    let git = repo.git();
    if let Some(kept) = kept_refs(&git, id, archive)? {
        let names = std::iter::once(kept.name.clone())
            .chain(kept.parts.iter().map(|(name, _)| format!("{}.{name}", kept.name)));
        update_refs(&git, &names.map(|name| format!("delete {name}\n")).collect::<String>())?;
    }
    remove_dir(archive)
}

/// The refs of one archive: the tip with the files on top of it, and what the others were called and hold.
struct KeptRefs {
    name: String,
    tip: CommitId,
    parts: Vec<(String, String)>,
}

/// Finds the refs of an archive: their name has the second in which it was made, and so has that of the directory.
fn kept_refs(git: &Git, id: &BubbleId, archive: &Path) -> Result<Option<KeptRefs>, WorkspaceError> {
    let own = format!("refs/pairflow/archive/{id}/");
    let listed = list_refs(git, &own)?;
    let refs: Vec<_> = listed.lines().filter_map(|line| line.strip_prefix(&own)?.split_once(' ')).collect();
    let dir = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made_then = |secs: &str| {
        let secs: Option<i64> = secs.parse().ok();
        secs.is_some_and(|secs| archive_name(id, Timestamp::from_millis(secs.saturating_mul(1000))) == dir)
    };
    let Some((secs, tip)) = refs.iter().find(|(name, _)| made_then(name)) else { return Ok(None) };
    let part = |(name, object): &(&str, &str)| {
        Some((name.strip_prefix(secs)?.strip_prefix('.')?.to_owned(), (*object).to_owned()))
    };
    let parts = refs.iter().filter_map(part).collect();
    Ok(Some(KeptRefs { name: format!("{own}{secs}"), tip: CommitId((*tip).to_owned()), parts }))
}

fn copy_transcript(request: &DeleteRequest<'_>) -> Result<PathBuf, WorkspaceError> {
    let own = request.repo.root.join(".pairflow");
    let from = own.join("bubbles").join(request.id.as_str());
    let name = archive_name(request.id, request.now);
    let (partial, to) = (own.join("archive").join(format!(".{name}.partial")), own.join("archive").join(name));
    if to.exists() {
        return Err(WorkspaceError::ArchiveExists(to));
    }
    copy_in_one_step(&from, &partial, &to)?;
    Ok(to)
}

/// Copies a directory to `partial`, beside `to`, and renames the complete copy, durably.
fn copy_in_one_step(from: &Path, partial: &Path, to: &Path) -> Result<(), WorkspaceError> {
    remove_dir(partial)?;
    copy_dir(from, partial)?;
    std::fs::rename(partial, to).map_err(WorkspaceError::io("create", to))?;
    sync(to.parent().unwrap_or(to))
}

fn copy_dir(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    std::fs::create_dir_all(to).map_err(WorkspaceError::io("create", to))?;
    let entries = std::fs::read_dir(from).map_err(WorkspaceError::io("read", from))?;
    for entry in entries {
        let entry = entry.map_err(WorkspaceError::io("read", from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let failed = WorkspaceError::io("copy", &from);
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            copy_dir(&from, &to)?;
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&from).map_err(failed)?;
            std::os::unix::fs::symlink(target, &to).map_err(failed)?;
        } else if kind.is_file() {
            regular::copy(&from, &to).and_then(|()| regular::open(&to)?.sync_all()).map_err(failed)?;
        }
    }
    sync(to)
}

fn sync(path: &Path) -> Result<(), WorkspaceError> {
    regular::open_dir(path).and_then(|dir| dir.sync_all()).map_err(WorkspaceError::io("sync", path))
}

fn remove_files(repo: &Repo, workspace: &Worktree) -> Result<(), WorkspaceError> {
    if !workspace.is_clone() {
        return remove_worktree(repo, &workspace.path);
    }
    remove_dir(&workspace.path)
}
