//! Text as words, numbers and signs, each with its place.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Starts with a letter; digits may follow.
    Word,
    /// Digits, with points and commas inside.
    Number,
    /// A day such as `2026-03-01`.
    Date,
    /// One character that is none of these.
    Sign,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) form: Form,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Token<'_> {
    /// Returns the byte behind the token.
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Says whether the token is `word`, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Says whether the token is one of `words`, in any case.
    pub(super) fn among(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// Returns the tokens of `text[range]`; places are those in `text`.
pub(super) fn tokens(text: &str, range: Range<usize>) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while let Some(first) = text[at..range.end].chars().next() {
        let rest = &text[at..range.end];
        let (form, len) = if first.is_ascii_digit() {
            number(rest)
        } else if first.is_alphanumeric() {
            (Form::Word, word(rest))
        } else {
            (Form::Sign, first.len_utf8())
        };
        if !first.is_whitespace() {
            found.push(Token { form, text: &rest[..len], at });
        }
        at += len;
    }
    found
}

fn word(rest: &str) -> usize {
    let mut chars = rest.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let apostrophe = matches!(char, '\'' | '’') && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
        if !char.is_alphanumeric() && !apostrophe {
            return at;
        }
    }
    rest.len()
}

fn number(rest: &str) -> (Form, usize) {
    let bytes = rest.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let dash = |at: usize| bytes.get(at) == Some(&b'-');
    if [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(digit) && dash(4) && dash(7) && !digit(10) {
        return (Form::Date, 10);
    }
    let mut len = 1;
    while digit(len) || (matches!(bytes.get(len), Some(b'.' | b',')) && digit(len + 1)) {
        len += 1;
    }
    (Form::Number, len)
}
