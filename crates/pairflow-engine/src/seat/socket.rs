//! The socket of one seat: it listens as long as this value lives.

use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use pairflow_core::ids::AgentId;
use rustix::event::{PollFd, PollFlags, poll};

use super::address::{is_stand_in, private_dir};
use super::call::SeatCall;
use super::serve::Seat;
use crate::engine::Bubble;

/// How many callers are served at once. Whoever comes then is hung up on, and calls again.
const CALLERS: usize = 32;

/// How long the listener rests when no more callers can be taken, because files or threads have run out.
const REST: Duration = Duration::from_millis(50);

/// A seat's socket. Dropped, it takes no more callers and its file is gone; callers that are being served are served.
#[derive(Debug)]
pub struct SeatSocket {
    path: PathBuf,
    /// Which file is this socket's own; another one may have taken the place since.
    inode: (u64, u64),
    /// Closing it wakes the listener for the last time.
    open: Option<PipeWriter>,
    listener: Option<JoinHandle<()>>,
}

impl SeatSocket {
    /// Listens at `path` for the agent `agent` of `bubble`. Verbs are applied; events of hooks go to `out`.
    ///
    /// Whoever opens it has the bubble in care, so a socket that is there already belongs to nobody.
    pub fn open(bubble: Arc<Bubble>, agent: AgentId, path: PathBuf, out: Sender<SeatCall>) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            private_dir(dir)?;
        }
        remove(&path)?;
        let listener = UnixListener::bind(&path)?;
        // The directory has kept everybody else out until here.
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let found = std::fs::symlink_metadata(&path)?;
        let (closed, open) = io::pipe()?;
        let seat = Arc::new(Seat { bubble, agent, out });
        let listen = move || listen(&listener, &closed, &seat);
        let listener = std::thread::Builder::new().name("seat".to_owned()).spawn(listen)?;
        Ok(Self { path, inode: (found.dev(), found.ino()), open: Some(open), listener: Some(listener) })
    }

    /// Returns where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SeatSocket {
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

/// One of the callers that are being served.
struct Place(Arc<AtomicUsize>);

impl Place {
    /// Returns nothing if all places are taken.
    fn take(taken: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |count| (count < CALLERS).then_some(count + 1);
        taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok()?;
        Some(Self(taken.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn listen(listener: &UnixListener, closed: &PipeReader, seat: &Arc<Seat>) {
    let taken = Arc::new(AtomicUsize::new(0));
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
            Ok((stream, _)) => admit(stream, seat, &taken),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Files have run out, or the caller is gone again.
            Err(_) => std::thread::sleep(REST),
        }
    }
}

/// Has one caller served by a thread of its own: one that hangs keeps nobody else waiting.
fn admit(stream: UnixStream, seat: &Arc<Seat>, taken: &Arc<AtomicUsize>) {
    let Some(place) = Place::take(taken) else { return };
    let seat = seat.clone();
    let serve = move || {
        let _place = place;
        seat.serve(&stream);
    };
    // A caller that nobody can serve is hung up on, and calls again.
    let _ = std::thread::Builder::new().name("seat-caller".to_owned()).spawn(serve);
}
