//! One side of a hunk: its lines as they were or as they are, and what a language finds in them.
//!
//! Which test a line belongs to is told by indentation, not by counting brackets: a hunk shows only a part of the file,
//! so its brackets need not match.

use super::assertion::{Assertion, split};
use super::lex::{Kind, Lexed, Open, Token, lex};
use super::paths::Language;
use super::{go, js, python, rust};
use crate::gates::diff::{Change, Hunk};

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
    line_ends: Vec<usize>,
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

/// A side that has been read: everything has its owner.
pub(super) struct Side<'a> {
    pub(super) lines: Vec<SideLine<'a>>,
    pub(super) found: Found,
    /// The last line of each def.
    pub(super) ends: Vec<usize>,
    /// The innermost test, and the innermost def of any sort, of each line; as indexes of defs.
    owners: Vec<Owner>,
}

type Owner = (Option<usize>, Option<usize>);

impl Side<'_> {
    /// Returns the name of the test that a line belongs to.
    pub(super) fn test_at(&self, line: usize) -> Option<&str> {
        self.owners[line].0.map(|def| self.found.defs[def].name.as_str())
    }

    /// Says whether a line belongs to a function that is no test.
    pub(super) fn in_function(&self, line: usize) -> bool {
        let (test, def) = self.owners[line];
        test.is_none() && def.is_some_and(|def| self.found.defs[def].sort == Sort::Function)
    }

    /// Returns the name of the test, suite or function that a line belongs to.
    pub(super) fn def_at(&self, line: usize) -> Option<&str> {
        self.owners[line].1.map(|def| self.found.defs[def].name.as_str())
    }

    /// Says whether an assertion on this line is part of a test.
    pub(super) fn in_tests(&self, line: usize) -> bool {
        self.owners[line].0.is_some() || self.found.tests_from.is_some_and(|from| line >= from)
    }
}

impl<'v> View<'v> {
    fn new(tokens: &'v [Token<'v>], lines: &'v [SideLine<'v>], test_file: bool) -> Self {
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

/// Reads both sides of a hunk, the old one first.
pub(super) fn read<'a>(hunk: &Hunk<'a>, language: Language, test_file: bool) -> [Side<'a>; 2] {
    let [old, new] = [Change::Added, Change::Removed].map(|other| lines_without(hunk, other));
    let texts = [&old, &new].map(|lines| lines[1..].iter().map(|line| line.text).collect::<Vec<_>>().join("\n"));
    let start = starts_inside(&texts, language);
    let reading = Reading { language, test_file, start };
    [reading.side(old, &texts[0]), reading.side(new, &texts[1])]
}

fn lines_without<'a>(hunk: &Hunk<'a>, other: Change) -> Vec<SideLine<'a>> {
    // A heading that git cut off inside a text would swallow the hunk.
    let heading = if hunk.heading.matches('"').count().is_multiple_of(2) { hunk.heading } else { "" };
    let mut lines = vec![SideLine { text: heading, number: 0, here: 0, changed: false }];
    lines.extend(hunk.lines.iter().filter(|line| line.change != other).map(|line| SideLine {
        text: line.text,
        number: if other == Change::Added { line.old } else { line.new },
        here: line.new,
        changed: line.change != Change::Kept,
    }));
    lines
}

/// What the hunk starts inside of: the guess under which it looks most like code, if it does not end well otherwise.
fn starts_inside(texts: &[String; 2], language: Language) -> Option<Open> {
    let read = |start| texts.each_ref().map(|text| lex(text, language, 1, start));
    let plain = read(None);
    let open = plain.iter().find_map(|lexed| lexed.open).filter(|open| *open != Open::Comment)?;
    let looks_like_code = |lexed: &[Lexed<'_>; 2]| {
        let marks = lexed.iter().flat_map(|lexed| &lexed.tokens).filter(|token| token.kind == Kind::Mark);
        marks.filter(|token| "(){};=".contains(token.text)).count()
    };
    (looks_like_code(&read(Some(open))) > looks_like_code(&plain)).then_some(open)
}

struct Reading {
    language: Language,
    test_file: bool,
    start: Option<Open>,
}

impl Reading {
    fn side<'a>(&self, lines: Vec<SideLine<'a>>, text: &str) -> Side<'a> {
        let mut tokens = lex(lines[0].text, self.language, 0, None).tokens;
        tokens.extend(lex(text, self.language, 1, self.start).tokens);
        let view = View::new(&tokens, &lines, self.test_file);
        let found = match self.language {
            Language::Rust => rust::find(&view),
            Language::Js => js::find(&view),
            Language::Python => python::find(&view),
            Language::Go => go::find(&view),
        };
        let (ends, owners) = own(&view, &found.defs, self.language);
        Side { found, ends, owners, lines }
    }
}

/// Says where each def ends and which one each line belongs to.
fn own(view: &View<'_>, defs: &[Def], language: Language) -> (Vec<usize>, Vec<Owner>) {
    let last = view.lines.len() - 1;
    let mut ends = vec![last; defs.len()];
    let mut owners = vec![(None, None); view.lines.len()];
    let firsts = first_tokens(view);
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut next = defs.iter().enumerate().peekable();
    for line in 0..=last {
        if let Some(at) = firsts[line].filter(|at| leaves(view, *at, language)) {
            let (indent, closing) = (view.tokens[at].indent, closes(&view.tokens[at]));
            while let Some((def, _)) = open.pop_if(|(def, depth)| defs[*def].line < line && indent <= *depth) {
                ends[def] = if closing { line } else { line - 1 };
            }
        }
        while let Some((def, found)) = next.next_if(|(_, def)| def.top <= line) {
            open.push((def, firsts[found.line].map_or(0, |at| view.tokens[at].indent)));
        }
        owners[line] = owner(&open, defs);
        // A test that is over on its own line must not own the next one.
        while let Some((def, _)) = open.pop_if(|(def, _)| ended_by(view, &defs[*def], line)) {
            ends[def] = line;
        }
    }
    (ends, owners)
}

fn owner(open: &[(usize, usize)], defs: &[Def]) -> Owner {
    // Tests stand a few levels deep; looking further up would let garbage cost time.
    let mut near = open.iter().rev().take(8).map(|(def, _)| *def);
    (near.clone().find(|def| defs[*def].sort == Sort::Test), near.next())
}

fn ended_by(view: &View<'_>, def: &Def, line: usize) -> bool {
    let closer = def.opener.and_then(|opener| view.closer(opener));
    def.line == line && closer.is_some_and(|closer| view.tokens[closer].line == line)
}

fn closes(token: &Token<'_>) -> bool {
    matches!(token.text, ")" | "]" | "}") && token.kind == Kind::Mark
}

/// Says whether a line that starts with the token at `at`, no deeper than a def, is the end of that def.
fn leaves(view: &View<'_>, at: usize, language: Language) -> bool {
    if !closes(&view.tokens[at]) {
        return true;
    }
    // The end of a signature over several lines: `) {`, `])('name', () => {`, `):`.
    let last = view.tokens[view.line_ends[view.tokens[at].line] - 1].text;
    language != Language::Python && !matches!(last, "{" | "(" | "[" | "=>")
}

fn first_tokens(view: &View<'_>) -> Vec<Option<usize>> {
    let mut firsts = vec![None; view.lines.len()];
    for (at, token) in view.tokens.iter().enumerate() {
        firsts[token.line].get_or_insert(at);
    }
    firsts
}
