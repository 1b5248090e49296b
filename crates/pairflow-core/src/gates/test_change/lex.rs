//! Tokens of the four languages, as far as finding tests needs them.
//!
//! Comments are dropped and a literal is one token, so that words inside them are never taken for code. A hunk may
//! start inside a text of many lines; the caller says where it starts, and [`Lexed::open`] tells how it ended.

use super::paths::Language;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    Text,
    Mark,
}

/// One token, with the line of the hunk's side that it starts on and how far that is indented.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) indent: usize,
}

impl Token<'_> {
    /// Says whether the token is this word or mark.
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }
}

/// A text that runs over several lines, by what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// A plain text of Rust, or one of three quotes, or one of backticks.
    Text(&'static str),
    /// A raw text of Rust with this many `#`.
    Raw(usize),
    /// A block comment.
    Comment,
}

/// The tokens of a text, and what was still open at its end.
pub(super) struct Lexed<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) open: Option<Open>,
}

/// Reads `text`, which starts inside `open`; its first line is number `line`.
pub(super) fn lex(text: &str, language: Language, line: usize, open: Option<Open>) -> Lexed<'_> {
    let mut lexer = Lexer { text, language, at: 0, line, indent: 0, tokens: Vec::new() };
    lexer.indent = lexer.indent_here();
    let mut open = open;
    if let Some(inside) = open {
        open = lexer.rest_of(inside);
    }
    while open.is_none() && lexer.at < text.len() {
        open = lexer.step();
    }
    Lexed { tokens: lexer.tokens, open }
}

const OPERATORS: [&str; 14] = ["===", "!==", "==", "!=", "<=", ">=", "&&", "||", "=>", "->", "::", ":=", "..", "**"];

/// A slash that finds no partner within this many bytes divides.
const LONGEST_REGEX: usize = 200;

struct Lexer<'a> {
    text: &'a str,
    language: Language,
    at: usize,
    line: usize,
    indent: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn indent_here(&self) -> usize {
        let blanks = self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
        blanks.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
    }

    /// Goes `length` bytes on, counting lines.
    fn skip(&mut self, length: usize) {
        let lines = memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.at..self.at + length]).count();
        self.at += length;
        self.line += lines;
        if lines > 0 && self.text.as_bytes()[self.at - 1] == b'\n' {
            self.indent = self.indent_here();
        }
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let text = &self.rest()[..length];
        self.tokens.push(Token { kind, text, line: self.line, indent: self.indent });
        self.skip(length);
    }

    /// Takes one token, blank or comment; says what is open if the text ends inside it.
    fn step(&mut self) -> Option<Open> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or('\n');
        if first.is_whitespace() {
            self.skip(first.len_utf8());
            return None;
        }
        if let Some(inside) = self.comment(rest) {
            return inside;
        }
        if let Some((length, open)) = self.literal(rest) {
            self.push(Kind::Text, length);
            return open;
        }
        if first.is_ascii_digit() {
            self.push(Kind::Number, number_length(rest));
            return None;
        }
        let length = length_while(rest, is_word);
        if length > 0 {
            self.push(Kind::Word, length);
            return None;
        }
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
        self.push(Kind::Mark, operator.map_or(first.len_utf8(), |operator| operator.len()));
        None
    }

    /// Skips a comment, if one starts here.
    fn comment(&mut self, rest: &str) -> Option<Option<Open>> {
        if self.language == Language::Python {
            return rest.starts_with('#').then(|| {
                self.skip(line_length(rest));
                None
            });
        }
        if rest.starts_with("//") {
            self.skip(line_length(rest));
            return Some(None);
        }
        if rest.starts_with("*/") {
            // The hunk starts inside a comment: what looked like tokens was prose.
            self.tokens.clear();
            self.skip(2);
            return Some(None);
        }
        rest.starts_with("/*").then(|| {
            self.skip(2);
            self.rest_of(Open::Comment)
        })
    }

    /// Skips to the end of what is open; says so if the end is not here.
    fn rest_of(&mut self, open: Open) -> Option<Open> {
        let rest = self.rest();
        let end = match open {
            Open::Comment => rest.find("*/").map(|at| at + 2),
            Open::Raw(hashes) => raw_end(rest, hashes),
            Open::Text(end) => text_end(rest, end, end == "`" && self.language == Language::Go),
        };
        self.skip(end.unwrap_or(rest.len()));
        if end.is_some() { None } else { Some(open) }
    }

    /// The length of the literal that starts here, and what is open if it does not end.
    fn literal(&self, rest: &str) -> Option<(usize, Option<Open>)> {
        match self.language {
            Language::Rust => rust_literal(rest),
            Language::Python => python_literal(rest),
            Language::Go => quoted(rest, true),
            Language::Js => quoted(rest, false).or_else(|| self.regex(rest)),
        }
    }

    /// A regular expression of JavaScript: a slash where no value can be divided, and another one on the same line.
    fn regex(&self, rest: &str) -> Option<(usize, Option<Open>)> {
        let divides = self.tokens.last().is_some_and(|token| match token.kind {
            Kind::Mark => matches!(token.text, ")" | "]" | "}"),
            _ => token.text != "return",
        });
        if divides || !rest.starts_with('/') {
            return None;
        }
        let (mut in_class, mut escaped) = (false, false);
        for (at, byte) in rest.bytes().enumerate().take(LONGEST_REGEX).skip(1) {
            match byte {
                b'\n' => return None,
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    let flags = length_while(&rest[at + 1..], |c| c.is_ascii_alphabetic());
                    return Some((at + 1 + flags, None));
                }
                _ => {}
            }
        }
        None
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn length_while(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// The length of a number; a dot belongs to it only before a digit, so that `0..9` and `pair.0.name` fall apart.
fn number_length(text: &str) -> usize {
    let whole = length_while(text, is_word);
    let fraction = text[whole..].strip_prefix('.').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    fraction.map_or(whole, |rest| whole + 1 + length_while(rest, is_word))
}

fn line_length(text: &str) -> usize {
    memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len())
}

/// Where a text that ends with `end` is over; a backslash hides the next byte unless the text is raw.
fn text_end(text: &str, end: &str, raw: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(end.as_bytes()) {
            return Some(at + end.len());
        }
        at += if bytes[at] == b'\\' && !raw { 2 } else { 1 };
    }
    None
}

fn raw_end(text: &str, hashes: usize) -> Option<usize> {
    memchr::memchr_iter(b'"', text.as_bytes()).find_map(|at| {
        let behind = text.as_bytes()[at + 1..].iter().take(hashes).take_while(|byte| **byte == b'#').count();
        (behind == hashes).then_some(at + 1 + hashes)
    })
}

/// The length of a text that must end on its line, its quote at `start`; up to the line's end if it does not.
fn on_line(rest: &str, start: usize) -> usize {
    let bytes = rest.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'\n' {
        if bytes[at] == bytes[start] {
            return at + 1;
        }
        let hides = bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation);
        at += if hides { 2 } else { 1 };
    }
    at
}

/// A text that may run over lines: its length, and what is open if it does not end.
fn over_lines(rest: &str, inner: usize, end: &'static str, raw: bool) -> (usize, Option<Open>) {
    match text_end(&rest[inner..], end, raw) {
        Some(length) => (inner + length, None),
        None => (rest.len(), Some(Open::Text(end))),
    }
}

fn quoted(rest: &str, raw_backtick: bool) -> Option<(usize, Option<Open>)> {
    if rest.starts_with('`') {
        return Some(over_lines(rest, 1, "`", raw_backtick));
    }
    rest.starts_with(['"', '\'']).then(|| (on_line(rest, 0), None))
}

fn python_literal(rest: &str) -> Option<(usize, Option<Open>)> {
    let prefix = length_while(rest, |c| "rRbBfFuU".contains(c));
    if prefix > 2 {
        return None;
    }
    let text = &rest[prefix..];
    if text.starts_with("\"\"\"") {
        return Some(over_lines(rest, prefix + 3, "\"\"\"", false));
    }
    if text.starts_with("'''") {
        return Some(over_lines(rest, prefix + 3, "'''", false));
    }
    text.starts_with(['"', '\'']).then(|| (on_line(rest, prefix), None))
}

fn rust_literal(rest: &str) -> Option<(usize, Option<Open>)> {
    let prefix = length_while(rest, |c| matches!(c, 'b' | 'c' | 'r'));
    let text = &rest[prefix..];
    if prefix <= 2 && rest[..prefix].ends_with('r') {
        let hashes = length_while(text, |c| c == '#');
        if text[hashes..].starts_with('"') {
            let inner = prefix + hashes + 1;
            let end = raw_end(&rest[inner..], hashes);
            return Some(end.map_or((rest.len(), Some(Open::Raw(hashes))), |length| (inner + length, None)));
        }
    }
    if prefix <= 1 && text.starts_with('"') {
        return Some(over_lines(rest, prefix + 1, "\"", false));
    }
    if prefix <= 1 && text.starts_with('\'') {
        return character(&text[1..]).map(|length| (prefix + 1 + length, None));
    }
    None
}

/// The length of a Rust character behind its first quote; none for a lifetime.
fn character(text: &str) -> Option<usize> {
    if text.starts_with('\\') {
        let end = text.bytes().take(16).skip(2).take_while(|byte| *byte != b'\n').position(|byte| byte == b'\'');
        return end.map(|at| at + 3);
    }
    let length = text.chars().next().filter(|c| *c != '\n')?.len_utf8();
    text[length..].starts_with('\'').then_some(length + 1)
}
