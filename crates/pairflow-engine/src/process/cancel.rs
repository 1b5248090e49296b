//! A stop flag that also wakes a thread that sleeps on it.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ends every job that was given a clone of it, at once. It cannot be taken back.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    asked: AtomicBool,
    // Closing the only writer makes the reader readable for every poller, for ever: one wake-up for any number of jobs.
    writer: Mutex<Option<PipeWriter>>,
    reader: PipeReader,
}

impl Cancel {
    /// Makes a flag that is not raised.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self(Arc::new(Inner { asked: AtomicBool::new(false), writer: Mutex::new(Some(writer)), reader })))
    }

    /// Raises the flag and wakes every job that waits for it.
    pub fn cancel(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.0.reader.as_fd()
    }
}
