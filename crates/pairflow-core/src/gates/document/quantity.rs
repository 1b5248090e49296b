//! The same quantity has the same number in a requirement and in its criterion.

use super::measure::{self, Dimension};
use super::outline::{Entry, Outline};
use super::remark::{DocumentCheck, Mark};
use super::token::{Form, Token, tokens};

/// A named amount, such as "timeout of 30 s" or "at most 5 attempts".
#[derive(Debug, Clone)]
struct Quantity {
    page: usize,
    at: usize,
    /// The word that the number is about.
    noun: String,
    /// The word before it, when it narrows it down: "session timeout".
    narrowed: Option<String>,
    measures: Measures,
    amount: f64,
    /// Number and unit as written.
    written: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measures {
    Unit(Dimension),
    AtMost,
    AtLeast,
}

/// An entry with more quantities than this is compared by its first ones.
const MOST: usize = 64;

/// Between a noun and its number.
const JOINING: [&str; 41] = [
    "of", "is", "are", "be", "must", "shall", "should", "will", "equal", "equals", "set", "to", "than", "at", "most",
    "least", "less", "more", "under", "below", "within", "above", "over", "exactly", "a", "an", "the", "not", "exceed",
    "exceeds", "no", "stay", "stays", "remain", "remains", "=", ":", "(", "<", "≤", "*",
];

/// Words that narrow nothing down, and that no number is about.
const PLAIN: [&str; 48] = [
    "a", "an", "the", "has", "have", "with", "uses", "use", "and", "or", "its", "their", "this", "that", "each",
    "every", "any", "all", "for", "in", "on", "by", "after", "before", "it", "they", "user", "users", "system", "when",
    "if", "then", "given", "as", "per", "from", "until", "does", "do", "can", "may", "default", "maximum", "minimum",
    "max", "min", "total", "about",
];

/// What a number may stand in front of: "a 30-second timeout".
const NOUNS: [&str; 24] = [
    "timeout",
    "limit",
    "delay",
    "retention",
    "window",
    "interval",
    "period",
    "budget",
    "threshold",
    "quota",
    "cap",
    "deadline",
    "expiry",
    "lifetime",
    "ttl",
    "latency",
    "grace",
    "cooldown",
    "pause",
    "maximum",
    "minimum",
    "rate",
    "buffer",
    "size",
];

/// Marks the numbers of criteria that differ from those of their requirement.
pub(super) fn check(outline: &Outline<'_>) -> Vec<Mark> {
    let all: Vec<Vec<Quantity>> = outline.entries.iter().map(|entry| quantities(outline, entry)).collect();
    let mut marks = Vec::new();
    for (requirement, criterion) in &outline.links.pairs {
        for other in &all[*criterion] {
            let same: Vec<&Quantity> = all[*requirement].iter().filter(|one| one.is_same(other)).collect();
            if !same.is_empty() && !same.iter().any(|one| one.agrees(other)) {
                marks.push(differs(outline, &outline.entries[*requirement], same[0], other));
            }
        }
    }
    marks
}

impl Quantity {
    fn is_same(&self, other: &Self) -> bool {
        let narrowed = match (&self.narrowed, &other.narrowed) {
            (Some(one), Some(other)) => one == other,
            // A verb such as "takes" is about whatever stands before it.
            (None, None) | (Some(_), None) | (None, Some(_)) => !self.noun.ends_with('s') || self.counts(),
        };
        self.noun == other.noun && self.measures == other.measures && narrowed
    }

    fn counts(&self) -> bool {
        matches!(self.measures, Measures::AtMost | Measures::AtLeast)
    }

    fn agrees(&self, other: &Self) -> bool {
        // A megabyte may be 1000 or 1024 kilobytes.
        let slack = if self.measures == Measures::Unit(Dimension::Size) { 0.1 } else { 1e-9 };
        (self.amount - other.amount).abs() <= slack * self.amount.abs().max(other.amount.abs())
    }
}

fn differs(outline: &Outline<'_>, requirement: &Entry, one: &Quantity, other: &Quantity) -> Mark {
    let text = &outline.texts[outline.blocks[requirement.block].page];
    let name = requirement.name.as_ref().map_or("its requirement", |name| &text[name.at..name.end]);
    let limit = match other.measures {
        Measures::Unit(_) => "",
        Measures::AtMost => "at most ",
        Measures::AtLeast => "at least ",
    };
    let Quantity { noun, written, .. } = other;
    let what = format!("{limit}{written} for \"{noun}\" here, but {limit}{} in {name}: make them agree", one.written);
    Mark { check: DocumentCheck::Consistency, page: other.page, at: other.at, what }
}

fn quantities(outline: &Outline<'_>, entry: &Entry) -> Vec<Quantity> {
    let mut found = Vec::new();
    for block in &entry.blocks {
        let placed = &outline.blocks[*block];
        let words = tokens(&outline.pages[placed.page].measures, placed.range.clone());
        for nth in 0..words.len() {
            if words[nth].form == Form::Number && !measure::names(&words, nth) && found.len() < MOST {
                found.extend(quantity(&words, nth, placed.page));
            }
        }
    }
    found
}

fn quantity(words: &[Token<'_>], nth: usize, page: usize) -> Option<Quantity> {
    let number = words[nth];
    let amount: f64 = number.text.replace(',', "").parse().ok()?;
    let behind = if words.get(nth + 1).is_some_and(|next| next.is("-")) { nth + 2 } else { nth + 1 };
    let next = words.get(behind)?;
    let written = |end: &str| format!("{} {end}", number.text);
    if let Some((dimension, size)) = measure::unit(next) {
        let (noun, narrowed) = noun_behind(words, behind + 1).or_else(|| noun_before(words, nth))?;
        let (measures, amount) = (Measures::Unit(dimension), amount * size);
        return Some(Quantity { page, at: number.at, noun, narrowed, measures, amount, written: written(next.text) });
    }
    let counted = next.form == Form::Word && next.text.len() > 2 && !next.among(&PLAIN) && !next.among(&JOINING);
    let measures = limit(&words[..nth]).filter(|_| counted)?;
    let noun = next.text.to_lowercase();
    Some(Quantity { page, at: number.at, noun, narrowed: None, measures, amount, written: number.text.to_owned() })
}

fn noun_behind(words: &[Token<'_>], nth: usize) -> Option<(String, Option<String>)> {
    let noun = words.get(nth).filter(|word| word.among(&NOUNS))?;
    Some((noun.text.to_lowercase(), None))
}

fn noun_before(words: &[Token<'_>], nth: usize) -> Option<(String, Option<String>)> {
    let start = nth.saturating_sub(8);
    let at = (start..nth).rev().find(|at| !words[*at].among(&JOINING))?;
    let usable = |word: &Token<'_>| word.form == Form::Word && word.text.len() > 2 && !word.among(&PLAIN);
    // A number right behind a word, with nothing between, is not said of it.
    if at + 1 == nth || !usable(&words[at]) {
        return None;
    }
    let narrowed = at.checked_sub(1).map(|at| words[at]).filter(usable).map(|word| word.text.to_lowercase());
    Some((words[at].text.to_lowercase(), narrowed))
}

/// Returns which way the words before a number limit it.
fn limit(before: &[Token<'_>]) -> Option<Measures> {
    let ends = |phrase: &[&str]| {
        before.len() >= phrase.len() && before[before.len() - phrase.len()..].iter().zip(phrase).all(|(a, b)| a.is(b))
    };
    let most: [&[&str]; 5] =
        [&["at", "most"], &["maximum", "of"], &["no", "more", "than"], &["up", "to"], &["limit", "of"]];
    let least: [&[&str]; 4] = [&["at", "least"], &["minimum", "of"], &["no", "fewer", "than"], &["no", "less", "than"]];
    if most.iter().any(|phrase| ends(phrase)) {
        Some(Measures::AtMost)
    } else {
        least.iter().any(|phrase| ends(phrase)).then_some(Measures::AtLeast)
    }
}
