//! Languages as tables, and tokens of source lines, made the same way for all languages.
//!
//! Comments are dropped and a literal is one token, so words inside them never count as code. Patterns are tokens
//! separated by blanks: `a|b` matches one of several, `*` any token, and `…` up to twelve tokens of the same statement.

/// A language whose tests can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Js,
    Python,
    Go,
}

/// A kind of quote: how it opens, how it closes, and whether it may span lines.
pub(super) type Quote = (&'static str, &'static str, bool);

/// How one language writes what matters here. Names are separated by blanks.
pub(super) struct Syntax {
    extensions: &'static str,
    /// Folders, file stems and ends of file stems that only tests have.
    folders: &'static str,
    stems: &'static str,
    ends: &'static str,
    pub(super) line_comment: &'static str,
    pub(super) quotes: &'static [Quote],
    /// Marks that keep a test from running, or from counting.
    pub(super) skips: &'static [&'static str],
    /// Code that hides a failing assertion.
    pub(super) hides: &'static [&'static str],
}

const BLOCK: Quote = ("/*", "*/", true);

const RUST: Syntax = Syntax {
    extensions: "rs",
    folders: "tests",
    stems: "test tests",
    ends: "_test _tests",
    line_comment: "//",
    quotes: &[BLOCK, ("br#\"", "\"#", true), ("r##\"", "\"##", true), ("r#\"", "\"#", true), ("\"", "\"", true)],
    skips: &["# [ ignore", "# [ cfg_attr … , ignore", "# [ cfg ( any ( ) )", "# [ cfg ( false|FALSE )"],
    hides: &["let _ = … catch_unwind"],
};

const JS: Syntax = Syntax {
    extensions: "js jsx ts tsx mjs cjs mts cts",
    folders: "__tests__ tests test e2e spec",
    stems: "test tests spec",
    ends: ".test .spec .cy .e2e -test _test -spec _spec",
    line_comment: "//",
    quotes: &[BLOCK, ("'", "'", false), ("\"", "\"", false), ("`", "`", true)],
    skips: &[
        "it|test|describe|suite|context|specify . skip|only|todo|fixme|fails|failing|fail|skipIf|runIf",
        "xit|xtest|xdescribe|xspecify|xcontext|fit|fdescribe (",
        "this|t|ctx|context|task . skip|todo (",
        "{ skip|todo|only : true",
        "pending (",
    ],
    hides: &["catch { }", "catch ( * ) { }", "catch ( ( ) => { }"],
};

const PYTHON: Syntax = Syntax {
    extensions: "py",
    folders: "tests test",
    stems: "test tests conftest",
    ends: "_test _tests",
    line_comment: "#",
    quotes: &[("\"\"\"", "\"\"\"", true), ("'''", "'''", true), ("'", "'", false), ("\"", "\"", false)],
    skips: &[
        "mark|unittest|pytest|self . skip|skipif|skipIf|skipUnless|xfail|importorskip|expectedFailure|skipTest|SkipTest",
        "@|raise skip|skipIf|skipUnless|expectedFailure|SkipTest",
        "__test__ = False",
    ],
    hides: &[
        "except : pass|continue|return",
        "except … : pass|continue|return",
        "suppress ( AssertionError|Exception|BaseException",
    ],
};

const GO: Syntax = Syntax {
    extensions: "go",
    folders: "",
    stems: "",
    ends: "_test",
    line_comment: "//",
    quotes: &[BLOCK, ("\"", "\"", false), ("'", "'", false), ("`", "`", true)],
    skips: &["t|tb|b|f|) . Skip|Skipf|SkipNow (", "/ / go : build ignore"],
    hides: &["_ = recover", "{ recover"],
};

impl Language {
    const ALL: [Self; 4] = [Self::Rust, Self::Js, Self::Python, Self::Go];

    /// Returns the language of a file, by its extension.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = file_name(path).rsplit_once('.')?;
        Self::ALL.into_iter().find(|language| listed(language.syntax().extensions, extension))
    }

    pub(super) fn syntax(self) -> &'static Syntax {
        match self {
            Self::Rust => &RUST,
            Self::Js => &JS,
            Self::Python => &PYTHON,
            Self::Go => &GO,
        }
    }
}

/// Returns whether a file of Rust, JavaScript, TypeScript, Python or Go exists for tests alone.
///
/// Only the path counts: a source file that holds a test module is not a test file, and neither is test data.
pub fn is_test_file(path: &str) -> bool {
    let Some(language) = Language::of(path) else { return false };
    let syntax = language.syntax();
    let (stem, _) = file_name(path).rsplit_once('.').unwrap_or_default();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.split('/').any(|part| listed(syntax.folders, part))
        || listed(syntax.stems, stem)
        || syntax.ends.split_ascii_whitespace().any(|end| stem.ends_with(end))
        || (language == Language::Python && stem.starts_with("test_"))
}

/// Returns whether a file can hold tests that are read: a test file, or Rust, where tests stand beside the code.
pub fn may_hold_tests(path: &str) -> bool {
    is_test_file(path) || Language::of(path) == Some(Language::Rust)
}

/// Returns whether a list of names has the name.
pub(super) fn listed(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == name)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Number,
    Text,
    Mark,
}

/// A token and the line of the hunk's side that it starts on.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceToken<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) line: usize,
}

pub(super) type Tokens<'t, 'a> = &'t [SourceToken<'a>];

impl SourceToken<'_> {
    /// Returns whether the token is this word or mark.
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Text && self.text == text
    }

    /// Returns whether the token is one of these words or marks.
    pub(super) fn is_any(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }
}

const OPERATORS: [&str; 13] = ["===", "!==", "==", "!=", "<=", ">=", "&&", "||", "=>", "->", "::", ":=", ".."];
const LONGEST_REGEX: usize = 200;
/// An argument list longer than this many tokens is read to the end of its line only.
const LONGEST_CALL: usize = 400;
const LONGEST_LINE: usize = 40;
/// How many tokens `…` in a pattern may stand for.
const LONGEST_GAP: usize = 12;

/// Makes tokens of `lines`, which start inside the quote that `open` closes; returns the quote that is open at the end.
pub(super) fn tokenize<'a>(
    lines: impl Iterator<Item = &'a str>,
    language: Language,
    mut open: Option<&'static str>,
) -> (Vec<SourceToken<'a>>, Option<&'static str>) {
    let mut tokens: Vec<SourceToken<'a>> = Vec::new();
    for (line, mut rest) in lines.enumerate() {
        while let Some(first) = rest.chars().next() {
            if let Some(close) = open {
                let end = closing_quote(rest, close);
                let (text, behind) = rest.split_at(end.unwrap_or(rest.len()));
                if close != "*/" {
                    tokens.push(SourceToken { kind: TokenKind::Text, text, line });
                }
                open = open.filter(|_| end.is_none());
                rest = behind;
                continue;
            }
            if rest.starts_with(language.syntax().line_comment) && !rest.starts_with("//go:") {
                break;
            }
            if rest.starts_with("*/") {
                // The hunk starts inside a comment: the tokens so far were prose.
                tokens.clear();
                rest = &rest[2..];
                continue;
            }
            let quote = language.syntax().quotes.iter().find(|(start, ..)| rest.starts_with(start));
            let (kind, len) = match quote {
                Some((start, close, true)) if closing_quote(&rest[start.len()..], close).is_none() => {
                    open = Some(*close);
                    (TokenKind::Text, start.len())
                }
                _ => token(rest, first, quote, language, tokens.last()),
            };
            let (text, behind) = rest.split_at(len);
            if !first.is_whitespace() && !text.starts_with("/*") {
                tokens.push(SourceToken { kind, text, line });
            }
            rest = behind;
        }
    }
    (tokens, open)
}

/// Returns the kind and the length of the token that `rest` starts with.
fn token(
    rest: &str,
    first: char,
    quote: Option<&Quote>,
    language: Language,
    before: Option<&SourceToken<'_>>,
) -> (TokenKind, usize) {
    let quoted = quote.and_then(|(start, close, _)| Some(start.len() + closing_quote(&rest[start.len()..], close)?));
    let literal = quoted.or_else(|| match language {
        Language::Rust => char_literal(rest),
        Language::Js => regex(rest, before),
        Language::Python | Language::Go => None,
    });
    if let Some(len) = literal {
        return (TokenKind::Text, len);
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if first.is_ascii_digit() {
        // `1.5` is one number, `1..5` and `1.max(2)` are not.
        let point = rest[len..].strip_prefix('.').filter(|behind| behind.starts_with(|c: char| c.is_ascii_digit()));
        let more = point.map_or(0, |behind| 1 + behind.find(|c| !is_word(c)).unwrap_or(behind.len()));
        return (TokenKind::Number, len + more);
    }
    if len > 0 {
        return (TokenKind::Word, len);
    }
    let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
    (TokenKind::Mark, operator.map_or(first.len_utf8(), |operator| operator.len()))
}

/// Returns where `text`, the inside of a quote, is behind its `close`.
fn closing_quote(text: &str, close: &str) -> Option<usize> {
    if close.starts_with(['*', '`']) || close.ends_with('#') {
        return text.find(close).map(|at| at + close.len());
    }
    let mut escaped = false;
    text.char_indices().find_map(|(at, char)| {
        let closes = !escaped && text[at..].starts_with(close);
        escaped = !escaped && char == '\\';
        closes.then_some(at + close.len())
    })
}

/// Returns the length of a Rust character such as `'a'` or `'\n'`; a lifetime is none.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let escape = usize::from(inner.starts_with('\\'));
    let len = 1 + escape + inner[escape..].chars().next()?.len_utf8();
    rest[len..].starts_with('\'').then_some(len + 1)
}

/// Returns the length of a regular expression: a slash where nothing can be divided, and another one on the line.
fn regex(rest: &str, before: Option<&SourceToken<'_>>) -> Option<usize> {
    let divides = before.is_some_and(|token| match token.kind {
        TokenKind::Mark => token.is_any(&[")", "]", "}"]),
        _ => !token.is("return"),
    });
    let inner = rest.strip_prefix('/').filter(|_| !divides)?;
    inner.bytes().take(LONGEST_REGEX).position(|byte| byte == b'/').map(|at| at + 2)
}

/// Returns whether the tokens from `at` on match `pattern`.
pub(super) fn matches(tokens: Tokens<'_, '_>, at: usize, pattern: &str) -> bool {
    let (mut at, mut gap) = (at, 0);
    for part in pattern.split_ascii_whitespace() {
        if part == "…" {
            gap = LONGEST_GAP;
            continue;
        }
        let fits =
            |token: &SourceToken<'_>| part == "*" || token.is(part) || part.split('|').any(|text| token.is(text));
        let near = tokens.iter().skip(at).take(gap + 1);
        let Some(offset) = near.take_while(|token| gap == 0 || !token.is(";")).position(fits) else { return false };
        at += offset + 1;
        gap = 0;
    }
    true
}

/// Returns what is between the opening mark at `open` and its partner, and the place behind.
///
/// Without a partner nearby, the group ends with its line.
pub(super) fn group<'t, 'a>(tokens: Tokens<'t, 'a>, open: usize) -> (Tokens<'t, 'a>, usize) {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open).take(LONGEST_CALL) {
        depth += usize::from(token.is_any(&["(", "[", "{"]));
        depth -= usize::from(token.is_any(&[")", "]", "}"]) && depth > 0);
        if depth == 0 {
            return (&tokens[(open + 1).min(at)..at], at + 1);
        }
    }
    let end = end_of_line(tokens, open);
    (&tokens[open + 1..end.max(open + 1)], end)
}

/// Returns the place behind the last token on the line of the one at `at`, or one far enough away.
pub(super) fn end_of_line(tokens: Tokens<'_, '_>, at: usize) -> usize {
    let same_line = |token: &&SourceToken<'_>| token.line == tokens[at].line;
    at + tokens[at..].iter().take(LONGEST_LINE).take_while(same_line).count()
}

/// Splits at the top-level tokens `marks`; an empty part at the end is dropped.
pub(super) fn split<'t, 'a>(tokens: Tokens<'t, 'a>, marks: &[&str]) -> Vec<Tokens<'t, 'a>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        if token.is_any(&["(", "[", "{"]) {
            depth += 1;
        } else if token.is_any(&[")", "]", "}"]) {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is_any(marks) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}
