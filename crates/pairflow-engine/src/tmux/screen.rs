//! What a pane shows, as text; and a copy of what its program writes, to look for faults in. Neither is ever a
//! reason to decide anything about the work.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::argv::Script;
use super::error::TmuxError;
use super::server::{About, Tmux};
use super::target::PaneId;

/// How many bytes are captured at most: wrapped lines are joined, so that a line may be long.
const MOST_BYTES: usize = 256 * 1024;
/// How far back the end of a program's output is looked for, and how much of it is told.
const HISTORY_LINES: usize = 200;
const LAST_BYTES: usize = 4096;
/// How much of a program's output is copied, in the blocks of 512 bytes in which shells count files.
const COPIED_BLOCKS: usize = 8 * 1024 * 1024 / 512;

impl Tmux {
    /// Returns what the program in `pane` shows right now, wrapped lines joined, also while a person is in copy mode
    /// there. What has scrolled away is no part of it. At most the last 256 KiB.
    pub fn capture(&self, pane: &PaneId) -> Result<String, TmuxError> {
        let script = Script::of(["capture-pane", "-p", "-J", "-t", pane.as_str()]);
        let said = self.call_at(pane, &script, About::default())?;
        Ok(trimmed(&said, MOST_BYTES))
    }

    /// As [`Self::capture`], with the escape sequences of colours and weights.
    pub fn capture_styled(&self, pane: &PaneId) -> Result<String, TmuxError> {
        let script = Script::of(["capture-pane", "-p", "-e", "-J", "-t", pane.as_str()]);
        self.call_at(pane, &script, About::default())
    }

    /// Returns how many lines have scrolled out of `pane`.
    pub fn history(&self, pane: &PaneId) -> Result<usize, TmuxError> {
        let script = Script::of(["display-message", "-p", "-t", pane.as_str(), "#{history_size}"]);
        let said = self.call_at(pane, &script, About::default())?;
        said.trim_end().parse().map_err(|_| TmuxError::unexpected("display-message", &said))
    }

    /// Returns the end of what a program has written that is gone from `pane`. With what [`Self::history`] said at its
    /// start, what has scrolled away since is part of it.
    pub fn last_words(&self, pane: &PaneId, begun: Option<usize>) -> Result<String, TmuxError> {
        let back = begun.map_or(0, |begun| {
            usize::min(HISTORY_LINES, self.history(pane).map_or(0, |now| now.saturating_sub(begun)))
        });
        let from = format!("-{back}");
        let script = Script::of(["capture-pane", "-p", "-J", "-S", &from, "-t", pane.as_str()]);
        let said = trimmed(&self.call_at(pane, &script, About::default())?, LAST_BYTES);
        // tmux's own word, on a line of its own.
        let (before, last) = said.rsplit_once('\n').unwrap_or(("", &said));
        Ok(if last.starts_with("Pane is dead") { before.trim_end().to_owned() } else { said })
    }

    /// Whether the terminal's cursor is shown in `pane`.
    pub fn shows_cursor(&self, pane: &PaneId) -> Result<bool, TmuxError> {
        let script = Script::of(["display-message", "-p", "-t", pane.as_str(), "#{cursor_flag}"]);
        let said = self.call_at(pane, &script, About::default())?;
        Ok(said.trim_end() == "1")
    }

    /// Copies what the program in `pane` writes from now on into a new `file`, the first 8 MiB of it; without a file
    /// the copying ends.
    pub fn pipe(&self, pane: &PaneId, file: Option<&Path>) -> Result<(), TmuxError> {
        let mut words = vec!["pipe-pane".to_owned(), "-t".to_owned(), pane.to_string()];
        if let Some(file) = file {
            make(file)?;
            words.push(copier(file));
        }
        self.call_at(pane, &Script::of(words), About::default()).map(drop)
    }
}

/// Returns `text` without the empty ends of its lines, and of the lines the last `bytes`.
fn trimmed(text: &str, bytes: usize) -> String {
    let mut joined = text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let mut cut = joined.len().saturating_sub(bytes);
    while !joined.is_char_boundary(cut) {
        cut += 1;
    }
    joined.drain(..cut);
    joined
}

/// Makes `file` new, and readable for nobody else.
fn make(file: &Path) -> Result<(), TmuxError> {
    let unusable = |source| TmuxError::io("write", file, source);
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unusable(error)),
        _ => {}
    }
    crate::regular::create_new(file, 0o600).map(drop).map_err(unusable)
}

/// Returns a line for the shell that copies its input into `file`. tmux expands formats and times in it, and the shell
/// expands the rest, so the path comes as numbers, which mean nothing to either.
fn copier(file: &Path) -> String {
    let path: String = file.as_os_str().as_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    // The shell cuts line feeds off the end of a path, hence the dot, which it is told to cut as well.
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
