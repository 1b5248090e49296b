//! A terminal that shows one picture after the other and tells which keys are pressed.

use std::io;
use std::time::{Duration, Instant};

use pairflow_core::view::pane::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::app::Raw;
use crate::out::Out;

/// The keys that leave: `q`, Ctrl-C, Ctrl-D.
const LEAVING: [u8; 4] = [b'q', b'Q', 3, 4];

/// What the person pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// They have seen enough.
    Leave,
    /// Nothing that means anything.
    None,
}

/// A terminal without a cursor, whose keys arrive at once.
pub(super) struct Screen {
    keys: Option<Raw>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn enter(out: &mut Out) -> Self {
        out.cursor(false);
        Self { keys: Raw::enter() }
    }

    /// Gives the terminal back, with the picture left where it is.
    pub(super) fn leave(self, out: &mut Out) {
        drop(self.keys);
        out.cursor(true);
    }

    /// Waits until a key is pressed that means something, or until `at_most` is over.
    pub(super) fn key(&self, at_most: Duration) -> Key {
        let until = Instant::now() + at_most;
        if self.keys.is_none() {
            std::thread::sleep(at_most);
            return Key::None;
        }
        let stdin = io::stdin();
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let wait =
                Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(1), tv_nsec: left.subsec_nanos().into() };
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut ready, Some(&wait)) {
                Ok(0) => return Key::None,
                Ok(_) => {}
                // A signal: the time that is left is waited for again.
                Err(_) => continue,
            }
            let mut keys = [0; 64];
            // Past the buffer of the standard input, which would hide from the next wait what it has taken.
            match rustix::io::read(&stdin, &mut keys) {
                // Nobody can press anything any more, and nobody looks.
                Ok(0) | Err(rustix::io::Errno::IO) => return Key::Leave,
                Ok(count) if keys[..count].iter().any(|key| LEAVING.contains(key)) => return Key::Leave,
                _ => {}
            }
        }
        Key::None
    }
}

/// Returns the size of the terminal that the output goes to.
pub(super) fn size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    let told = size.ws_col > 0 && size.ws_row > 0;
    told.then(|| Size { columns: size.ws_col.into(), rows: size.ws_row.into() })
}
