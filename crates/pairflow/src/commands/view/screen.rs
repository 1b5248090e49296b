//! A terminal that shows one picture after the other and tells which keys are pressed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pairflow_core::view::pane::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::app::Raw;
use crate::out::Out;

/// The keys that leave: `q`, Ctrl-C, Ctrl-D.
const LEAVING: [u8; 4] = [b'q', b'Q', 3, 4];

/// The signals that would end this program with the terminal in its hands.
const ENDING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

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
    /// Whether keys leave.
    leaves: bool,
    /// The signal that wants an end; 0 for none.
    signal: Arc<AtomicUsize>,
}

impl Screen {
    /// Takes the terminal over; `leaves` says whether any key gives it back.
    pub(super) fn enter(out: &mut Out, leaves: bool) -> Self {
        let signal = Arc::default();
        for ending in ENDING {
            // One that cannot be listened to ends the program at once, as ever.
            let number = usize::try_from(ending).unwrap_or_default();
            let _ = signal_hook::flag::register_usize(ending, Arc::clone(&signal), number);
        }
        out.cursor(false);
        Self { keys: Raw::enter(), leaves, signal }
    }

    /// Gives the terminal back, with the picture left where it is. A signal that wanted this gets its way then.
    pub(super) fn leave(self, out: &mut Out) {
        drop(self.keys);
        out.cursor(true);
        let signal = i32::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default();
        if signal != 0 {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }

    fn is_to_end(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Waits until a key is pressed that means something, or until `at_most` is over.
    pub(super) fn key(&self, at_most: Duration) -> Key {
        let until = Instant::now() + at_most;
        if self.keys.is_none() {
            std::thread::sleep(at_most);
            return if self.is_to_end() { Key::Leave } else { Key::None };
        }
        let stdin = io::stdin();
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if self.is_to_end() {
                return Key::Leave;
            }
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
                Ok(count) if self.leaves && keys[..count].iter().any(|key| LEAVING.contains(key)) => return Key::Leave,
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
