//! Tests of Rust: `#[test]` and its likes, the `assert!` family, `#[ignore]`, `#[should_panic]`, proptest.

use super::assertion::{Assertion, compact};
use super::level::{self, Level};
use super::lex::{Kind, Token};
use super::view::{Def, Found, Sort, View};

/// Finds tests, assertions and marks on a side of a Rust file.
pub(super) fn find(view: &View<'_>) -> Found {
    let mut found = Found { tests_from: view.test_file.then_some(0), ..Found::default() };
    let guards = ["unwrap", "expect", "unwrap_err", "expect_err", "?"];
    let guarding = view.tokens.iter().filter(|token| guards.iter().any(|guard| token.is(guard)));
    found.guards.extend(guarding.map(|token| token.line));
    let mut attributes = Attributes::default();
    let mut at = 0;
    while at < view.tokens.len() {
        at = step(view, at, &mut attributes, &mut found);
    }
    found
}

/// The attributes since the last item.
#[derive(Default)]
struct Attributes {
    top: Option<usize>,
    is_test: bool,
}

/// Reads what starts at `at`, and says where to go on.
fn step(view: &View<'_>, at: usize, attributes: &mut Attributes, found: &mut Found) -> usize {
    if view.reads(at, &["#", "["]) {
        return attribute(view, at, attributes, found);
    }
    let token = &view.tokens[at];
    if token.kind == Kind::Text {
        return at + 1;
    }
    match token.text {
        "fn" => function(view, at, std::mem::take(attributes), found),
        "mod" if view.word(at + 1).is_some_and(|name| name == "test" || name.ends_with("tests")) => {
            found.tests_from.get_or_insert(token.line);
            *attributes = Attributes::default();
        }
        "struct" | "enum" | "impl" | "let" | "use" | "mod" => *attributes = Attributes::default(),
        "for" | "while" if !view.reads(at + 1, &["<"]) => found.loops.push(token.line),
        "catch_unwind" => swallow(view, at, found),
        "insta" | "check" | "verify" => return macro_or_call(view, at, found),
        _ if named_like_assertion(token.text) => return macro_or_call(view, at, found),
        _ => {}
    }
    at + 1
}

fn named_like_assertion(name: &str) -> bool {
    ["assert", "prop_assert", "debug_assert", "check_", "verify_", "expect_"]
        .iter()
        .any(|start| name.starts_with(start))
}

fn attribute(view: &View<'_>, at: usize, attributes: &mut Attributes, found: &mut Found) -> usize {
    let inside = view.inside(at + 1);
    let line = view.tokens[at].line;
    attributes.top.get_or_insert(line);
    let words = inside.iter().take(16).map(|token| token.text).collect::<Vec<_>>();
    // `#[tokio::test]`, `#[test_case(..)]`, `#[rstest]`, `#[wasm_bindgen_test]`.
    let path = words.iter().take_while(|word| **word != "(" && **word != "=").last().copied().unwrap_or_default();
    attributes.is_test |=
        matches!(path, "test" | "rstest" | "test_case" | "case" | "quickcheck" | "proptest") || path.ends_with("_test");
    match path {
        "ignore" if words[0] == "ignore" => found.skips.push((line, "skip")),
        "cfg_attr" if words.contains(&"ignore") => found.skips.push((line, "skip if")),
        "cfg" if matches!(words[1..], ["(", "any", "(", ")", ")"] | ["(", "false" | "FALSE", ")"]) => {
            found.skips.push((line, "skip"));
        }
        "cfg" if words[1..] == ["(", "test", ")"] => {
            found.tests_from.get_or_insert(line);
        }
        "should_panic" => found.must_fail.push((line, compact(inside))),
        _ => {}
    }
    at + 2 + inside.len()
}

fn function(view: &View<'_>, at: usize, attributes: Attributes, found: &mut Found) {
    let Some(name) = view.word(at + 1) else { return };
    let line = view.tokens[at].line;
    // Git's heading names the function but not its attributes; in a test file it is a test or serves one.
    let heading = line == 0 && view.test_file;
    let sort = if attributes.is_test || heading { Sort::Test } else { Sort::Function };
    let opener = (at..view.end_of_line(at)).find(|at| view.tokens[*at].is("{"));
    let top = attributes.top.unwrap_or(line);
    if sort == Sort::Test {
        found.tests_from.get_or_insert(top);
    }
    found.defs.push(Def { name: name.to_owned(), sort, top, line, opener });
}

/// `let _ = catch_unwind(..)` keeps a failing assertion quiet.
fn swallow(view: &View<'_>, at: usize, found: &mut Found) {
    let line = view.tokens[at].line;
    let before = view.tokens[at.saturating_sub(12)..at].iter().filter(|token| token.line == line);
    let words = before.map(|token| token.text).collect::<Vec<_>>();
    if words.starts_with(&["let", "_", "="]) {
        found.swallows.push(line);
    }
}

fn macro_or_call(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let mut name_at = at;
    while view.reads(name_at + 1, &["::"]) && view.word(name_at + 2).is_some() {
        name_at += 2;
    }
    let name = view.tokens[name_at].text;
    let is_macro = view.reads(name_at + 1, &["!"]);
    let open = name_at + if is_macro { 2 } else { 1 };
    let opens = ["(", "[", "{"].iter().any(|mark| view.reads(open, &[mark]));
    let called = if is_macro { opens } else { view.reads(open, &["("]) };
    if !called || matches!(view.before(at), "fn" | "!" | ".") && !is_macro {
        return name_at + 1;
    }
    let arguments = view.arguments(open);
    found.assertions.push(assertion(view.tokens[at].line, name, &arguments, is_macro));
    view.closer(open).unwrap_or(open) + 1
}

fn assertion(line: usize, name: &str, arguments: &[&[Token<'_>]], is_macro: bool) -> Assertion {
    let plain = name.trim_start_matches("prop_").trim_start_matches("debug_");
    match (plain, arguments) {
        ("assert", [condition, ..]) if is_macro => Assertion::truth(line, condition, true),
        ("assert_eq", [left, right, ..]) if is_macro => Assertion::equality(line, left, right),
        ("assert_ne", [left, right, ..]) if is_macro => Assertion::named(line, "ne", Level::Partial, &[left, right]),
        ("assert_matches", [value, pattern, ..]) if is_macro => {
            let open = pattern.iter().any(|token| token.is("_") || token.is(".."));
            Assertion::named(line, plain, if open { Level::Partial } else { Level::Exact }, &[value, pattern])
        }
        _ if is_macro && name.contains("snapshot") => Assertion::named(line, name, level::of_name(name), arguments),
        _ => Assertion::custom(line, name, arguments),
    }
}
