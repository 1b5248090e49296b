//! Types text into a pane, whatever the person is doing with the pane, and reads what it shows. What a pane shows is never a
//! reason to decide anything about the work.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::client::CommandList;
use super::error::{PaneId, TmuxError};
use super::server::{CallOptions, Tmux};

/// How long a text may be, in bytes: a notice, not a document.
const LONGEST: usize = 4096;
const DEAF: &str = "deaf";

/// Pastes in brackets, where the program asked for them, and byte for byte.
const AS_TEXT: &str = "-p -r -d";
/// Pastes bare, with each line feed as the carriage return that the Enter key sends.
const AS_KEY: &str = "-d";

impl Tmux {
    /// Pastes `text` into `pane`, without Enter. It has to be a single line without control characters.
    pub fn paste(&self, pane: &PaneId, text: &str) -> Result<(), TmuxError> {
        let bad = |c: &char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        if let Some(c) = text.chars().find(bad) {
            return Err(TmuxError::refused(format!("a text with the control character {c:?}")));
        }
        if text.is_empty() || text.len() > LONGEST {
            return Err(TmuxError::refused(format!("a text of {} bytes; the limit is {LONGEST}", text.len())));
        }
        self.feed(pane, text.as_bytes(), AS_TEXT)
    }

    /// Presses Enter in `pane`, for the program and not for a mode that a person may be in. Leave 200 ms after a paste.
    pub fn enter(&self, pane: &PaneId) -> Result<(), TmuxError> {
        self.feed(pane, b"\n", AS_KEY)
    }

    /// Presses Esc in `pane`, for the program and not for a mode that a person may be in.
    pub fn escape(&self, pane: &PaneId) -> Result<(), TmuxError> {
        self.feed(pane, b"\x1b", AS_KEY)
    }

    fn feed(&self, pane: &PaneId, bytes: &[u8], flags: &str) -> Result<(), TmuxError> {
        let buffer = fresh_name();
        // The server does nothing between the look and the paste, so a program that ends right now does no harm.
        let deaf = "#{||:#{pane_dead},#{pane_input_off}}";
        let turn_away = format!("delete-buffer -b {buffer} ; display-message -p {DEAF}");
        let paste = format!("paste-buffer {flags} -b {buffer} -t '{pane}'");
        let commands = CommandList::of(["load-buffer", "-b", &buffer, "-"]);
        let commands = commands.then(["if-shell", "-F", "-t", pane.as_str(), deaf, &turn_away, &paste]);
        match self.call_at(pane, &commands, CallOptions { input: bytes, ..CallOptions::default() }) {
            Ok(said) if said.trim_end() == DEAF => Err(TmuxError::Deaf { pane: pane.clone() }),
            Ok(said) if said.is_empty() => Ok(()),
            Ok(said) => Err(TmuxError::unexpected("paste-buffer", &said)),
            Err(error) => {
                // A pane that is gone leaves the buffer behind; a server that is gone does not.
                let _ = self.call(&CommandList::of(["delete-buffer", "-b", &buffer]));
                Err(error)
            }
        }
    }

    /// Returns what the program in `pane` shows, wrapped lines joined, even in copy mode. At most the last 256 KiB, without
    /// what has scrolled away.
    pub fn capture(&self, pane: &PaneId) -> Result<String, TmuxError> {
        let said = self.call_pane(pane, ["capture-pane", "-p", "-J", "-t", pane.as_str()])?;
        Ok(trimmed(&said, MOST_BYTES))
    }

    /// As [`Self::capture`], with escape sequences for styles.
    pub fn capture_styled(&self, pane: &PaneId) -> Result<String, TmuxError> {
        self.call_pane(pane, ["capture-pane", "-p", "-e", "-J", "-t", pane.as_str()])
    }

    /// Returns how many lines have scrolled out of `pane`.
    pub fn history(&self, pane: &PaneId) -> Result<usize, TmuxError> {
        let said = self.call_pane(pane, ["display-message", "-p", "-t", pane.as_str(), "#{history_size}"])?;
        said.trim_end().parse().map_err(|_| TmuxError::unexpected("display-message", &said))
    }

    /// Returns the end of the output of a program that ran in `pane`. With the [`Self::history`] at its start, it includes
    /// what has scrolled away since.
    pub fn end_of_output(&self, pane: &PaneId, begun: Option<usize>) -> Result<String, TmuxError> {
        let back = begun.map_or(0, |begun| {
            usize::min(HISTORY_LINES, self.history(pane).map_or(0, |now| now.saturating_sub(begun)))
        });
        let from = format!("-{back}");
        let said =
            trimmed(&self.call_pane(pane, ["capture-pane", "-p", "-J", "-S", &from, "-t", pane.as_str()])?, LAST_BYTES);
        // tmux adds a line of its own.
        let (before, last) = said.rsplit_once('\n').unwrap_or(("", &said));
        Ok(if last.starts_with("Pane is dead") { before.trim_end().to_owned() } else { said })
    }

    /// Whether the terminal's cursor is shown in `pane`.
    pub fn shows_cursor(&self, pane: &PaneId) -> Result<bool, TmuxError> {
        let said = self.call_pane(pane, ["display-message", "-p", "-t", pane.as_str(), "#{cursor_flag}"])?;
        Ok(said.trim_end() == "1")
    }

    /// Copies the output of `pane` from now on into a new `file`, up to 8 MiB; without a file the copying ends.
    pub fn pipe(&self, pane: &PaneId, file: Option<&Path>) -> Result<(), TmuxError> {
        let mut words = vec!["pipe-pane".to_owned(), "-t".to_owned(), pane.to_string()];
        if let Some(file) = file {
            make(file)?;
            words.push(copier(file));
        }
        self.call_pane(pane, words).map(drop)
    }
}

/// Returns a name that no other buffer has.
fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("pairflow-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How many bytes are captured at most; wrapped lines are joined, so a line may be long.
const MOST_BYTES: usize = 256 * 1024;
/// How many lines of history are searched for the end of a program's output, and how much of it is returned.
const HISTORY_LINES: usize = 200;
const LAST_BYTES: usize = 4096;
/// How much of a program's output is copied, in the blocks of 512 bytes in which shells count files.
const COPIED_BLOCKS: usize = 8 * 1024 * 1024 / 512;

/// Returns the last `bytes` of `text`, without trailing blanks.
fn trimmed(text: &str, bytes: usize) -> String {
    let mut joined = text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let mut cut = joined.len().saturating_sub(bytes);
    while !joined.is_char_boundary(cut) {
        cut += 1;
    }
    joined.drain(..cut);
    joined
}

/// Creates `file` anew, readable by its owner only.
fn make(file: &Path) -> Result<(), TmuxError> {
    let unusable = |source| TmuxError::io("write", file, source);
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unusable(error)),
        _ => {}
    }
    crate::regular::create_new(file, 0o600).map(drop).map_err(unusable)
}

/// Returns a shell line that copies its input into `file`. tmux and the shell both expand it, so the path is written as
/// octal numbers, which mean nothing to either.
fn copier(file: &Path) -> String {
    let path: String = file.as_os_str().as_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    // The shell cuts line feeds off the end of a path, hence the dot, which is cut off as well.
    let file = format!("file=$(printf '{path}.')");
    format!("{file}; ulimit -c 0; ulimit -f {COPIED_BLOCKS}; exec cat >> \"${{file%.}}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_screen_is_kept_without_its_empty_lines() {
        assert_eq!(trimmed("a  \n\nb \nc\n\n\n", 100), "a\n\nb\nc");
        assert_eq!(trimmed("\n \n", 100), "");
        assert_eq!(trimmed("ää", 3), "ä");
    }
}
