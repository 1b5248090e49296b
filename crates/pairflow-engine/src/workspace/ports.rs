//! Leases blocks of free ports to bubbles, so that servers started in different worktrees do not meet.
//!
//! The leases of all repositories of a user lie in one file. A lease ends when it is released or when the directory of
//! its owner is gone, so nothing has to be cleaned up after a crash.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::place::lock;
use crate::git::replace;

const RANGE: std::ops::RangeInclusive<u16> = 20_000..=29_999;

/// How many ports a bubble gets, unless it asks for another number.
pub const DEFAULT_COUNT: u16 = 10;

/// A block of ports that belongs to one bubble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The first port.
    pub first: u16,
    /// How many there are.
    pub count: u16,
    /// The directory of the bubble that has them.
    pub owner: PathBuf,
}

/// Why no ports could be leased.
#[derive(Debug, thiserror::Error)]
pub enum PortsError {
    /// A file could not be used.
    #[error("cannot {what} {}", .path.display())]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Every block is leased or in use.
    #[error("there are no {count} free ports in a row between 20000 and 29999; delete bubbles that are done")]
    NoneFree {
        /// How many were asked for.
        count: u16,
    },
}

/// Leases `count` ports to `owner`, or returns the ones that it has. Each was free a moment ago.
pub fn lease(state_dir: &Path, owner: &Path, count: u16) -> Result<Lease, PortsError> {
    let _lock = lock_file(state_dir)?;
    let mut leases = read(state_dir)?;
    leases.retain(|lease| lease.owner.is_dir());
    if let Some(lease) = leases.iter().find(|lease| lease.owner == owner && lease.count == count) {
        return Ok(lease.clone());
    }
    leases.retain(|lease| lease.owner != owner);
    let first = free_block(&leases, count).ok_or(PortsError::NoneFree { count })?;
    let lease = Lease { first, count, owner: owner.to_owned() };
    leases.push(lease.clone());
    write(state_dir, &leases)?;
    Ok(lease)
}

/// Gives back what `owner` has. It is no error to have nothing.
pub fn release(state_dir: &Path, owner: &Path) -> Result<(), PortsError> {
    let _lock = lock_file(state_dir)?;
    let mut leases = read(state_dir)?;
    let before = leases.len();
    leases.retain(|lease| lease.owner != owner && lease.owner.is_dir());
    if leases.len() == before { Ok(()) } else { write(state_dir, &leases) }
}

fn free_block(leases: &[Lease], count: u16) -> Option<u16> {
    let step = usize::from(count.max(1));
    let apart = |first: u16, lease: &Lease| {
        u32::from(first) + u32::from(count) <= u32::from(lease.first)
            || u32::from(lease.first) + u32::from(lease.count) <= u32::from(first)
    };
    let fits = |first: &u16| u32::from(*first) + u32::from(count) <= u32::from(*RANGE.end()) + 1;
    let unused = |first: &u16| leases.iter().all(|lease| apart(*first, lease));
    RANGE.step_by(step).filter(fits).filter(unused).find(|first| (*first..first + count).all(can_bind))
}

fn can_bind(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

fn lock_file(state_dir: &Path) -> Result<crate::store::storage::Guard, PortsError> {
    lock(&state_dir.join("ports.lock")).map_err(|(path, source)| PortsError::Io { what: "lock", path, source })
}

/// Reads the leases. A damaged file is taken as empty: ports in use are found out by binding them.
fn read(state_dir: &Path) -> Result<Vec<Lease>, PortsError> {
    let path = state_dir.join("ports.json");
    match crate::regular::read(&path) {
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(PortsError::Io { what: "read", path, source }),
    }
}

fn write(state_dir: &Path, leases: &[Lease]) -> Result<(), PortsError> {
    let path = state_dir.join("ports.json");
    let text = serde_json::to_vec_pretty(leases).expect("a lease holds nothing but text and numbers");
    replace(&path, &text).map_err(|source| PortsError::Io { what: "write", path, source })
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
        assert!(said.contains("no 20000 free ports"), "{said}");
    }
}
