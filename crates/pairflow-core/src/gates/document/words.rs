//! Words of a text with their places: tokens, ids of requirements and criteria, placeholders.
//!
//! Ids are `R1`, `REQ-12`, `FR-AUTH-3`, `AC 4`, `R2.1`. Knows nothing of Markdown.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenForm {
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
pub(super) struct TextToken<'a> {
    pub(super) form: TokenForm,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl TextToken<'_> {
    /// Returns the byte behind the token.
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Returns whether the token is `word`, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Returns whether the token is one of `words`, which are separated by blanks, in any case.
    pub(super) fn among(&self, words: &str) -> bool {
        words.split_ascii_whitespace().any(|word| self.is(word))
    }
}

/// Returns the tokens of `text[range]`; places are those in `text`.
pub(super) fn tokens(text: &str, range: Range<usize>) -> Vec<TextToken<'_>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while let Some(first) = text[at..range.end].chars().next() {
        let rest = &text[at..range.end];
        let (form, len) = if first.is_ascii_digit() {
            number_len(rest)
        } else if first.is_alphanumeric() {
            (TokenForm::Word, word_len(rest))
        } else {
            (TokenForm::Sign, first.len_utf8())
        };
        if !first.is_whitespace() {
            found.push(TextToken { form, text: &rest[..len], at });
        }
        at += len;
    }
    found
}

fn word_len(rest: &str) -> usize {
    let mut chars = rest.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let apostrophe = matches!(char, '\'' | '’') && chars.peek().is_some_and(|(_, next)| next.is_alphabetic());
        if !char.is_alphanumeric() && !apostrophe {
            return at;
        }
    }
    rest.len()
}

fn number_len(rest: &str) -> (TokenForm, usize) {
    let bytes = rest.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let dash = |at: usize| bytes.get(at) == Some(&b'-');
    if [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(digit) && dash(4) && dash(7) && !digit(10) {
        return (TokenForm::Date, 10);
    }
    let mut len = 1;
    while digit(len) || (matches!(bytes.get(len), Some(b'.' | b',')) && digit(len + 1)) {
        len += 1;
    }
    (TokenForm::Number, len)
}

/// What an id is, however its letters and digits are joined: `R-1` and `R1` are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequirementId {
    pub(super) prefix: String,
    pub(super) number: String,
}

/// An id in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) id: RequirementId,
    pub(super) at: usize,
    pub(super) end: usize,
    /// The number of the id that starts the range which ends here, as in `R1–R4`.
    from: Option<u32>,
}

impl Mention {
    /// Returns the id, after those between it and the start of its range.
    pub(super) fn ids(&self) -> impl Iterator<Item = RequirementId> {
        let to = self.from.and_then(|_| self.id.number.parse().ok()).unwrap_or(0);
        // `R01` is written with two digits, and so is what follows it.
        let width = if self.id.number.starts_with('0') { self.id.number.len() } else { 0 };
        let id =
            move |number: u32| RequirementId { prefix: self.id.prefix.clone(), number: format!("{number:0>width$}") };
        (self.from.map_or(0, |from| from + 1)..to).map(id).chain([self.id.clone()])
    }
}

/// Names of standards and the like that look like ids.
const NOT_IDS: &str = "UTF SHA ISO HTTP HTTPS IP IPV TLS SSL RFC MD AES RSA BASE X EC CVE PEP WCAG V ES H MP USB GPT COVID \
    ECMA IEEE PCI SOC";

const PERCENTILES: &str = "50 75 90 95 98 99 99.9 999";

/// Wider ranges name their ends alone.
const WIDEST: u32 = 50;

/// Returns every id in `text[range]`, in order.
pub(super) fn mentions(text: &str, range: Range<usize>) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        match mention_at(text, at, range.end) {
            Some(mut mention) => {
                at = mention.end;
                mention.from = found.last().and_then(|last| range_from(text, last, &mention));
                found.push(mention);
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    found
}

/// Returns the id that `text[range]` starts with, as the name of what follows; `R1 and R2 …` names nothing.
pub(super) fn leading(text: &str, range: Range<usize>) -> Option<Mention> {
    let body = &text[range.clone()];
    let marks = body.len() - body.trim_start_matches(|char: char| char.is_whitespace() || "*_[(~".contains(char)).len();
    let mention = mention_at(text, range.start + marks, range.end)?;
    let rest = text[mention.end..range.end].trim_start_matches([' ', '\t', '*', '_', ']', ')']);
    let joined = [",", "/", "&", "and ", "or ", "to ", "through ", "..", "…"].iter().any(|join| rest.starts_with(join));
    let ranged = rest
        .strip_prefix(['-', '–', '—'])
        .is_some_and(|rest| mention_at(rest, rest.len() - rest.trim_start().len(), rest.len()).is_some());
    (!joined && !ranged).then_some(mention)
}

/// Returns whether the id that `text[range]` starts with is set apart by a sign, as a paragraph has to do.
pub(super) fn set_apart(text: &str, range: Range<usize>, mention: &Mention) -> bool {
    let before = text[range.start..mention.at].trim();
    let after = text[mention.end..range.end].trim_start_matches([' ', '\t']);
    !before.is_empty() || after.is_empty() || after.starts_with([':', '.', ')', '-', '–', '—'])
}

/// Returns whether `list`, words separated by blanks, has the word.
pub(super) fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

fn mention_at(text: &str, at: usize, end: usize) -> Option<Mention> {
    if !opens_word(&text.as_bytes()[..at]) {
        return None;
    }
    let bytes = &text.as_bytes()[at..end];
    let (prefix, letters) = id_prefix(bytes)?;
    let digits = id_number_len(&bytes[letters..])?;
    let stop = letters + digits;
    let ends = text[at + stop..end].chars().next().is_none_or(|char| !char.is_alphanumeric() && char != '_');
    let number = text[at + letters..at + stop].to_owned();
    let known = listed(NOT_IDS, &prefix) || (prefix == "P" && listed(PERCENTILES, &number));
    (ends && !known).then(|| Mention { id: RequirementId { prefix, number }, at, end: at + stop, from: None })
}

fn opens_word(before: &[u8]) -> bool {
    match before {
        [] => true,
        // `R1/R2` and `R1-R4` name two; `x/R2` names a file.
        [.., inner, b'-' | b'/'] if inner.is_ascii_alphanumeric() => inner.is_ascii_digit(),
        [.., inner, b'.' | b'_'] if inner.is_ascii_alphanumeric() => before.ends_with(b".."),
        // A dash, an ellipsis, a typographic quote or a hard space.
        [.., 0xe2, 0x80, _] | [.., 0xc2, 0xa0] => true,
        [.., last] => !last.is_ascii_alphanumeric() && last.is_ascii() && *last != b'@',
    }
}

/// Returns the letters, joined by dashes, and how many bytes they and the sign before the digits take.
fn id_prefix(bytes: &[u8]) -> Option<(String, usize)> {
    let mut prefix = String::new();
    let mut at = 0;
    loop {
        let letters = bytes[at..].iter().take(11).take_while(|byte| byte.is_ascii_uppercase()).count();
        if letters == 0 || letters > 10 || prefix.len() > 24 {
            return None;
        }
        prefix.extend(bytes[at..at + letters].iter().map(|byte| char::from(*byte)));
        at += letters;
        if prefix == "R" && bytes[at..].starts_with(b"eq") {
            prefix = "REQ".to_owned();
            at += 2;
        }
        let spaced = listed("AC REQ FR NFR", &prefix);
        match &bytes[at..] {
            [digit, ..] if digit.is_ascii_digit() => return Some((prefix, at)),
            [b'-' | b'_', digit, ..] if digit.is_ascii_digit() => return Some((prefix, at + 1)),
            [b' ', digit, ..] if digit.is_ascii_digit() && spaced => return Some((prefix, at + 1)),
            [b'-' | b'_', letter, ..] if letter.is_ascii_uppercase() => prefix.push('-'),
            _ => return None,
        }
        at += 1;
    }
}

fn id_number_len(bytes: &[u8]) -> Option<usize> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut len = 0;
    while len <= 16 && (digit(len) || (len > 0 && matches!(bytes.get(len), Some(b'.' | b'-' | b'_')) && digit(len + 1)))
    {
        len += 1;
    }
    let letter = bytes.get(len).is_some_and(u8::is_ascii_lowercase);
    let more = bytes.get(len + 1).is_some_and(u8::is_ascii_alphanumeric);
    (1..=16).contains(&len).then_some(len + usize::from(letter && !more))
}

/// Returns the first number of a range such as `R1–R4` or `R1 to R4`.
fn range_from(text: &str, first: &Mention, last: &Mention) -> Option<u32> {
    let joined = matches!(text[first.end..last.at].trim(), "-" | "–" | "—" | "to" | "through" | ".." | "..." | "…");
    if !joined || first.id.prefix != last.id.prefix {
        return None;
    }
    let (from, to): (u32, u32) = (first.id.number.parse().ok()?, last.id.number.parse().ok()?);
    (from < to && to - from <= WIDEST).then_some(from)
}

/// Placeholders, in lower case.
const PLACEHOLDERS: &str = "tbd, tba, tbc, todo, fixme, wip, xxx, placeholder, coming soon, to do, work in progress, fill in, \
    fill me in, to be determined, to be decided, to be defined, to be written, to be added, to be done, \
    to be confirmed, to be filled in, lorem ipsum";

/// The commonest placeholder, put together so that no note of this project is taken for one.
const TO_BE_DONE: &str = concat!("TO", "DO");

/// Returns whether `text` is more than punctuation and placeholders.
pub(super) fn has_content(text: &str) -> bool {
    let text = text.trim_matches(|char: char| !char.is_alphanumeric());
    let words: Vec<String> = text.split_whitespace().take(5).map(str::to_lowercase).collect();
    if text.is_empty() || PLACEHOLDERS.split(", ").any(|one| one == words.join(" ")) {
        return false;
    }
    let starts = |word: &&str| text.strip_prefix(*word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let Some(marker) = ["TBD", "TBA", "TBC", TO_BE_DONE, concat!("FIX", "ME")].into_iter().find(|word| starts(word))
    else {
        return true;
    };
    // A sentence that begins with the word is about such items; with a colon after it, it is a placeholder.
    let rest = text[marker.len()..].trim_start();
    marker == TO_BE_DONE && rest.starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_however_they_are_written() {
        let cases = [
            ("R1", "R 1"),
            ("see R1, R-2 and REQ-12.", "R 1|R 2|REQ 12"),
            ("(FR-AUTH-03)", "FR-AUTH 03"),
            ("AC 4 proves Req-7", "AC 4|REQ 7"),
            ("R2.1. Then", "R 2.1"),
            ("R3a", "R 3a"),
            ("R1/R2", "R 1|R 2"),
            ("R1–R4", "R 1|R 2|R 3|R 4"),
            ("R01-R03", "R 01|R 02|R 03"),
            ("R1 to R3", "R 1|R 2|R 3"),
            ("R1..R3", "R 1|R 2|R 3"),
            ("R1-R999999", "R 1|R 999999"),
            ("UTF-8, p95, P95, SHA-256, K8S, R, a/R2, xR2, R2x5", ""),
            ("naïveR1 é R1", "R 1"),
            ("“R1”", "R 1"),
        ];
        for (text, wanted) in cases {
            let found: Vec<String> = mentions(text, 0..text.len())
                .iter()
                .flat_map(Mention::ids)
                .map(|one| format!("{} {}", one.prefix, one.number))
                .collect();
            assert_eq!(found.join("|"), wanted, "{text}");
        }
    }

    #[test]
    fn only_a_single_id_in_front_names_what_follows() {
        let cases = [
            ("R1: text", true),
            ("**R1** text", true),
            ("[R1] text", true),
            ("R1 – text", true),
            ("R1, R2: text", false),
            ("R1 and R2 differ", false),
            ("R1–R3", false),
            ("text R1", false),
        ];
        for (text, wanted) in cases {
            assert_eq!(leading(text, 0..text.len()).is_some(), wanted, "{text}");
        }
    }
}
