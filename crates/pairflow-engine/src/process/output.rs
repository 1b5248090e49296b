//! Keeps the beginning and the end of an output of any length in a fixed amount of memory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pairflow_core::counted::counted;
use pairflow_core::safe::safe;

/// The head and the tail of what was written; the middle is only counted.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    dropped: u64,
}

impl Capture {
    /// Makes a capture that keeps at most `limit` bytes (and one line that says how much is missing).
    pub fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit / 2, dropped: 0 }
    }

    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.half));
        let surplus = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(kept);
        self.dropped += (skipped.len() + surplus) as u64;
    }

    /// Returns what was kept, with a note in place of what was not.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut all = self.head;
        if self.dropped > 0 {
            all.extend_from_slice(format!("\n[… {} left out …]\n", counted(self.dropped, "byte")).as_bytes());
        }
        all.extend(self.tail);
        all
    }
}

/// How much the log and its predecessor may hold together.
pub(super) const LOG_LIMIT: u64 = 10 * 1024 * 1024;

pub(super) struct RollingLog {
    path: PathBuf,
    file: File,
    size: u64,
    half: u64,
}

impl RollingLog {
    pub(super) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = crate::regular::append(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, half: limit / 2 })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.size >= self.half {
                self.roll()?;
            }
            let room = usize::try_from(self.half - self.size).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.file.write_all(now)?;
            self.size += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        fs::rename(&self.path, older(&self.path))?;
        self.file = crate::regular::append(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Returns at most the last `lines` lines and `chars` characters of `output`, without escape sequences and
/// control characters.
pub fn tail(output: &[u8], lines: usize, chars: usize) -> String {
    // Escape sequences may be longer than what they colour, hence the generous window.
    let window = &output[output.len().saturating_sub(chars.saturating_mul(16))..];
    let text = safe(&String::from_utf8_lossy(window)).into_owned();
    let kept: Vec<&str> = text.trim_end().lines().rev().take(lines).collect();
    let joined = kept.into_iter().rev().collect::<Vec<_>>().join("\n");
    let surplus = joined.chars().count().saturating_sub(chars);
    joined.chars().skip(surplus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, pieces: &[&str]) -> String {
        let mut capture = Capture::new(limit);
        pieces.iter().for_each(|piece| capture.take(piece.as_bytes()));
        String::from_utf8(capture.into_bytes()).unwrap()
    }

    #[test]
    fn output_within_the_limit_is_kept_whole() {
        assert_eq!(captured(10, &["abc", "defg", "hij"]), "abcdefghij");
        assert_eq!(captured(10, &[]), "");
    }

    #[test]
    fn the_middle_of_a_long_output_is_cut_with_a_note() {
        assert_eq!(captured(6, &["abcdefghij"]), "abc\n[… 4 bytes left out …]\nhij");
        assert_eq!(captured(6, &["a", "b", "c", "d", "e", "f", "g"]), "abc\n[… 1 byte left out …]\nefg");
    }

    #[test]
    fn every_way_to_cut_the_same_output_into_pieces_keeps_the_same() {
        let text: String = ('a'..='z').collect();
        let whole = captured(8, &[&text]);
        for size in 1..26 {
            let pieces: Vec<&str> = (0..26).step_by(size).map(|at| &text[at..(at + size).min(26)]).collect();
            assert_eq!(captured(8, &pieces), whole);
        }
    }

    #[test]
    fn the_log_keeps_the_newest_output_within_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/codex.log");
        let mut log = RollingLog::open(&path, 20).unwrap();
        log.write(b"0123456789").unwrap();
        log.write(b"abcdefghijABCDE").unwrap();
        drop(log);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ABCDE");
        assert_eq!(fs::read_to_string(older(&path)).unwrap(), "abcdefghij");
        RollingLog::open(&path, 20).unwrap().write(b"FG").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ABCDEFG");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let output = (1..=100).map(|n| format!("line {n}\n")).collect::<String>();
        assert_eq!(tail(output.as_bytes(), 2, 2000), "line 99\nline 100");
    }

    #[test]
    fn a_single_endless_line_is_cut_to_its_last_characters() {
        let output = format!("{}end", "ä".repeat(100_000));
        let kept = tail(output.as_bytes(), 20, 2000);
        assert_eq!(kept.chars().count(), 2000);
        assert!(kept.ends_with("ääend"));
    }

    #[test]
    fn escape_sequences_and_control_characters_vanish() {
        let nasty = "\u{1b}[31mred\u{1b}[0m \u{1b}]52;c;aGk=\u{7}\u{1b}]8;;http://x\u{1b}\\link\u{8}\u{0}\u{9b}2J\u{202e}x\r\n\u{1b}(Bok\tend";
        assert_eq!(tail(nasty.as_bytes(), 20, 2000), "red linkx\nok\tend");
    }

    #[test]
    fn an_unclosed_sequence_does_not_swallow_the_next_line() {
        assert_eq!(tail(b"a\x1b]0;title\nFAILED", 20, 2000), "a0;title\nFAILED");
        assert_eq!(tail(b"\xff\xfe", 20, 2000), "\u{fffd}\u{fffd}");
        assert_eq!(tail(b"", 20, 2000), "");
    }
}
