//! Keeps the beginning and the end of an output of any length in a fixed amount of memory.

use std::collections::VecDeque;

use pairflow_core::text::counted;

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
}
