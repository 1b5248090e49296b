//! Whether two findings say the same about the same place.
//!
//! The words have to be the same in the same order; only punctuation, capitals, "the" and contractions may differ. Letters
//! that are merely close do not count: "tried 3 times" and "tried 5 times" are two claims, and so are "upload" and
//! "unload".

use crate::facts::Finding;

/// Whether `a` and `b`, findings of different reviews, are almost certainly one claim.
pub fn same_claim(a: &Finding, b: &Finding) -> bool {
    same_place(a, b) && same_words(&a.title, &b.title) && same_words(&a.detail, &b.detail)
}

/// Whether both are about the same line of code, wherever it went; or about the same line number, or none, where its text
/// is not known.
fn same_place(a: &Finding, b: &Finding) -> bool {
    let known = !a.anchor.is_empty() || !b.anchor.is_empty();
    let same_line = if known { a.anchor.split_whitespace().eq(b.anchor.split_whitespace()) } else { a.line == b.line };
    a.file == b.file && same_line
}

/// Whether two texts have the same words in the same order.
pub(crate) fn same_words(a: &str, b: &str) -> bool {
    words(a).eq(words(b))
}

/// One word of a text.
struct Word {
    text: String,
    /// Whether it stands in backticks, where every letter counts.
    quoted: bool,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        let plain = !self.quoted && !other.quoted && self.is_capitalised_at_most() && other.is_capitalised_at_most();
        self.text == other.text || plain && self.text.to_lowercase() == other.text.to_lowercase()
    }
}

impl Word {
    /// Whether all its letters are small but perhaps the first; `userId` and `ID` are names.
    fn is_capitalised_at_most(&self) -> bool {
        self.text.chars().skip(1).all(char::is_lowercase)
    }
}

fn words(text: &str) -> impl Iterator<Item = Word> {
    let quotes = text.matches('`').count();
    let parts = text.split('`').enumerate();
    parts.flat_map(move |(at, part)| {
        let quoted = at % 2 == 1 && at < quotes;
        if quoted {
            return vec![Word { text: part.split_whitespace().collect::<Vec<_>>().join(" "), quoted }];
        }
        let part = part.replace("can't", "cannot").replace("n't", " not");
        let words =
            part.split_whitespace().map(|word| word.trim_matches(['.', ',', ';', ':', '!', '?', '"', '(', ')']));
        let told = words.filter(|word| !matches!(*word, "" | "-" | "–" | "—" | "the" | "The"));
        told.map(|word| Word { text: word.to_owned(), quoted }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Severity;

    fn at(title: &str, anchor: &str) -> Finding {
        Finding { file: Some("a.rs".into()), anchor: anchor.into(), ..Finding::new(Severity::P1, title) }
    }

    fn same(a: &str, b: &str) -> bool {
        same_claim(&at(a, "x();"), &at(b, "x();"))
    }

    #[test]
    fn the_same_words_about_the_same_line_are_one_claim_wherever_the_line_went() {
        let moved = Finding { line: Some(80), severity: Severity::P0, ..at("the timeout is  missing.", " x();") };
        assert!(same_claim(&at("Timeout is missing", "x();"), &moved));
        assert!(same("`len` isn't checked", "len is not checked"));
        assert!(same("The Token Is Logged", "token is logged"));
    }

    #[test]
    fn another_place_is_another_claim() {
        assert!(!same_claim(&at("Timeout is missing", "x();"), &at("Timeout is missing", "y();")));
        assert!(!same_claim(&at("Timeout is missing", "x();"), &at("Timeout is missing", "")));
        let elsewhere = Finding { file: Some("b.rs".into()), ..at("Timeout is missing", "x();") };
        assert!(!same_claim(&at("Timeout is missing", "x();"), &elsewhere));
        let line = |line| Finding { line, ..at("Timeout is missing", "") };
        assert!(same_claim(&line(None), &line(None)) && same_claim(&line(Some(3)), &line(Some(3))));
        assert!(!same_claim(&line(Some(3)), &line(Some(4))) && !same_claim(&line(Some(3)), &line(None)));
    }

    #[test]
    fn a_letter_a_digit_a_name_or_the_detail_tells_claims_apart() {
        for (one, other) in [
            ("Retry is attempted 3 times", "Retry is attempted 5 times"),
            ("Upload is not limited", "Unload is not limited"),
            ("`Id` is not checked", "`id` is not checked"),
            ("userId is not checked", "userid is not checked"),
            ("the lock is released", "the lock is not released"),
            ("a is read before b", "b is read before a"),
        ] {
            assert!(!same(one, other), "{one} / {other}");
        }
        let told = |detail: &str| Finding { detail: detail.into(), ..at("Missing error handling", "x();") };
        assert!(!same_claim(&told("open can fail"), &told("close can fail")));
        assert!(!same_claim(&told("open can fail"), &told("")));
    }
}
