//! A socket that listens as long as its value lives, and serves a limited number of callers at once.

use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::address::{is_stand_in, private_dir};

/// How long the listener rests when no more callers can be taken, because files or threads have run out.
const REST: Duration = Duration::from_millis(50);

/// What a server is called in thread lists, and how many callers it serves at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
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
    /// Which file is this socket's own; another one may have taken the place since.
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
        limits: Limits,
        serve: impl Fn(&UnixStream) + Send + Sync + 'static,
    ) -> io::Result<Self> {
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

/// One of the callers that are being served.
struct Place(Arc<AtomicUsize>);

impl Place {
    /// Returns nothing if all places are taken.
    fn take(taken: &Arc<AtomicUsize>, callers: usize) -> Option<Self> {
        let more = |count| (count < callers).then_some(count + 1);
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

fn listen(listener: &UnixListener, closed: &PipeReader, limits: Limits, serve: &Arc<Serve>) {
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
            Ok((stream, _)) => admit(stream, limits, serve, &taken),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Files have run out, or the caller is gone again.
            Err(_) => std::thread::sleep(REST),
        }
    }
}

/// Has one caller served by a thread of its own: one that hangs keeps nobody else waiting.
fn admit(stream: UnixStream, limits: Limits, serve: &Arc<Serve>, taken: &Arc<AtomicUsize>) {
    let Some(place) = Place::take(taken, limits.callers) else { return };
    let ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(limits.write)));
    if ready.is_err() {
        return;
    }
    let serve = serve.clone();
    let serve = move || {
        let _place = place;
        serve(&stream);
    };
    // A caller that nobody can serve is hung up on, and calls again.
    let _ = std::thread::Builder::new().name(format!("{}-caller", limits.name)).spawn(serve);
}
