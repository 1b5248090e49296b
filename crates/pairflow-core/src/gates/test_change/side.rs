//! One side of a hunk, as it was or as it is: its tests, assertions and skip marks.
//!
//! Indentation decides which test a line belongs to: a hunk shows a part of a file, so its brackets need not match.

use std::collections::BTreeSet;

use super::assertion::{Assertion, Strength, names, read_call};
use super::source::{Language, SourceToken, TokenKind, Tokens, end_of_line, group, listed, matches, split, tokenize};
use crate::gates::diff::{DiffHunk, LineChange};

/// A line of one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideLine<'a> {
    pub(super) text: &'a str,
    /// Its number in its file; 0 for the heading of the hunk.
    pub(super) number: u32,
    /// Its place in the new file.
    pub(super) here: u32,
    pub(super) changed: bool,
}

/// A test, or a suite of tests.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) is_test: bool,
    /// The first line of its attributes or decorators, and the line that names it.
    top: usize,
    pub(super) line: usize,
    /// Its last line.
    pub(super) end: usize,
}

/// Everything found on one side of a hunk. Line 0 is the heading of the hunk.
#[derive(Default)]
pub(super) struct HunkSide<'a> {
    pub(super) lines: Vec<SideLine<'a>>,
    pub(super) tokens: Vec<SourceToken<'a>>,
    pub(super) definitions: Vec<Definition>,
    pub(super) assertions: Vec<Assertion<'a>>,
    /// Lines with a skip mark.
    pub(super) skips: Vec<usize>,
    /// Lines that hide failures.
    pub(super) hides: Vec<usize>,
    /// The first line from which code belongs to tests.
    tests_from: Option<usize>,
    /// The innermost definition of each line, and the innermost test.
    owners: Vec<[Option<usize>; 2]>,
}

impl HunkSide<'_> {
    /// Returns the name of the test that a line belongs to.
    pub(super) fn test_at(&self, line: usize) -> Option<&str> {
        self.owners[line][1].map(|nth| self.definitions[nth].name.as_str())
    }

    /// Returns the name of the test or suite that a line belongs to.
    pub(super) fn owner_at(&self, line: usize) -> Option<&str> {
        self.owners[line][0].map(|nth| self.definitions[nth].name.as_str())
    }

    /// Returns whether a line near the start of a test leaves it.
    fn returns_early(&self, line: usize) -> bool {
        let near = self.owners[line][1].is_some_and(|nth| line <= self.definitions[nth].line + 4);
        near && matches!(self.lines[line].text.trim(), "return" | "return;")
    }

    fn in_tests(&self, line: usize) -> bool {
        self.owners[line][1].is_some() || self.tests_from.is_some_and(|from| line >= from)
    }

    /// Finds which definition each line belongs to, and where each definition ends.
    fn assign_owners(&mut self, tokens: Tokens<'_, '_>, language: Language) {
        let (lines, definitions) = (&self.lines, &mut self.definitions);
        let indent = |line: usize| lines[line].text.len() - lines[line].text.trim_start().len();
        let mut open: Vec<usize> = Vec::new();
        let (mut next, mut at) = (0, 0);
        for line in 0..lines.len() {
            let here = &tokens[at..at + tokens[at..].iter().take_while(|token| token.line == line).count()];
            at += here.len();
            if let (Some(first), Some(last)) = (here.first(), here.last()) {
                let closes = first.is_any(&[")", "]", "}"]);
                // The end of a signature over several lines: `) {`, `])('name', () => {`, `):`.
                let goes_on = closes && (language == Language::Python || last.is_any(&["{", "(", "[", "=>"]));
                let left =
                    |nth: &mut usize| definitions[*nth].line < line && indent(line) <= indent(definitions[*nth].line);
                while !goes_on && open.pop_if(left).is_some() {}
            }
            while definitions.get(next).is_some_and(|definition| definition.top <= line) {
                open.push(next);
                next += 1;
            }
            // Looking further up would let garbage cost time.
            let near = || open.iter().rev().take(8).copied();
            near().for_each(|nth| definitions[nth].end = line);
            self.owners.push([near().next(), near().find(|nth| definitions[*nth].is_test)]);
        }
    }
}

/// Reads both sides of a hunk, the old one first.
pub(super) fn read<'a>(hunk: &DiffHunk<'a>, language: Language, test_file: bool) -> [HunkSide<'a>; 2] {
    let sides = [LineChange::Added, LineChange::Removed].map(|other| side_lines(hunk, other));
    let tokens = |open| sides.each_ref().map(|lines| tokenize(lines.iter().map(|line| line.text), language, open));
    let mut read = tokens(None);
    // A hunk may start inside a text of several lines: then the other reading has less prose.
    if let Some(open) = read.iter().find_map(|(_, open)| *open).filter(|open| *open != "*/") {
        let inside = tokens(Some(open));
        let prose = |read: &[(Vec<SourceToken<'_>>, _); 2]| {
            let pairs = read.iter().flat_map(|(tokens, _)| tokens.windows(2));
            pairs.filter(|pair| pair.iter().all(|token| token.kind == TokenKind::Word)).count()
        };
        if prose(&inside) < prose(&read) {
            read = inside;
        }
    }
    let [old, new] = sides;
    let [(old_tokens, _), (new_tokens, _)] = read;
    [(old, old_tokens), (new, new_tokens)].map(|(lines, tokens)| {
        let tests_from = (language != Language::Rust || test_file).then_some(0);
        let mut side = HunkSide { lines, tests_from, ..HunkSide::default() };
        let mut finder = Finder { language, test_file, tokens: &tokens, side: &mut side, top: None, is_test: false };
        let (skips, hides) = (finder.lines_with(language.syntax().skips), finder.lines_with(language.syntax().hides));
        finder.find_tests();
        finder.find_assertions();
        side.assign_owners(&tokens, language);
        side.assertions =
            std::mem::take(&mut side.assertions).into_iter().filter(|one| side.in_tests(one.line)).collect();
        let returns = (0..side.lines.len()).filter(|line| side.returns_early(*line));
        side.hides = hides.into_iter().chain(returns).collect();
        side.skips = skips;
        side.tokens = tokens;
        side
    })
}

fn side_lines<'a>(hunk: &DiffHunk<'a>, other: LineChange) -> Vec<SideLine<'a>> {
    // A heading that git cut off inside a text would swallow the hunk.
    let heading = if hunk.heading.matches('"').count().is_multiple_of(2) { hunk.heading } else { "" };
    let mut lines = vec![SideLine { text: heading, number: 0, here: 0, changed: false }];
    lines.extend(hunk.lines.iter().filter(|line| line.change != other).map(|line| SideLine {
        text: line.text,
        number: if other == LineChange::Added { line.old } else { line.new },
        here: line.new,
        changed: line.change != LineChange::Kept,
    }));
    lines
}

struct Finder<'t, 's, 'a> {
    language: Language,
    test_file: bool,
    tokens: Tokens<'t, 'a>,
    side: &'s mut HunkSide<'a>,
    /// The first attribute or decorator since the last definition, and whether one marks a test.
    top: Option<usize>,
    is_test: bool,
}

impl<'a> Finder<'_, '_, 'a> {
    fn reads(&self, at: usize, pattern: &str) -> bool {
        matches(self.tokens, at, pattern)
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn starts_line(&self, at: usize) -> bool {
        at == 0 || self.tokens[at - 1].line != self.tokens[at].line
    }

    /// Returns the lines on which one of the patterns starts.
    fn lines_with(&self, patterns: &[&str]) -> Vec<usize> {
        let texts: BTreeSet<&str> = self.tokens.iter().map(|token| token.text).collect();
        let occurs = |part: &str| matches!(part, "*" | "…") || part.split('|').any(|text| texts.contains(text));
        let possible = patterns.iter().filter(|pattern| pattern.split(' ').all(occurs));
        let starts = possible.flat_map(|pattern| (0..self.tokens.len()).filter(|at| self.reads(*at, pattern)));
        let lines: BTreeSet<usize> = starts.map(|at| self.tokens[at].line).collect();
        lines.into_iter().collect()
    }

    fn find_tests(&mut self) {
        let interesting = |token: &SourceToken<'_>| token.kind == TokenKind::Word || token.is_any(&["#", "@"]);
        for at in (0..self.tokens.len()).filter(|at| interesting(&self.tokens[*at])).collect::<Vec<_>>() {
            let line = self.tokens[at].line;
            match self.language {
                Language::Rust => self.rust(at),
                Language::Python if self.reads(at, "@") && self.starts_line(at) => {
                    self.top.get_or_insert(line);
                }
                Language::Python if self.reads(at, "def") && self.text(at + 1).starts_with("test") => {
                    self.define(at, at + 1, true);
                }
                Language::Python if self.reads(at, "class") && self.starts_line(at) => self.define(at, at + 1, false),
                Language::Python if self.reads(at, "def") => self.top = None,
                Language::Go if self.reads(at, "func") => {
                    let receiver = self.reads(at + 1, "(").then(|| group(self.tokens, at + 1).1);
                    let name = receiver.unwrap_or(at + 1);
                    let start =
                        ["Test", "Fuzz", "Example", "Benchmark"].iter().find_map(|s| self.text(name).strip_prefix(s));
                    let is_test = start.is_some_and(|rest| !rest.starts_with(char::is_lowercase));
                    if is_test && self.text(name) != "TestMain" {
                        self.define(at, name, true);
                    }
                }
                Language::Go if self.reads(at, "t . Run (") => self.define_titled(at, at + 3, true),
                Language::Js => self.js(at),
                Language::Python | Language::Go => {}
            }
        }
    }

    fn define(&mut self, at: usize, name: usize, is_test: bool) {
        let line = self.tokens[at].line;
        let top = self.top.take().unwrap_or(line);
        if is_test {
            self.side.tests_from.get_or_insert(top);
        }
        let name = self.text(name).trim_matches(['\'', '"', '`']).to_owned();
        self.side.definitions.push(Definition { name, is_test, top, line, end: line });
    }

    fn define_titled(&mut self, at: usize, open: usize, is_test: bool) {
        if self.reads(open, "(") && self.tokens.get(open + 1).is_some_and(|title| title.kind == TokenKind::Text) {
            self.define(at, open + 1, is_test);
        }
    }

    /// Reads attributes such as `#[tokio::test]` and `#[cfg(test)]`, and the function behind them.
    fn rust(&mut self, at: usize) {
        let line = self.tokens[at].line;
        if self.reads(at, "# [") {
            self.top.get_or_insert(line);
            let (inside, _) = group(self.tokens, at + 1);
            let path = inside.iter().take(16).take_while(|token| !token.is_any(&["(", "="])).last();
            let path = path.map_or("", |token| token.text);
            self.is_test |= listed("test rstest test_case case quickcheck proptest", path) || path.ends_with("_test");
            if path == "should_panic" {
                let arguments = split(inside.get(2..inside.len() - 1).unwrap_or_default(), &[","]);
                self.side.assertions.push(Assertion::new(line, &["shouldpanic".to_owned()], &arguments, true));
            }
        } else if self.reads(at, "cfg ( test )") || (line == 0 && self.reads(at, "mod tests|test")) {
            self.side.tests_from.get_or_insert(line);
        } else if self.tokens[at].is("fn") {
            // Git's heading has no attributes; in a test file it is a test or serves one.
            if self.is_test || (line == 0 && self.test_file) {
                self.define(at, at + 1, true);
            }
            (self.top, self.is_test) = (None, false);
        } else if self.tokens[at].is_any(&["struct", "enum", "impl", "let", "use", "mod"]) {
            (self.top, self.is_test) = (None, false);
        }
    }

    /// Reads `it('title', …)`, with `.skip`, `.each(table)` and the like before the title.
    fn js(&mut self, at: usize) {
        let name = self.text(at).trim_start_matches(['x', 'f']);
        let member = at > 0 && self.text(at - 1) == "." && !self.reads(at.saturating_sub(2), "t . test");
        if member || !listed("it test specify describe suite context", name) {
            return;
        }
        let mut suite = listed("describe suite context", name);
        let mut open = at + 1;
        while self.reads(open, ". *") {
            suite |= self.text(open + 1) == "describe";
            open += 2;
            let behind = if self.reads(open, "(") { group(self.tokens, open).1 } else { open + 1 };
            let table =
                self.reads(open, "(") || self.tokens.get(open).is_some_and(|token| token.kind == TokenKind::Text);
            if table && self.reads(behind, "(|.") {
                open = behind;
            }
        }
        self.define_titled(at, open, !suite);
    }

    fn find_assertions(&mut self) {
        let mut at = 0;
        let mut condition = None;
        let failure = "t|tb|b|f . Error|Errorf|Fatal|Fatalf|Fail|FailNow (";
        while at < self.tokens.len() {
            if self.reads(at, "if") {
                condition = Some(at);
            }
            let (found, end) = if self.tokens[at].kind != TokenKind::Word {
                (self.expected_value(at), at + 1)
            } else if let Some(read) = self.statement(at).or_else(|| read_call(self.tokens, at)) {
                (Some(read.0), read.1)
            } else if self.language == Language::Go && self.reads(at, failure) {
                (Some(self.failure(condition.take(), at)), at + 1)
            } else {
                (self.expected_value(at), at + 1)
            };
            self.side.assertions.extend(found);
            at = end.max(at + 1);
        }
    }

    /// Reads Python's `assert condition, message`, to the end of the line or of the brackets that are open there.
    fn statement(&self, at: usize) -> Option<(Assertion<'a>, usize)> {
        if self.language != Language::Python || !self.reads(at, "assert") {
            return None;
        }
        let mut end = at + 1;
        while self.tokens.get(end).is_some_and(|next| next.line == self.tokens[end - 1].line) {
            end = if self.reads(end, "(|[|{") { group(self.tokens, end).1 } else { end + 1 };
        }
        let parts = split(&self.tokens[at + 1..end], &[","]);
        let condition = &parts[..parts.len().min(1)];
        Some((Assertion::new(self.tokens[at].line, &["assert".to_owned()], condition, true), end))
    }

    /// Reads a value that a test compares with: `want := 3`, or an element of a table of cases.
    fn expected_value(&self, at: usize) -> Option<Assertion<'a>> {
        let assigned = self.reads(at, "want|expected =|:=");
        let starts = self.starts_line(at) || (assigned && listed("let const var", self.text(at - 1)));
        if !starts {
            return None;
        }
        let line = &self.tokens[at..end_of_line(self.tokens, at)];
        let row = matches!(line, [first, .., close, comma] if first.is_any(&["(", "[", "{"])
            && close.is_any(&[")", "]", "}"]) && comma.is(","));
        let value = || data(line[0].line, if row { "row" } else { "expected" }, line);
        (assigned || row).then(value).filter(|value| !value.literals.is_empty())
    }

    /// Reads Go's `t.Error(…)`: the condition of the `if` before it must not hold.
    fn failure(&self, condition: Option<usize>, at: usize) -> Assertion<'a> {
        let line = self.tokens[at].line;
        let near = condition.filter(|at| line - self.tokens[*at].line <= 4);
        let Some(start) = near else { return data(line, "fail", &[]) };
        let end = end_of_line(self.tokens, start);
        let block = (start..end).rev().find(|at| self.tokens[*at].is("{")).unwrap_or(end);
        let condition = split(&self.tokens[start + 1..block], &[";"]).last().copied().unwrap_or_default();
        Assertion::new(self.tokens[start].line, &["assert".to_owned()], &[condition], false)
    }
}

/// Makes an assertion of the values that a test compares with.
fn data<'a>(line: usize, kind: &str, tokens: Tokens<'_, 'a>) -> Assertion<'a> {
    let (words, literals) = names(tokens);
    Assertion { line, strength: Strength::Exact, kind: kind.to_owned(), words, literals, covers_many: false }
}
