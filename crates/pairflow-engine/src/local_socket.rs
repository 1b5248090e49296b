//! Sockets on which pairflow is called on this machine: one server and one client, with limits on everything.
//!
//! The supervisor and every agent in a pane have such a socket. A line holds one JSON object. What is said there, and
//! who may say it, is not known here.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pairflow_core::hash::sha256;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::regular;

/// How long the listener rests when no more callers can be taken, because files or threads have run out.
const REST: Duration = Duration::from_millis(50);

/// What a server is called in thread lists, and how many callers it serves at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerOptions {
    /// The name of its threads.
    pub name: &'static str,
    /// How many callers are served at once. Further ones are hung up on, and call again.
    pub callers: usize,
    /// How long a caller may take to read a part of its answer.
    pub write: Duration,
}

/// What is done with a caller.
type Serve = dyn Fn(&UnixStream) + Send + Sync;

/// A socket that listens. Dropped, it takes no more callers and its file is gone; callers that are being served are
/// served.
#[derive(Debug)]
pub(crate) struct Server {
    path: PathBuf,
    /// Device and inode of this socket's file; another socket may have replaced it since.
    inode: (u64, u64),
    /// Closing it wakes the listener for the last time.
    open: Option<PipeWriter>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `path`, and has each caller served by `serve` in a thread of its own.
    ///
    /// Its opener holds a lock for it, so a socket that is there already has no owner.
    pub(crate) fn open(
        path: PathBuf,
        limits: ServerOptions,
        serve: impl Fn(&UnixStream) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            private_dir(dir)?;
        }
        regular::remove(&path)?;
        let listener = UnixListener::bind(&path)?;
        // The directory has kept everybody else out until here.
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let found = std::fs::symlink_metadata(&path)?;
        let (closed, open) = io::pipe()?;
        let serve: Arc<Serve> = Arc::new(serve);
        let listen = move || listen(&listener, &closed, limits, &serve);
        let listener = std::thread::Builder::new().name(limits.name.to_owned()).spawn(listen)?;
        Ok(Self { path, inode: (found.dev(), found.ino()), open: Some(open), listener: Some(listener) })
    }

    /// Returns where it listens.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let own = |found: std::fs::Metadata| (found.dev(), found.ino()) == self.inode;
        if std::fs::symlink_metadata(&self.path).is_ok_and(own) {
            // What is left of it only keeps the next caller waiting a moment longer.
            let _ = std::fs::remove_file(&self.path);
            if let Some(dir) = self.path.parent().filter(|_| is_stand_in(&self.path)) {
                let _ = std::fs::remove_dir(dir);
            }
        }
        self.open.take();
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn listen(listener: &UnixListener, closed: &PipeReader, limits: ServerOptions, serve: &Arc<Serve>) {
    // Each caller that is being served holds a clone.
    let slots = Arc::new(());
    loop {
        let mut both = [PollFd::new(listener, PollFlags::IN), PollFd::new(closed, PollFlags::IN)];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => std::thread::sleep(REST),
            Ok(_) => {}
        }
        if !both[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => admit(stream, limits, serve, &slots),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Files have run out, or the caller is gone again.
            Err(_) => std::thread::sleep(REST),
        }
    }
}

/// Serves one caller in a thread of its own, so that one that hangs blocks no other.
fn admit(stream: UnixStream, limits: ServerOptions, serve: &Arc<Serve>, slots: &Arc<()>) {
    if Arc::strong_count(slots) > limits.callers {
        return;
    }
    let ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(limits.write)));
    if ready.is_err() {
        return;
    }
    let (serve, slot) = (serve.clone(), slots.clone());
    let serve = move || {
        serve(&stream);
        drop(slot);
    };
    // A caller that cannot be served is disconnected, and calls again.
    let _ = std::thread::Builder::new().name(format!("{}-caller", limits.name)).spawn(serve);
}

/// The longest path that fits a socket address on every system.
const MAX_SOCKET_PATH: usize = 100;

/// Returns `path`, or a short stand-in if it is too long for a socket: a directory of its own with the same file name.
pub fn fitting(path: &Path) -> PathBuf {
    if path.as_os_str().len() <= MAX_SOCKET_PATH {
        return path.to_owned();
    }
    let place = &sha256(path.as_os_str().as_encoded_bytes())[..16];
    let user = rustix::process::getuid().as_raw();
    PathBuf::from(format!("/tmp/pairflow-{user}-{place}")).join(path.file_name().unwrap_or_default())
}

/// Whether `path` is a stand-in, whose directory holds nothing else.
pub(super) fn is_stand_in(path: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    let dir = path.parent().and_then(Path::to_str);
    dir.is_some_and(|dir| dir.starts_with(&format!("/tmp/pairflow-{user}-")))
}

/// Makes a directory that only its owner may enter.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let found = std::fs::metadata(dir)?;
    if found.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the directory belongs to someone else"));
    }
    // It may have been made before anything in it was private.
    if found.mode() & 0o077 != 0 { std::fs::set_permissions(dir, PermissionsExt::from_mode(0o700)) } else { Ok(()) }
}

/// The longest line, in bytes.
pub(crate) const MAX_LINE: usize = 4 * 1024 * 1024;

/// How long a caller writes a line at most.
const WRITE: Duration = Duration::from_secs(5);

/// Connects without waiting: a process that hangs accepts no callers, and its queue may be full.
pub(crate) fn dial(socket: &Path) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(socket)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&fd, &address)?;
    let stream = UnixStream::from(fd);
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE))?;
    Ok(stream)
}

/// Writes one line.
pub(crate) fn write(mut stream: &UnixStream, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    if bytes.len() > MAX_LINE {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "the line is too long"));
    }
    stream.write_all(&bytes)
}

/// A stream that is read line by line until a moment.
pub(crate) struct LineReader<'a> {
    stream: &'a UnixStream,
    until: Instant,
    bytes: Vec<u8>,
}

impl<'a> LineReader<'a> {
    /// Reads from `stream` for at most `patience`.
    pub(crate) fn new(stream: &'a UnixStream, patience: Duration) -> Self {
        Self { stream, until: Instant::now() + patience, bytes: Vec::new() }
    }

    /// Reads one line. The end of the stream before the end of the line is an error, and so is a line that is too long.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.bytes[looked..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=looked + end).collect();
                return serde_json::from_slice(&line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
            }
            looked = self.bytes.len();
            if looked >= MAX_LINE {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut part = [0; 64 * 1024];
        let mut stream = self.stream;
        match stream.read(&mut part) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.bytes.extend_from_slice(&part[..read]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_gets_a_stand_in_of_its_own() {
        let (short, long) = (Path::new("/run/a.sock"), PathBuf::from(format!("/{}/a.sock", "x".repeat(200))));
        assert_eq!(fitting(short), short);
        let found = fitting(&long);
        assert!(found.as_os_str().len() <= MAX_SOCKET_PATH && is_stand_in(&found) && found.ends_with("a.sock"));
        assert_ne!(found, fitting(&long.with_file_name("b").join("a.sock")));
    }

    #[test]
    fn a_directory_that_others_could_enter_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o755)).unwrap();
        private_dir(&open).unwrap();
        assert_eq!(std::fs::metadata(&open).unwrap().mode() & 0o777, 0o700);
    }
}
