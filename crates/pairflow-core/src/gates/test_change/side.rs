//! One side of a hunk, its lines as they were or as they are, with the test that each belongs to.
//!
//! Which test a line belongs to is told by indentation, not by counting brackets: a hunk shows only a part of the file,
//! so its brackets need not match.

use super::lex::{Kind, Lexed, Open, Token, lex};
use super::paths::Language;
use super::view::{Def, Found, SideLine, Sort, View};
use super::{go, js, python, rust};
use crate::gates::diff::{Change, Hunk};

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
