//! Whether a piece of text carries something that can be measured: a number with a unit, a comparison, an exact count.

use super::token::{Form, Token};

/// Units of time, as (name, milliseconds).
const TIMES: [(&str, f64); 26] = [
    ("ms", 1.0),
    ("msec", 1.0),
    ("millisecond", 1.0),
    ("milliseconds", 1.0),
    ("s", 1e3),
    ("sec", 1e3),
    ("secs", 1e3),
    ("second", 1e3),
    ("seconds", 1e3),
    ("min", 6e4),
    ("mins", 6e4),
    ("minute", 6e4),
    ("minutes", 6e4),
    ("h", 3.6e6),
    ("hr", 3.6e6),
    ("hrs", 3.6e6),
    ("hour", 3.6e6),
    ("hours", 3.6e6),
    ("d", 8.64e7),
    ("day", 8.64e7),
    ("days", 8.64e7),
    ("week", 6.048e8),
    ("weeks", 6.048e8),
    ("month", 2.6298e9),
    ("months", 2.6298e9),
    ("years", 3.155_76e10),
];

/// Units of data, as (name, bytes).
const SIZES: [(&str, f64); 12] = [
    ("byte", 1.0),
    ("bytes", 1.0),
    ("b", 1.0),
    ("kb", 1e3),
    ("kib", 1024.0),
    ("mb", 1e6),
    ("mib", 1_048_576.0),
    ("gb", 1e9),
    ("gib", 1_073_741_824.0),
    ("tb", 1e12),
    ("tib", 1_099_511_627_776.0),
    ("pb", 1e15),
];

const SPELLED: [&str; 20] = [
    "zero", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen",
    "twenty", "thirty", "fifty", "sixty", "hundred", "thousand", "million",
];

/// Words before a number that make it a name: "version 2" measures nothing.
const NAMING: [&str; 36] = [
    "version",
    "section",
    "phase",
    "step",
    "level",
    "chapter",
    "figure",
    "table",
    "page",
    "release",
    "http",
    "status",
    "code",
    "number",
    "item",
    "requirement",
    "criterion",
    "criteria",
    "appendix",
    "stage",
    "iteration",
    "sprint",
    "milestone",
    "priority",
    "tier",
    "part",
    "year",
    "since",
    "scenario",
    "case",
    "option",
    "story",
    "epic",
    "ticket",
    "issue",
    "see",
];

/// Words before a number that compare with it.
const COMPARING: [&str; 24] = [
    "most",
    "least",
    "than",
    "within",
    "under",
    "below",
    "above",
    "over",
    "exceed",
    "exceeds",
    "exceeding",
    "exactly",
    "maximum",
    "minimum",
    "max",
    "min",
    "between",
    "every",
    "equals",
    "is",
    "are",
    "be",
    "reaches",
    "limit",
];

/// Words behind a number that are not what is counted.
const NOT_COUNTED: [&str; 34] = [
    "and", "or", "is", "are", "in", "of", "the", "to", "for", "with", "on", "at", "by", "from", "as", "but", "that",
    "this", "when", "if", "must", "shall", "should", "will", "can", "may", "st", "nd", "rd", "th", "a", "an", "has",
    "was",
];

/// What kind of thing a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Time,
    Size,
    Percent,
}

/// Returns what `unit` measures, and how much one of it is.
pub(super) fn unit(unit: &Token<'_>) -> Option<(Dimension, f64)> {
    let known = |units: &[(&str, f64)]| units.iter().find(|(name, _)| unit.is(name)).map(|(_, size)| *size);
    if unit.among(&["%", "percent"]) {
        return Some((Dimension::Percent, 1.0));
    }
    let time = known(&TIMES).map(|size| (Dimension::Time, size));
    time.or_else(|| known(&SIZES).map(|size| (Dimension::Size, size)))
}

/// Says whether the number at `nth` is part of a name such as `REQ-12`, `v2` or "version 2".
pub(super) fn names(tokens: &[Token<'_>], nth: usize) -> bool {
    let token = &tokens[nth];
    let Some(before) = nth.checked_sub(1).map(|before| &tokens[before]) else { return false };
    let glued = before.end() == token.at;
    let joined = glued && before.among(&["-", "_", "#", "§"]) && {
        let word = nth.checked_sub(2).map(|word| &tokens[word]);
        before.is("#") || before.is("§") || word.is_some_and(|word| word.form == Form::Word && word.end() == before.at)
    };
    joined || before.among(&NAMING)
}

/// Says whether the tokens carry a measure.
pub(super) fn is_measured(tokens: &[Token<'_>]) -> bool {
    (0..tokens.len()).any(|nth| match tokens[nth].form {
        Form::Date => true,
        Form::Number => !names(tokens, nth) && is_target(tokens, nth, false),
        Form::Word if tokens[nth].among(&["once", "twice"]) => true,
        Form::Word if tokens[nth].is("one") => {
            compared(tokens, nth) && !tokens.get(nth + 1).is_some_and(|t| t.is("of"))
        }
        Form::Word => tokens[nth].among(&SPELLED) && is_target(tokens, nth, true),
        Form::Sign => false,
    })
}

fn is_target(tokens: &[Token<'_>], nth: usize, spelled: bool) -> bool {
    let next = tokens.get(nth + 1);
    let currency = nth > 0 && tokens[nth - 1].among(&["$", "€", "£", "¥"]);
    let open_ended = next.is_some_and(|next| next.is("or"))
        && tokens.get(nth + 2).is_some_and(|word| word.among(&["more", "fewer", "less", "higher", "lower"]));
    let clock = next.is_some_and(|next| next.is(":")) && tokens.get(nth + 2).is_some_and(|t| t.form == Form::Number);
    currency || open_ended || clock || compared(tokens, nth) || counts(tokens, nth, spelled)
}

fn compared(tokens: &[Token<'_>], nth: usize) -> bool {
    let near = &tokens[nth.saturating_sub(2)..nth];
    let up_to = matches!(near, [up, to] if up.is("up") && to.is("to"));
    let worded = near.last().is_some_and(|before| before.among(&COMPARING))
        || matches!(near, [first, middle] if first.among(&COMPARING) && middle.among(&["of", "a", "the", "="]));
    let signed = near.iter().any(|token| token.among(&["<", ">", "≤", "≥", "=", "±"]));
    (up_to || worded || signed) && !is_year(tokens, nth)
}

fn counts(tokens: &[Token<'_>], nth: usize, spelled: bool) -> bool {
    // "30-second" and "30 seconds" count alike.
    let behind = tokens[nth + 1..].iter().take(2).find(|token| !token.is("-"));
    let Some(next) = behind else { return false };
    let measured = unit(next).is_some() || next.among(&["‰", "°", "×"]);
    let counted = next.form == Form::Word && !next.among(&NOT_COUNTED) && !is_year(tokens, nth);
    measured || (counted && !(spelled && next.among(&["ways", "kinds", "types", "sorts"])))
}

fn is_year(tokens: &[Token<'_>], nth: usize) -> bool {
    let year =
        tokens[nth].text.len() == 4 && (tokens[nth].text.starts_with("19") || tokens[nth].text.starts_with("20"));
    year && tokens.get(nth + 1).is_none_or(|next| unit(next).is_none())
}
