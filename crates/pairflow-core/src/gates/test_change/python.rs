//! Tests of Python: pytest's and unittest's test functions, `assert`, `self.assert…`, `pytest.raises`, skip marks.

use super::assertion::{Assertion, split};
use super::level::{self, Level};
use super::lex::{Kind, Token};
use super::view::{Def, Found, Sort, View};

/// Finds tests, assertions and marks on a side of a test file.
pub(super) fn find(view: &View<'_>) -> Found {
    let mut found = Found { tests_from: Some(0), ..Found::default() };
    let mut seen = Seen::default();
    let mut at = 0;
    while at < view.tokens.len() {
        at = step(view, at, &mut seen, &mut found);
    }
    found
}

/// What has been seen on the way and decides what later lines mean.
#[derive(Default)]
struct Seen {
    /// The first decorator since the last definition.
    decorated: Option<usize>,
    /// For each open `try`: how many assertions stood before it.
    tries: Vec<usize>,
}

/// Reads what starts at `at`, and says where to go on.
fn step(view: &View<'_>, at: usize, seen: &mut Seen, found: &mut Found) -> usize {
    let token = &view.tokens[at];
    let starts_line = at == 0 || view.tokens[at - 1].line != token.line;
    if token.is("@") && starts_line {
        seen.decorated.get_or_insert(token.line);
    }
    if let Some(mark) = skip(view, at) {
        found.skips.push((token.line, mark));
    }
    if token.kind != Kind::Word {
        return at + 1;
    }
    match token.text {
        "def" | "class" => definition(view, at, seen.decorated.take(), found),
        "for" | "parametrize" | "subTest" => found.loops.push(token.line),
        "try" if starts_line => seen.tries.push(found.assertions.len()),
        "except" if starts_line => caught(view, at, seen, found),
        "suppress" if view.reads(at + 1, &["("]) => suppressed(view, at, found),
        "assert" if starts_line || view.before(at) == ":" => return statement(view, at, found),
        "raises" | "warns" if view.reads(at + 1, &["("]) => return raises(view, at, found),
        _ if like_assertion(token.text) && view.reads(at + 1, &["("]) => return call(view, at, found),
        _ => {}
    }
    at + 1
}

/// The mark that starts at `at` and keeps a test from running.
fn skip(view: &View<'_>, at: usize) -> Option<&'static str> {
    let of = |start: usize| match view.word(start)? {
        "skip" | "xfail" | "expectedFailure" | "SkipTest" | "skipTest" => Some("skip"),
        "skipif" | "skipIf" | "skipUnless" | "importorskip" => Some("skip if"),
        _ => None,
    };
    match view.tokens[at].text {
        "mark" | "unittest" | "pytest" | "self" if view.reads(at + 1, &["."]) => of(at + 2),
        "@" | "raise" => of(at + 1),
        "__test__" if view.reads(at + 1, &["=", "False"]) => Some("skip"),
        _ => None,
    }
}

fn definition(view: &View<'_>, at: usize, decorated: Option<usize>, found: &mut Found) {
    let Some(name) = view.word(at + 1) else { return };
    let sort = if view.tokens[at].is("class") {
        Sort::Suite
    } else if name.starts_with("test") {
        Sort::Test
    } else {
        Sort::Function
    };
    let line = view.tokens[at].line;
    let top = decorated.unwrap_or(line);
    found.defs.push(Def { name: name.to_owned(), sort, top, line, opener: None });
}

/// `except ..: pass` behind assertions.
fn caught(view: &View<'_>, at: usize, seen: &mut Seen, found: &mut Found) {
    let asserts = seen.tries.pop().is_some_and(|before| before < found.assertions.len());
    let header = view.end_of_line(at);
    let quiet = |at: usize| ["pass", "continue", "return"].iter().any(|word| view.reads(at, &[word]));
    let colon = view.tokens[at..header].iter().position(|token| token.is(":")).map(|colon| at + colon + 1);
    // `except A: pass` on one line, or the statement on the next.
    if asserts && colon.is_some_and(quiet) {
        found.swallows.push(view.tokens[at].line);
    }
}

fn suppressed(view: &View<'_>, at: usize, found: &mut Found) {
    let all = ["AssertionError", "Exception", "BaseException"];
    if view.inside(at + 1).iter().take(16).any(|token| all.iter().any(|name| token.is(name))) {
        found.swallows.push(view.tokens[at].line);
    }
}

/// `assert condition, message`, up to the end of the line or of the brackets that are open there.
fn statement(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let mut end = at + 1;
    let mut line = view.tokens[at].line;
    while let Some(token) = view.tokens.get(end) {
        let continued = view.lines[line].text.trim_end().ends_with('\\');
        if token.line != line && !continued {
            break;
        }
        end = view.closer(end).unwrap_or(end) + 1;
        line = view.tokens[end - 1].line;
    }
    let parts = split(&view.tokens[at + 1..end], |token| token.is(","));
    let condition = parts.first().copied().unwrap_or_default();
    found.assertions.push(Assertion::truth(view.tokens[at].line, condition, true));
    end
}

/// `pytest.raises(ValueError, match="..")`.
fn raises(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let arguments = view.arguments(at + 1);
    found.assertions.push(raising(view.tokens[at].line, view.tokens[at].text, &arguments));
    view.closer(at + 1).unwrap_or(at) + 1
}

/// An expected error of any kind says little; one with a message to match says more.
fn raising(line: usize, name: &str, arguments: &[&[Token<'_>]]) -> Assertion {
    let anything = matches!(arguments.first(), Some([one]) if one.is("Exception") || one.is("BaseException"));
    let level = match (anything, arguments.len()) {
        (true, ..=1) => Level::Vague,
        (_, ..=1) => Level::Partial,
        _ => Level::Exact,
    };
    Assertion::named(line, name, level, arguments)
}

fn like_assertion(name: &str) -> bool {
    ["assert", "verify_", "check_", "expect_"].iter().any(|start| name.starts_with(start)) || name == "fail"
}

/// `self.assertEqual(..)`, `mock.assert_called_once_with(..)`, `assert_valid(..)`.
fn call(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let (line, name) = (view.tokens[at].line, view.tokens[at].text);
    let before = view.before(at);
    if before == "def" {
        return at + 1;
    }
    let arguments = view.arguments(at + 1);
    let two = &arguments[..arguments.len().min(2)];
    found.assertions.push(match (name, &arguments[..]) {
        ("assertTrue", [condition, ..]) => Assertion::truth(line, condition, true),
        ("assertFalse", [condition, ..]) => Assertion::truth(line, condition, false),
        ("assertEqual" | "assertEquals" | "assertIs", [left, right, ..]) => Assertion::equality(line, left, right),
        ("assertIsNone", [value, ..]) => Assertion::named(line, name, Level::Exact, &[value]),
        ("assertIsNotNone", [value, ..]) => Assertion::named(line, name, Level::Vague, &[value]),
        ("assertRaises" | "assertRaisesRegex" | "assertWarns", _) => raising(line, name, &arguments),
        _ if before == "." && name.starts_with("assert_") => mocked(view, at, line, &arguments),
        _ if before == "." && name.starts_with("assert") => Assertion::named(line, name, level::of_name(name), two),
        _ if name == "fail" => Assertion::named(line, name, Level::Partial, &[]),
        _ => Assertion::custom(line, name, &arguments),
    });
    view.closer(at + 1).unwrap_or(at) + 1
}

/// An assertion of a mock or of numpy, about the object before the dot.
fn mocked(view: &View<'_>, at: usize, line: usize, arguments: &[&[Token<'_>]]) -> Assertion {
    let subject = at.checked_sub(2).map_or(&[][..], |subject| &view.tokens[subject..=subject]);
    let mut sides = vec![subject];
    sides.extend(arguments.iter().copied());
    Assertion::named(line, view.tokens[at].text, level::of_name(view.tokens[at].text), &sides)
}
