//! The tokens of one side of a hunk, and what a language finds in them.

use super::assertion::{Assertion, split};
use super::lex::{Kind, Token};

/// A line of a side.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideLine<'a> {
    pub(super) text: &'a str,
    /// Its number in the file; 0 for the heading of the hunk.
    pub(super) number: u32,
    /// Where it stands, or would stand, in the new file.
    pub(super) here: u32,
    pub(super) changed: bool,
}

/// The tokens of a side, ready to be searched. Line 0 is the heading of the hunk.
pub(super) struct View<'v> {
    pub(super) tokens: &'v [Token<'v>],
    pub(super) lines: &'v [SideLine<'v>],
    pub(super) test_file: bool,
    close: Vec<Option<usize>>,
    /// Behind the last token of each line.
    pub(super) line_ends: Vec<usize>,
}

/// What is looked at behind a mark that has no partner, so that garbage on one long line costs no time.
const LONGEST_LOOK: usize = 80;

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Test,
    /// Something that holds tests.
    Suite,
    /// A function that is no test.
    Function,
}

/// A test, suite or function, as a language found it.
#[derive(Debug, Clone)]
pub(super) struct Def {
    pub(super) name: String,
    pub(super) sort: Sort,
    /// The first line of its attributes or decorators.
    pub(super) top: usize,
    /// The line that names it.
    pub(super) line: usize,
    /// The token that opens its body or its arguments, if any.
    pub(super) opener: Option<usize>,
}

/// What a language finds on a side; lines are lines of the side.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Tests, suites and functions, in order.
    pub(super) defs: Vec<Def>,
    pub(super) assertions: Vec<Assertion>,
    /// Marks that keep tests from running: the line and the sort of mark.
    pub(super) skips: Vec<(usize, &'static str)>,
    /// Marks that a test must fail: the line and what they expect.
    pub(super) must_fail: Vec<(usize, String)>,
    /// Lines that swallow the failure of assertions.
    pub(super) swallows: Vec<usize>,
    /// Lines that repeat what follows for several cases.
    pub(super) loops: Vec<usize>,
    /// Lines that fail by themselves when there is an error or no value.
    pub(super) guards: Vec<usize>,
    /// Lines that take an error from a call.
    pub(super) errors: Vec<usize>,
    /// The first line from which assertions outside of any visible test belong to tests.
    pub(super) tests_from: Option<usize>,
}

impl<'v> View<'v> {
    /// Makes the tokens of some lines searchable.
    pub(super) fn new(tokens: &'v [Token<'v>], lines: &'v [SideLine<'v>], test_file: bool) -> Self {
        let mut line_ends = vec![0; lines.len()];
        for (at, token) in tokens.iter().enumerate() {
            line_ends[token.line] = at + 1;
        }
        Self { tokens, lines, test_file, close: partners(tokens), line_ends }
    }

    /// Says whether the tokens from `at` on are these words and marks.
    pub(super) fn reads(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(offset, word)| self.tokens.get(at + offset).is_some_and(|token| token.is(word)))
    }

    /// Returns the word at `at`.
    pub(super) fn word(&self, at: usize) -> Option<&'v str> {
        self.tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.text)
    }

    /// Returns the text of the token before `at`, or nothing at the start.
    pub(super) fn before(&self, at: usize) -> &'v str {
        at.checked_sub(1).map_or("", |before| self.tokens[before].text)
    }

    /// Returns the token that closes what the one at `open` opens.
    pub(super) fn closer(&self, open: usize) -> Option<usize> {
        self.close.get(open).copied().flatten()
    }

    /// Returns the tokens between `open` and its closing mark, or to the end of the line if that is not in the hunk.
    pub(super) fn inside(&self, open: usize) -> &'v [Token<'v>] {
        let end = self.closer(open).unwrap_or_else(|| self.end_of_line(open));
        self.tokens.get(open + 1..end).unwrap_or_default()
    }

    /// Returns the arguments of a call whose opening mark is at `open`.
    pub(super) fn arguments(&self, open: usize) -> Vec<&'v [Token<'v>]> {
        split(self.inside(open), |token| token.is(","))
    }

    /// Returns the first token that is not on the line of the one at `at`, or one far enough away.
    pub(super) fn end_of_line(&self, at: usize) -> usize {
        self.line_ends[self.tokens[at].line].min(at + LONGEST_LOOK)
    }
}

/// For each opening mark, where its partner is. Marks without partner are common: the hunk shows only a part.
fn partners(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let mut close = vec![None; tokens.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut waiting = [0_usize; 3];
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Mark) {
        if let Some(sort) = ["(", "[", "{"].iter().position(|mark| *mark == token.text) {
            open.push((at, sort));
            waiting[sort] += 1;
        } else if let Some(sort) = [")", "]", "}"].iter().position(|mark| *mark == token.text)
            && waiting[sort] > 0
        {
            while let Some((opener, of)) = open.pop() {
                waiting[of] -= 1;
                if of == sort {
                    close[opener] = Some(at);
                    break;
                }
            }
        }
    }
    close
}
