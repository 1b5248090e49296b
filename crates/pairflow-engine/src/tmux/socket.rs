//! Knocks at the socket of a server: whether anybody listens there, and who, without asking tmux.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::Pid;

use super::error::TmuxError;
use crate::process::Process;

/// Somebody who listens.
#[derive(Debug)]
pub(super) struct Listener {
    // Without a connection the kernel does not say who listens.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux tells who listens"))]
    connection: OwnedFd,
}

impl Listener {
    /// Returns the process that listens and a hold on it, where the kernel tells.
    pub(super) fn process(&self) -> Option<(Pid, Process)> {
        #[cfg(target_os = "linux")]
        let pid = rustix::net::sockopt::socket_peercred(&self.connection).ok()?.pid;
        #[cfg(not(target_os = "linux"))]
        let pid = None?;
        Some((pid, Process::find(pid).ok()??))
    }
}

/// Connects to `socket` and returns who listens; nothing if nobody does. Never waits.
pub(super) fn knock(socket: &Path) -> Result<Option<Listener>, TmuxError> {
    let failed = |errno: Errno| TmuxError::io("connect to", socket, errno);
    let address = SocketAddrUnix::new(socket).map_err(failed)?;
    let connection = open().map_err(failed)?;
    // A server that has hung for long has a full queue, and a caller that waits for a place in it hangs as well.
    rustix::io::ioctl_fionbio(&connection, true).map_err(failed)?;
    match rustix::net::connect(&connection, &address) {
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(Some(Listener { connection })),
        Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(None),
        Err(errno) => Err(failed(errno)),
    }
}

/// Returns a socket that no program we start inherits.
fn open() -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    return rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, rustix::net::SocketFlags::CLOEXEC, None);
    #[cfg(not(target_os = "linux"))]
    {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        Ok(socket)
    }
}
