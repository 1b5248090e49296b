//! The directories, locks and ports of bubbles, and which bubble a directory belongs to.
//!
//! Ports are leased in blocks, so that servers in different worktrees do not collide. A lease ends when it is released or
//! when its owner's directory is gone, so nothing has to be cleaned up after a crash.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use serde::{Deserialize, Serialize};

use super::WorkspaceError;
use crate::git::{GitError, Repo};
use crate::regular;
use crate::store::storage::{Guard, LockMode, Storage};
use crate::store::{LogFiles, RealDisk};

/// How long other commands may hold a lock: making a worktree of a large repository takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);
/// What the directory for the acceptance tests of a bubble has before its name.
pub(super) const ACCEPTANCE_PREFIX: &str = ".acceptance-";

/// Returns the directory beside the repository that holds the worktrees of its bubbles.
pub fn worktrees_dir(repo: &Repo) -> PathBuf {
    let parent = repo.root.parent().unwrap_or(&repo.root);
    parent.join(".pairflow-worktrees").join(&repo.name)
}

/// Returns where the files of a bubble are, unless it was configured otherwise.
pub fn default_path(repo: &Repo, id: &BubbleId) -> PathBuf {
    LogFiles::of::<BubbleState>(&repo.root.join(".pairflow"), id).worktree()
}

/// Takes the lock of the list of worktrees. The kernel frees it if we die.
pub(super) fn lock_worktrees(repo: &Repo) -> Result<Guard, WorkspaceError> {
    lock(&repo.root.join(".pairflow/locks/worktrees.lock"))
}

/// Takes the kernel lock on a file, which is made if it is missing.
pub(super) fn lock(path: &Path) -> Result<Guard, WorkspaceError> {
    let take = || {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        let taken = RealDisk.lock(path, LockMode::Exclusive, PATIENCE).map_err(|error| error.source)?;
        let held = || RealDisk.lock_holder(path).map_or_else(String::new, |pid| format!(" (process {pid})"));
        taken.ok_or_else(|| {
            let why = format!("another process{} has locked it for {} s", held(), PATIENCE.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, why)
        })
    };
    take().map_err(WorkspaceError::io("lock", path))
}

/// Where a command was called from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The repository; for a directory inside a bubble's worktree, the one that the bubble belongs to.
    pub repo: Repo,
    /// The bubble whose worktree it is.
    pub bubble: Option<BubbleId>,
}

/// Finds out where `path` is.
pub fn locate(path: &Path) -> Result<Location, GitError> {
    let (outer, bubble) = bubble_of(path);
    let repo = match (Repo::locate(path), &outer) {
        // The directory for acceptance tests is in no repository.
        (Err(GitError::NotARepository(_)), Some(root)) if bubble.is_some() => Repo::locate(root)?,
        (found, _) => found?,
    };
    match outer {
        // A clone is a repository of its own; the bubble it belongs to lies beside it.
        Some(root) if bubble.is_some() && root != repo.root => Ok(Location { repo: Repo::locate(&root)?, bubble }),
        _ => Ok(Location { repo, bubble }),
    }
}

/// Reads repository and bubble off a path of the form `<parent>/.pairflow-worktrees/<repository>/<bubble>/…`. The directory
/// may be that of its acceptance tests.
fn bubble_of(path: &Path) -> (Option<PathBuf>, Option<BubbleId>) {
    let Ok(path) = path.canonicalize() else { return (None, None) };
    let mut parts: Vec<_> = path.components().collect();
    let Some(at) = parts.iter().position(|part| part.as_os_str() == ".pairflow-worktrees") else { return (None, None) };
    if parts.len() < at + 3 {
        return (None, None);
    }
    let name = parts[at + 1].as_os_str().to_owned();
    let id = |text: &str| text.strip_prefix(ACCEPTANCE_PREFIX).unwrap_or(text).parse().ok();
    let id = parts[at + 2].as_os_str().to_str().and_then(id);
    parts.truncate(at);
    let root = parts.iter().collect::<PathBuf>().join(name);
    (root.is_dir().then_some(root), id)
}

const RANGE: std::ops::RangeInclusive<u16> = 20_000..=29_999;

/// How many ports a bubble gets, unless it asks for another number.
pub const DEFAULT_COUNT: u16 = 10;

/// A block of ports that belongs to one bubble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLease {
    /// The first port.
    pub first: u16,
    /// How many there are.
    pub count: u16,
    /// The directory of the bubble that has them.
    pub owner: PathBuf,
}

/// Leases `count` ports to `owner`, or returns the ones that it has. Each was free a moment ago.
pub fn lease(state_dir: &Path, owner: &Path, count: u16) -> Result<PortLease, WorkspaceError> {
    let _lock = lock(&state_dir.join("ports.lock"))?;
    let mut leases = read(state_dir)?;
    leases.retain(|lease| lease.owner.is_dir());
    if let Some(lease) = leases.iter().find(|lease| lease.owner == owner && lease.count == count) {
        return Ok(lease.clone());
    }
    leases.retain(|lease| lease.owner != owner);
    let first = free_block(&leases, count).ok_or(WorkspaceError::NoFreePorts(count))?;
    let lease = PortLease { first, count, owner: owner.to_owned() };
    leases.push(lease.clone());
    write(state_dir, &leases)?;
    Ok(lease)
}

/// Gives back what `owner` has. It is no error to have nothing.
pub fn release(state_dir: &Path, owner: &Path) -> Result<(), WorkspaceError> {
    let _lock = lock(&state_dir.join("ports.lock"))?;
    let mut leases = read(state_dir)?;
    let before = leases.len();
    leases.retain(|lease| lease.owner != owner && lease.owner.is_dir());
    if leases.len() == before { Ok(()) } else { write(state_dir, &leases) }
}

fn free_block(leases: &[PortLease], count: u16) -> Option<u16> {
    let step = usize::from(count.max(1));
    let apart = |first: u16, lease: &PortLease| {
        u32::from(first) + u32::from(count) <= u32::from(lease.first)
            || u32::from(lease.first) + u32::from(lease.count) <= u32::from(first)
    };
    let can_bind = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let fits = |first: &u16| u32::from(*first) + u32::from(count) <= u32::from(*RANGE.end()) + 1;
    let unused = |first: &u16| leases.iter().all(|lease| apart(*first, lease));
    RANGE.step_by(step).filter(fits).filter(unused).find(|first| (*first..first + count).all(can_bind))
}

/// Reads the leases. A damaged file is taken as empty: ports in use are found out by binding them.
fn read(state_dir: &Path) -> Result<Vec<PortLease>, WorkspaceError> {
    let path = state_dir.join("ports.json");
    let read = regular::optional(regular::read(&path)).map_err(WorkspaceError::io("read", &path))?;
    Ok(read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
}

fn write(state_dir: &Path, leases: &[PortLease]) -> Result<(), WorkspaceError> {
    let path = state_dir.join("ports.json");
    let text = serde_json::to_vec_pretty(leases).expect("a lease holds nothing but text and numbers");
    regular::replace(&path, &text).map_err(WorkspaceError::io("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(dir: &Path, name: &str) -> PathBuf {
        let owner = dir.join(name);
        std::fs::create_dir(&owner).unwrap();
        owner
    }

    #[test]
    fn two_bubbles_get_ports_that_do_not_meet_and_each_keeps_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (owner(dir.path(), "a"), owner(dir.path(), "b"));
        let first = lease(dir.path(), &a, DEFAULT_COUNT).unwrap();
        let second = lease(dir.path(), &b, DEFAULT_COUNT).unwrap();
        assert!(first.first.abs_diff(second.first) >= DEFAULT_COUNT);
        assert_eq!(lease(dir.path(), &a, DEFAULT_COUNT).unwrap(), first);
    }

    #[test]
    fn a_port_in_use_is_not_leased() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (owner(dir.path(), "a"), owner(dir.path(), "b"));
        let first = lease(dir.path(), &a, DEFAULT_COUNT).unwrap();
        // Another test may be trying the same port at this very moment.
        let bind = || TcpListener::bind(("127.0.0.1", first.first + 3)).ok();
        let busy = std::iter::repeat_with(bind).take(10_000).flatten().next().unwrap();
        release(dir.path(), &a).unwrap();
        let second = lease(dir.path(), &b, DEFAULT_COUNT).unwrap();
        assert_ne!(first.first, second.first);
        drop(busy);
    }

    #[test]
    fn ports_of_a_bubble_that_is_gone_are_free_again() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (owner(dir.path(), "a"), owner(dir.path(), "b"));
        lease(dir.path(), &a, DEFAULT_COUNT).unwrap();
        std::fs::remove_dir(&a).unwrap();
        lease(dir.path(), &b, DEFAULT_COUNT).unwrap();
        let left: Vec<PathBuf> = read(dir.path()).unwrap().into_iter().map(|lease| lease.owner).collect();
        assert_eq!(left, [b]);
    }

    #[test]
    fn a_damaged_file_of_leases_stops_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let a = owner(dir.path(), "a");
        std::fs::write(dir.path().join("ports.json"), "{torn").unwrap();
        assert_eq!(lease(dir.path(), &a, 3).unwrap().count, 3);
    }

    #[test]
    fn more_ports_than_there_are_is_an_error_that_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let a = owner(dir.path(), "a");
        let said = lease(dir.path(), &a, 20_000).unwrap_err().to_string();
        assert!(said.contains("no 20000 consecutive free ports"), "{said}");
    }
}
