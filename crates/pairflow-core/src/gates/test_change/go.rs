//! Tests of Go: `func TestX`, subtests, `t.Error` behind an `if`, testify's `assert` and `require`, `t.Skip`.

use super::assertion::{Assertion, split};
use super::level::{self, Level};
use super::lex::{Kind, Token};
use super::view::{Def, Found, Sort, View};

/// Finds tests, assertions and marks on a side of a test file.
pub(super) fn find(view: &View<'_>) -> Found {
    let mut found = Found { tests_from: Some(0), ..Found::default() };
    for (line, text) in view.lines.iter().enumerate() {
        if text.text.starts_with("//go:build ignore") || text.text.starts_with("// +build ignore") {
            found.skips.push((line, "skip"));
        }
    }
    let mut condition = None;
    let mut at = 0;
    while at < view.tokens.len() {
        at = step(view, at, &mut condition, &mut found);
    }
    found
}

/// The line and the words of the last `if`, until a failure used them.
type Condition<'v> = Option<(usize, &'v [Token<'v>])>;

/// Reads what starts at `at`, and says where to go on.
fn step<'v>(view: &View<'v>, at: usize, condition: &mut Condition<'v>, found: &mut Found) -> usize {
    let token = &view.tokens[at];
    if token.kind == Kind::Text {
        return at + 1;
    }
    let method_call = view.reads(at + 1, &["."]) && view.reads(at + 3, &["("]);
    match token.text {
        "func" => function(view, at, found),
        "if" => *condition = Some((token.line, condition_of(view, at))),
        "for" => found.loops.push(token.line),
        "err" if view.reads(at + 1, &[":="]) || view.reads(at + 1, &["="]) => found.errors.push(token.line),
        "recover" if view.reads(at + 1, &["(", ")"]) && !matches!(view.before(at), ":=" | "(" | "return") => {
            found.swallows.push(token.line);
        }
        "assert" | "require" if method_call => return testify(view, at, found),
        _ if method_call => method(view, at, condition, found),
        _ if called_like_assertion(view, at) => {
            found.assertions.push(Assertion::custom(token.line, token.text, &view.arguments(at + 1)));
            return view.closer(at + 1).unwrap_or(at) + 1;
        }
        _ => {}
    }
    at + 1
}

fn called_like_assertion(view: &View<'_>, at: usize) -> bool {
    let name = view.tokens[at].text;
    let like = ["assert", "require", "check", "verify", "expect"].iter().any(|start| name.starts_with(start));
    like && !matches!(view.before(at), "func" | ".") && view.reads(at + 1, &["("])
}

fn function(view: &View<'_>, at: usize, found: &mut Found) {
    let receiver = if view.reads(at + 1, &["("]) { view.closer(at + 1) } else { None };
    let name_at = receiver.unwrap_or(at) + 1;
    let Some(name) = view.word(name_at) else { return };
    let is_test = ["Test", "Fuzz", "Example", "Benchmark"].iter().any(|start| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
    });
    let sort = if is_test && name != "TestMain" { Sort::Test } else { Sort::Function };
    let line = view.tokens[at].line;
    let opener = (at..view.end_of_line(at)).find(|at| view.tokens[*at].is("{"));
    found.defs.push(Def { name: name.to_owned(), sort, top: line, line, opener });
}

/// What stands between `if` and its block, without the statement before the semicolon.
fn condition_of<'v>(view: &View<'v>, at: usize) -> &'v [Token<'v>] {
    let end = view.end_of_line(at);
    let block = (at + 1..end).rev().find(|at| view.tokens[*at].is("{")).unwrap_or(end);
    split(&view.tokens[at + 1..block], |token| token.is(";")).last().copied().unwrap_or_default()
}

/// `t.Errorf(..)`, `t.Skip(..)`, `t.Run("name", ..)`, also of `s.T()`.
fn method<'v>(view: &View<'v>, at: usize, condition: &mut Condition<'v>, found: &mut Found) {
    let (token, name) = (&view.tokens[at], view.tokens[at + 2].text);
    if !matches!(token.text, "t" | "tb" | "b" | "f" | ")") {
        return;
    }
    match name {
        "Skip" | "Skipf" | "SkipNow" => found.skips.push((token.line, "skip")),
        "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow" if !token.is(")") => {
            let near = condition.take().filter(|(line, _)| token.line - line <= 4);
            found.assertions.push(match near {
                Some((line, condition)) => failure(line, condition),
                None => Assertion::named(token.line, "fail", Level::Partial, &[]),
            });
        }
        "Run" => subtest(view, at, found),
        _ => {}
    }
}

/// A failure behind a condition asserts that the condition is false.
fn failure(line: usize, condition: &[Token<'_>]) -> Assertion {
    match condition {
        [error, operator, nil] if error.is("err") && nil.is("nil") => {
            let name = if operator.is("!=") { "NoError" } else { "Error" };
            Assertion::named(line, name, Level::Vague, &[&condition[..1]])
        }
        _ => Assertion::truth(line, condition, false),
    }
}

fn subtest(view: &View<'_>, at: usize, found: &mut Found) {
    let Some(title) = view.tokens.get(at + 4).filter(|token| token.kind == Kind::Text) else { return };
    let line = view.tokens[at].line;
    let name = title.text.trim_matches(['"', '`']).to_owned();
    found.defs.push(Def { name, sort: Sort::Test, top: line, line, opener: Some(at + 3) });
}

fn testify(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let (line, name, open) = (view.tokens[at].line, view.tokens[at + 2].text, at + 3);
    let arguments = view.arguments(open);
    let with_test = arguments.first().is_some_and(|first| matches!(first, [one] if one.is("t") || one.is("tb")));
    let arguments = &arguments[usize::from(with_test)..];
    let plain = name.strip_suffix('f').filter(|plain| !plain.is_empty()).unwrap_or(name);
    found.assertions.push(match (plain, arguments) {
        ("Equal" | "EqualValues" | "Exactly", [left, right, ..]) => Assertion::equality(line, left, right),
        ("True", [condition, ..]) => Assertion::truth(line, condition, true),
        ("False", [condition, ..]) => Assertion::truth(line, condition, false),
        ("NoError" | "Error" | "NotNil" | "NotEmpty", [value, ..]) => {
            Assertion::named(line, plain, Level::Vague, &[value])
        }
        ("Nil" | "Empty", [value, ..]) => Assertion::named(line, plain, Level::Exact, &[value]),
        (_, [one, two, ..]) => Assertion::named(line, plain, level::of_name(plain), &[one, two]),
        _ => Assertion::named(line, plain, level::of_name(plain), arguments),
    });
    view.closer(open).unwrap_or(open) + 1
}
