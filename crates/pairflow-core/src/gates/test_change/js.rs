//! Tests of JavaScript and TypeScript: jest, vitest, mocha, node:test, playwright.

use super::assertion::Assertion;
use super::level::{self, Level};
use super::lex::{Kind, Token};
use super::view::{Def, Found, Sort, View};

/// Finds tests, assertions and marks on a side of a test file.
pub(super) fn find(view: &View<'_>) -> Found {
    let mut found = Found { tests_from: Some(0), ..Found::default() };
    let mut tries = Vec::new();
    let mut at = 0;
    while at < view.tokens.len() {
        at = step(view, at, &mut tries, &mut found);
    }
    found
}

/// Reads what starts at `at`, and says where to go on. `tries` holds the number of assertions before each open `try`.
fn step(view: &View<'_>, at: usize, tries: &mut Vec<usize>, found: &mut Found) -> usize {
    let token = &view.tokens[at];
    if token.kind != Kind::Word {
        return at + 1;
    }
    let member = view.before(at) == ".";
    match token.text {
        "for" | "forEach" | "each" => found.loops.push(token.line),
        "try" => tries.push(found.assertions.len()),
        "catch" => caught(view, at, member, tries, found),
        "skip" | "todo" if member && view.reads(at + 1, &["("]) && leaves_itself_out(view, at) => {
            found.skips.push((token.line, "skip"));
        }
        "pending" if !member && view.reads(at + 1, &["("]) => found.skips.push((token.line, "skip")),
        "expect" if !member => return expectation(view, at, found),
        "assert" if !member => return assertion(view, at, found),
        "test" if member && view.reads(at.saturating_sub(2), &["t"]) => declaration(view, at, found),
        _ if !member && declares(token.text) => declaration(view, at, found),
        _ if !member && like_assertion(token.text) && view.reads(at + 1, &["("]) => return custom(view, at, found),
        _ => {}
    }
    at + 1
}

/// `this.skip()`, `t.skip()`, `ctx.todo()`.
fn leaves_itself_out(view: &View<'_>, at: usize) -> bool {
    at >= 2 && matches!(view.tokens[at - 2].text, "this" | "t" | "ctx" | "context" | "task")
}

fn declares(name: &str) -> bool {
    let plain = name.strip_prefix(['x', 'f']).unwrap_or(name);
    [name, plain].iter().any(|name| matches!(*name, "it" | "test" | "specify" | "describe" | "suite" | "context"))
}

fn like_assertion(name: &str) -> bool {
    ["assert", "expect", "verify", "check"].iter().any(|start| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_uppercase() || c == '_'))
    })
}

/// `it('name', ..)` with all it may carry: `.skip`, `.only`, `.each(table)`, an options object.
fn declaration(view: &View<'_>, at: usize, found: &mut Found) {
    let (line, word) = (view.tokens[at].line, view.tokens[at].text);
    let mut suite = ["describe", "suite", "context"].iter().any(|name| word.ends_with(name));
    let mut mark = match word.as_bytes()[0] {
        b'x' => Some("skip"),
        b'f' => Some("only"),
        _ => None,
    };
    let mut next = at + 1;
    while view.reads(next, &["."]) {
        match view.word(next + 1) {
            Some("skip" | "todo" | "fixme" | "fails" | "failing" | "fail") => mark = Some("skip"),
            Some("skipIf" | "runIf") => mark = Some("skip if"),
            Some("only") => mark = Some("only"),
            Some("describe") => suite = true,
            Some("each" | "for" | "concurrent" | "sequential" | "serial" | "parallel" | "shuffle") => {}
            _ => return,
        }
        next = behind_table(view, next + 2);
    }
    if !view.reads(next, &["("]) {
        return;
    }
    if let Some(mark) = mark.or_else(|| option(view, next)) {
        found.skips.push((line, mark));
    }
    let Some(title) = view.tokens.get(next + 1) else { return };
    // `test.skip(condition)` has no title: it leaves out the test that it stands in.
    if title.kind == Kind::Text || (mark.is_none() && view.reads(next + 2, &[","])) {
        let name = title.text.trim_matches(['\'', '"', '`']).to_owned();
        let sort = if suite { Sort::Suite } else { Sort::Test };
        found.defs.push(Def { name, sort, top: line, line, opener: Some(next) });
    }
}

/// Where a call goes on behind `.each(table)` or `.skipIf(condition)`; where it was, if it is the call with the title.
fn behind_table(view: &View<'_>, at: usize) -> usize {
    if view.tokens.get(at).is_some_and(|token| token.kind == Kind::Text) {
        return at + 1;
    }
    let close = if view.reads(at, &["("]) { view.closer(at) } else { None };
    let goes_on = |close: &usize| view.reads(close + 1, &["("]) || view.reads(close + 1, &["."]);
    close.filter(goes_on).map_or(at, |close| close + 1)
}

/// `test('name', { skip: true }, ..)` of node:test.
fn option(view: &View<'_>, open: usize) -> Option<&'static str> {
    let near = view.tokens.get(open + 2..)?.iter().take(12);
    let near = near.take_while(|token| !matches!(token.text, "=>" | "function" | "}")).collect::<Vec<_>>();
    near.windows(3).find_map(|three| match three {
        [name, colon, value] if colon.is(":") && !value.is("false") => match name.text {
            "skip" | "todo" => Some("skip"),
            "only" => Some("only"),
            _ => None,
        },
        _ => None,
    })
}

/// A `catch` that does nothing, with assertions before it.
fn caught(view: &View<'_>, at: usize, member: bool, tries: &mut Vec<usize>, found: &mut Found) {
    let line = view.tokens[at].line;
    if member {
        let empty = view.reads(at + 1, &["(", "(", ")", "=>", "{", "}"]);
        if empty && found.assertions.last().is_some_and(|assertion| assertion.line + 3 >= line) {
            found.swallows.push(line);
        }
        return;
    }
    let block = if view.reads(at + 1, &["("]) { view.closer(at + 1).map_or(at, |close| close + 1) } else { at + 1 };
    let asserts = tries.pop().is_some_and(|before| before < found.assertions.len());
    if asserts && view.reads(block, &["{", "}"]) {
        found.swallows.push(line);
    }
}

fn custom(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    if view.before(at) == "function" {
        return at + 1;
    }
    found.assertions.push(Assertion::custom(view.tokens[at].line, view.tokens[at].text, &view.arguments(at + 1)));
    view.closer(at + 1).unwrap_or(at) + 1
}

/// `expect(subject).not.toBe(value)`, and chai's `expect(subject).to.equal(value)`.
fn expectation(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let mut open = at + 1;
    while view.reads(open, &["."]) && view.word(open + 1).is_some() {
        open += 2;
    }
    let Some(close) = view.closer(open).filter(|_| view.reads(open, &["("])) else { return at + 1 };
    let subject = view.arguments(open).first().copied().unwrap_or_default();
    let chain = chain(view, close + 1);
    if chain.matcher.is_empty() {
        // `expect.assertions(2)`, `expect.extend(..)`: set-up, not a claim.
        return close + 1;
    }
    found.assertions.push(matched(view.tokens[at].line, subject, &chain));
    chain.end
}

struct Chain<'v> {
    matcher: &'v str,
    arguments: Vec<&'v [Token<'v>]>,
    negated: bool,
    end: usize,
}

/// Follows `.resolves.not.toEqual(..)` to its last matcher.
fn chain<'v>(view: &View<'v>, start: usize) -> Chain<'v> {
    let mut chain = Chain { matcher: "", arguments: Vec::new(), negated: false, end: start };
    while view.reads(chain.end, &["."]) {
        let Some(word) = view.word(chain.end + 1).filter(|word| !matches!(*word, "then" | "catch" | "finally")) else {
            break;
        };
        chain.negated |= word == "not";
        if !matches!(word, "not" | "to" | "be" | "have" | "is" | "and" | "been" | "resolves" | "rejects") {
            chain.matcher = word;
        }
        let call = chain.end + 2;
        match view.closer(call).filter(|_| view.reads(call, &["("])) {
            Some(close) => {
                chain.arguments = view.arguments(call);
                chain.end = close + 1;
            }
            None => chain.end = call,
        }
    }
    chain
}

fn matched(line: usize, subject: &[Token<'_>], chain: &Chain<'_>) -> Assertion {
    let (matcher, arguments) = (chain.matcher, &chain.arguments[..]);
    match (matcher, arguments) {
        _ if chain.negated => {}
        ("toBe" | "toEqual" | "toStrictEqual" | "equal" | "eql" | "eq" | "deepEqual", [expected, ..]) => {
            return Assertion::equality(line, subject, expected);
        }
        ("true" | "toBeTrue", []) => return Assertion::truth(line, subject, true),
        ("false" | "toBeFalse" | "toBeFalsy", []) => return Assertion::truth(line, subject, false),
        _ => {}
    }
    let level = match (matcher, arguments) {
        ("toThrow" | "toThrowError" | "throw", []) => Level::Vague,
        _ => level::of_name(matcher),
    };
    let level = if chain.negated { level::negated(matcher, level) } else { level };
    let name = if chain.negated { format!("not.{matcher}") } else { matcher.to_owned() };
    let mut sides = vec![subject];
    sides.extend(arguments.iter().copied());
    Assertion::named(line, &name, level, &sides)
}

/// `assert(x)`, `assert.equal(a, b, 'why')`.
fn assertion(view: &View<'_>, at: usize, found: &mut Found) -> usize {
    let mut open = at + 1;
    let mut name = "ok";
    while view.reads(open, &["."]) {
        let Some(word) = view.word(open + 1) else { break };
        name = if word == "strict" { name } else { word };
        open += 2;
    }
    if !view.reads(open, &["("]) {
        return at + 1;
    }
    let line = view.tokens[at].line;
    let arguments = view.arguments(open);
    found.assertions.push(match (name, &arguments[..]) {
        ("ok" | "isTrue", [condition, ..]) => Assertion::truth(line, condition, true),
        ("isFalse" | "notOk", [condition, ..]) => Assertion::truth(line, condition, false),
        ("equal" | "strictEqual" | "deepEqual" | "deepStrictEqual", [left, right, ..]) => {
            Assertion::equality(line, left, right)
        }
        ("notEqual" | "notStrictEqual" | "notDeepEqual" | "notDeepStrictEqual", [left, right, ..]) => {
            Assertion::named(line, "ne", Level::Partial, &[left, right])
        }
        ("throws" | "rejects", [_]) | ("doesNotThrow" | "doesNotReject", _) => {
            Assertion::named(line, name, Level::Vague, &arguments)
        }
        _ => Assertion::named(line, name, level::of_name(name), &arguments),
    });
    view.closer(open).unwrap_or(open) + 1
}
