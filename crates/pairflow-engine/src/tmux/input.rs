//! Puts text into a pane, so that the program there reads it whatever the person is doing with the pane.

use std::sync::atomic::{AtomicU64, Ordering};

use super::argv::Script;
use super::error::TmuxError;
use super::server::{About, Tmux};
use super::target::PaneId;

/// How long a text may be, in bytes: a notice, not a document.
const LONGEST: usize = 4096;
const DEAF: &str = "deaf";

/// How a buffer is pasted.
#[derive(Clone, Copy)]
enum Way {
    /// In brackets, where the program asked for them, and byte for byte.
    Text,
    /// Bare, and each line feed as the carriage return that the Enter key sends.
    Key,
}

impl Tmux {
    /// Gives `text` to the program in `pane` as one paste, without Enter. The text is a single line; control
    /// characters in it are refused.
    pub fn paste(&self, pane: &PaneId, text: &str) -> Result<(), TmuxError> {
        let bad = |c: &char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        if let Some(c) = text.chars().find(bad) {
            return Err(TmuxError::refused(format!("a text with the control character {c:?}")));
        }
        if text.is_empty() || text.len() > LONGEST {
            return Err(TmuxError::refused(format!("a text of {} bytes; up to {LONGEST} are taken", text.len())));
        }
        self.feed(pane, text.as_bytes(), Way::Text)
    }

    /// Presses Enter in `pane`, for the program and not for a mode that a person may be in. Leave 200 ms after a paste.
    pub fn enter(&self, pane: &PaneId) -> Result<(), TmuxError> {
        self.feed(pane, b"\n", Way::Key)
    }

    /// Presses Esc in `pane`, for the program and not for a mode that a person may be in.
    pub fn escape(&self, pane: &PaneId) -> Result<(), TmuxError> {
        self.feed(pane, b"\x1b", Way::Key)
    }

    fn feed(&self, pane: &PaneId, bytes: &[u8], way: Way) -> Result<(), TmuxError> {
        let buffer = fresh_name();
        let flags = match way {
            Way::Text => "-p -r -d",
            Way::Key => "-d",
        };
        // Between looking and pasting nothing else happens in the server, so a program that ends right now does no harm.
        let deaf = "#{||:#{pane_dead},#{pane_input_off}}";
        let turn_away = format!("delete-buffer -b {buffer} ; display-message -p {DEAF}");
        let paste = format!("paste-buffer {flags} -b {buffer} -t '{pane}'");
        let script = Script::of(["load-buffer", "-b", &buffer, "-"]);
        let script = script.then(["if-shell", "-F", "-t", pane.as_str(), deaf, &turn_away, &paste]);
        match self.call_at(pane, &script, About { input: bytes, ..About::default() }) {
            Ok(said) if said.trim_end() == DEAF => Err(TmuxError::Deaf { pane: pane.clone() }),
            Ok(said) if said.is_empty() => Ok(()),
            Ok(said) => Err(TmuxError::unexpected("paste-buffer", &said)),
            Err(error) => {
                // A pane that is gone leaves the buffer behind; a server that is gone does not.
                let _ = self.call(&Script::of(["delete-buffer", "-b", &buffer]));
                Err(error)
            }
        }
    }
}

/// Returns a name that no other buffer has.
fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("pairflow-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
