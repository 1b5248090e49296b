//! One assertion, in a form that reformatting and respelling do not change.
//!
//! `assert_eq!(a, b)` and `assert!(a == b)` become the same thing; so do `expect(x).toBe(true)` and a bare check of `x`.

use super::level::{self, Level};
use super::lex::{Kind, Token};

/// What one assertion says.
#[derive(Debug, Clone)]
pub(super) struct Assertion {
    /// The line of the hunk's side that it starts on.
    pub(super) line: usize,
    pub(super) level: Level,
    /// Whether it calls a function of the project, whose strength is not known.
    pub(super) custom: bool,
    /// How it compares: `eq`, `true`, `false`, or the name of what it calls.
    pub(super) verb: String,
    /// What it compares, each without blanks.
    pub(super) sides: Vec<String>,
    /// The same with every literal left out.
    pub(super) outline: String,
    /// The literals in it, in order.
    pub(super) literals: Vec<String>,
    /// The names in it.
    pub(super) names: Vec<String>,
}

type Tokens<'t, 'a> = &'t [Token<'a>];

impl Assertion {
    /// An assertion that calls something by `name`.
    pub(super) fn named(line: usize, name: &str, level: Level, sides: &[Tokens<'_, '_>]) -> Self {
        let mut outline = name.to_owned();
        let (mut literals, mut names) = (Vec::new(), Vec::new());
        for token in sides.iter().copied().flatten() {
            if let Some(literal) = literal(token) {
                outline.push('0');
                literals.push(literal);
                continue;
            }
            outline.push_str(token.text);
            if token.kind == Kind::Word && !matches!(token.text, "self" | "this" | "await" | "not" | "async") {
                names.push(token.text.to_owned());
            }
        }
        let sides = sides.iter().map(|side| compact(side)).collect();
        Self { line, level, custom: false, verb: name.to_owned(), sides, outline, literals, names }
    }

    /// A call of a function of the project that looks like an assertion.
    pub(super) fn custom(line: usize, name: &str, sides: &[Tokens<'_, '_>]) -> Self {
        Self { custom: true, ..Self::named(line, name, Level::Exact, sides) }
    }

    /// The claim that two values are the same.
    pub(super) fn equality(line: usize, left: Tokens<'_, '_>, right: Tokens<'_, '_>) -> Self {
        for (one, other) in [(left, right), (right, left)] {
            match boolean(one) {
                Some(expected) if boolean(other).is_none() => return Self::bare(line, other, expected),
                _ => {}
            }
        }
        let (old, new) = (compact(left), compact(right));
        let level = if old == new && !calls(left) {
            Level::Nothing
        } else if old == "Ok(())" || new == "Ok(())" {
            Level::Vague
        } else {
            Level::Exact
        };
        Self::named(line, "eq", level, &[left, right])
    }

    /// The claim that a condition is true, or that it is false.
    pub(super) fn truth(line: usize, condition: Tokens<'_, '_>, expected: bool) -> Self {
        let condition = unwrapped(condition);
        match joined(line, condition, expected) {
            Some(level) => Self::named(line, verb_of(expected), level, &[condition]),
            None => Self::single(line, condition, expected),
        }
    }

    /// A condition that is not looked into for further parts: the depth of a condition must not cost time.
    fn single(line: usize, condition: Tokens<'_, '_>, expected: bool) -> Self {
        let negations = condition.iter().take_while(|token| token.is("!") || token.is("not")).count();
        let condition = unwrapped(&condition[negations..]);
        let expected = expected != (negations % 2 == 1);
        match comparison(condition) {
            Some((left, equal, right)) if equal == expected => Self::equality(line, left, right),
            Some((left, _, right)) => {
                let nothing = matches!(compact(right).as_str(), "None" | "nil" | "null" | "undefined");
                Self::named(line, "ne", if nothing { Level::Vague } else { Level::Partial }, &[left, right])
            }
            None => Self::bare(line, condition, expected),
        }
    }

    /// A condition without comparison.
    fn bare(line: usize, condition: Tokens<'_, '_>, expected: bool) -> Self {
        let tautology = boolean(condition) == Some(expected) || (expected && compact(condition) == "1");
        let level = if tautology { Level::Nothing } else { plain_level(condition, expected) };
        Self::named(line, verb_of(expected), level, &[condition])
    }

    /// Returns what it says in one text: equal for two assertions that claim the same thing in the same words.
    pub(super) fn key(&self) -> String {
        format!("{}({})", self.verb, self.sides.join(","))
    }

    /// Says whether it compares with something recorded, which may hold any number of facts.
    pub(super) fn is_recorded(&self) -> bool {
        self.verb.to_ascii_lowercase().contains("snapshot")
    }

    /// Returns how many of their first names the two share.
    pub(super) fn kinship(&self, other: &Self) -> usize {
        self.names.iter().take(12).filter(|name| other.names.iter().take(12).any(|known| known == *name)).count()
    }

    /// Says whether the two are about the same thing: they share a name, or do the same to different names.
    pub(super) fn about_same(&self, other: &Self) -> bool {
        self.verb == other.verb || self.kinship(other) > 0
    }

    /// Says whether `new` is this assertion with another value expected.
    pub(super) fn expects_other(&self, new: &Self) -> bool {
        if self.is_truth() && new.is_truth() && self.sides == new.sides {
            return self.verb != new.verb;
        }
        if self.literals == new.literals || self.verb != new.verb {
            return false;
        }
        let differing = self.sides.iter().zip(&new.sides).filter(|(old, new)| old != new).count();
        let one_side = self.sides.len() > 1
            && self.sides.len() == new.sides.len()
            && differing == 1
            && !new.literals.is_empty()
            && self.literals.len() == new.literals.len();
        self.outline == new.outline || one_side
    }

    /// Says whether both are truths about the very same subject, so that neither says less.
    pub(super) fn same_truth(&self, other: &Self) -> bool {
        let loose = |verb: &str| matches!(verb, "toBeTruthy" | "not.toBeTruthy");
        let truths = |one: &Self| one.is_truth() || loose(&one.verb);
        truths(self) && truths(other) && self.sides == other.sides
    }

    fn is_truth(&self) -> bool {
        matches!(self.verb.as_str(), "true" | "false")
    }
}

fn verb_of(expected: bool) -> &'static str {
    if expected { "true" } else { "false" }
}

fn calls(tokens: Tokens<'_, '_>) -> bool {
    tokens.iter().any(|token| token.is("("))
}

/// The literal of a token, with the quotes of one kind.
fn literal(token: &Token<'_>) -> Option<String> {
    match token.kind {
        Kind::Number => Some(token.text.to_owned()),
        Kind::Text => Some(respelled(token.text)),
        Kind::Word if matches!(token.text, "true" | "false" | "True" | "False") => Some(token.text.to_owned()),
        _ => None,
    }
}

fn respelled(text: &str) -> String {
    match text.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
        Some(inner) if !inner.contains('"') => format!("\"{inner}\""),
        _ => text.to_owned(),
    }
}

/// Joins tokens without blanks, commas before a closing mark, and differences between quotes.
pub(super) fn compact(tokens: Tokens<'_, '_>) -> String {
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let closes = tokens.get(at + 1).is_none_or(|next| matches!(next.text, ")" | "]" | "}"));
        if token.is(",") && closes {
            continue;
        }
        if token.kind == Kind::Text {
            text.push_str(&respelled(token.text));
            continue;
        }
        if token.kind == Kind::Word && text.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            text.push(' ');
        }
        text.push_str(token.text);
    }
    text
}

fn boolean(tokens: Tokens<'_, '_>) -> Option<bool> {
    match tokens {
        [one] if one.is("true") || one.is("True") => Some(true),
        [one] if one.is("false") || one.is("False") => Some(false),
        _ => None,
    }
}

/// Splits at top-level tokens that `cut` picks.
pub(super) fn split<'t, 'a>(tokens: Tokens<'t, 'a>, cut: impl Fn(&Token<'a>) -> bool) -> Vec<Tokens<'t, 'a>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Mark {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 && cut(token) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

/// Takes off parentheses around the whole condition.
fn unwrapped<'t, 'a>(tokens: Tokens<'t, 'a>) -> Tokens<'t, 'a> {
    match tokens {
        [first, inner @ .., last] if first.is("(") && last.is(")") => {
            let whole = split(tokens, |token| token.is(")")).len() == 1;
            if whole { inner } else { tokens }
        }
        _ => tokens,
    }
}

/// The level of a condition of several parts: all must hold, or one is enough.
fn joined(line: usize, condition: Tokens<'_, '_>, expected: bool) -> Option<Level> {
    let parts = |marks: [&str; 2]| split(condition, |token| marks.iter().any(|mark| token.is(mark)));
    let levels = |parts: Vec<Tokens<'_, '_>>| {
        let judged = parts.into_iter().map(|part| Assertion::single(line, part, expected).level);
        judged.collect::<Vec<_>>()
    };
    let (either, both) = (parts(["||", "or"]), parts(["&&", "and"]));
    let (weakest, strongest) = if expected { (either, both) } else { (both, either) };
    if weakest.len() > 1 {
        return levels(weakest).into_iter().min();
    }
    if strongest.len() > 1 { levels(strongest).into_iter().max() } else { None }
}

/// The two sides of a top-level `==` or `!=`, and whether it is the former.
fn comparison<'t, 'a>(tokens: Tokens<'t, 'a>) -> Option<(Tokens<'t, 'a>, bool, Tokens<'t, 'a>)> {
    let equal = |token: &Token<'_>| token.is("==") || token.is("===") || token.is("is");
    let unequal = |token: &Token<'_>| token.is("!=") || token.is("!==");
    let parts = split(tokens, |token| equal(token) || unequal(token));
    let [left, right] = parts[..] else { return None };
    let operator = &tokens[left.len()];
    match right {
        [not, right @ ..] if not.is("not") && operator.is("is") => Some((left, false, right)),
        _ => Some((left, equal(operator), right)),
    }
}

/// The level of a condition without comparison: by the call at its end, or by a bound or membership.
fn plain_level(condition: Tokens<'_, '_>, expected: bool) -> Level {
    let bounds = ["<", ">", "<=", ">=", "in"];
    if split(condition, |token| bounds.iter().any(|mark| token.is(mark))).len() > 1 {
        return Level::Partial;
    }
    if let [first, bang, ..] = condition
        && first.is("matches")
        && bang.is("!")
    {
        let open = condition.iter().any(|token| token.is("_") || token.is("..") || token.is("if"));
        return if open || !expected { Level::Partial } else { Level::Exact };
    }
    let bare = if expected { Level::Partial } else { Level::Exact };
    let Some(name) = last_call(condition) else { return bare };
    level::of_predicate(name).map_or(bare, |(holds, fails)| if expected { holds } else { fails })
}

/// The name of the last top-level call of a condition.
fn last_call<'a>(condition: Tokens<'_, 'a>) -> Option<&'a str> {
    if !condition.last()?.is(")") {
        return None;
    }
    let (mut depth, mut name) = (0_usize, None);
    for pair in condition.windows(2) {
        if depth == 0 && pair[0].kind == Kind::Word && pair[1].is("(") {
            name = Some(pair[0].text);
        }
        match pair[1].text {
            "(" | "[" | "{" if pair[1].kind == Kind::Mark => depth += 1,
            ")" | "]" | "}" if pair[1].kind == Kind::Mark => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    name
}
