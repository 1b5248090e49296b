//! What a Rust file mentions, read from its tokens rather than from its syntax tree.
//!
//! Tokens reach into macro bodies, which the syntax tree leaves closed, and know nothing of comments and strings, which
//! a text search would take for code.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path such as `std::fs::read` where the code mentions it; `use a::{b, c}` counts as `a::b` and `a::c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathUse {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
    /// The first token of the call's arguments, if the path is called.
    pub(super) argument: Option<String>,
}

impl PathUse {
    /// The path as it is written.
    pub(super) fn text(&self) -> String {
        self.segments.join("::")
    }

    /// Whether the path contains these segments in a row.
    pub(super) fn contains(&self, wanted: &[&str]) -> bool {
        self.segments.windows(wanted.len()).any(|window| window == wanted)
    }
}

/// An attribute, as the identifiers in it, in order: `#[cfg_attr(miri, ignore)]` is `cfg_attr`, `miri`, `ignore`.
pub(super) struct AttributeUse {
    pub(super) words: Vec<String>,
    pub(super) line: usize,
}

/// Every path in `stream`, single identifiers included.
pub(super) fn paths(stream: &TokenStream) -> Vec<PathUse> {
    let mut found = Vec::new();
    collect_paths(stream, &[], &mut found);
    found
}

/// Every attribute in `stream`, outer and inner.
pub(super) fn attributes(stream: &TokenStream) -> Vec<AttributeUse> {
    let mut found = Vec::new();
    let mut after_hash = false;
    for token in stream.clone() {
        if let TokenTree::Group(group) = &token {
            if after_hash && group.delimiter() == Delimiter::Bracket {
                found.push(AttributeUse { words: words(group), line: group.span().start().line });
            }
            found.extend(attributes(&group.stream()));
        }
        let is = |character| matches!(&token, TokenTree::Punct(punct) if punct.as_char() == character);
        after_hash = is('#') || (after_hash && is('!'));
    }
    found
}

/// The name and the line of every function in `stream`, methods included.
pub(super) fn functions(stream: &TokenStream) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut after_fn = false;
    for token in stream.clone() {
        match &token {
            TokenTree::Group(group) => found.extend(functions(&group.stream())),
            TokenTree::Ident(name) if after_fn => found.push((name.to_string(), name.span().start().line)),
            _ => {}
        }
        after_fn = matches!(&token, TokenTree::Ident(keyword) if keyword == "fn");
    }
    found
}

/// The name and the line of every method call in `stream`: `.name(…)`.
pub(super) fn method_calls(stream: &TokenStream) -> Vec<(String, usize)> {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match (token, tokens.get(index + 1)) {
            (TokenTree::Group(group), _) => found.extend(method_calls(&group.stream())),
            (TokenTree::Ident(name), Some(TokenTree::Group(group)))
                if group.delimiter() == Delimiter::Parenthesis && is_punct(&tokens, index, '.') =>
            {
                found.push((name.to_string(), name.span().start().line));
            }
            _ => {}
        }
    }
    found
}

/// A macro of this name makes a test out of every function in it.
const TEST_MACRO: &str = "hermetic";

/// The path of every `#[test]` function beneath `prefix`, also of those that stand in a macro such as `proptest!`.
pub(super) fn tests(stream: &TokenStream, prefix: &[String]) -> Vec<String> {
    tests_in(stream, prefix, false)
}

fn tests_in(stream: &TokenStream, prefix: &[String], all: bool) -> Vec<String> {
    let mut found = Vec::new();
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut is_test = false;
    let mut module: Option<String> = None;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket && is_punct(&tokens, index, '#') => {
                is_test |= words(group).last().is_some_and(|word| word == "test") && words(group)[0] != "cfg";
            }
            TokenTree::Group(group) => {
                let inside: Vec<String> = prefix.iter().cloned().chain(module.take()).collect();
                let all = is_punct(&tokens, index, '!') && index > 1 && tokens[index - 2].to_string() == TEST_MACRO;
                found.extend(tests_in(&group.stream(), &inside, all));
            }
            TokenTree::Ident(keyword) if keyword == "fn" => {
                let name = tokens.get(index + 1).map(ToString::to_string).filter(|_| is_test || all);
                found.extend(name.map(|name| prefix.iter().cloned().chain([name]).collect::<Vec<_>>().join("::")));
                is_test = false;
            }
            TokenTree::Ident(keyword) if keyword == "mod" => module = tokens.get(index + 1).map(ToString::to_string),
            TokenTree::Punct(punct) if punct.as_char() == ';' => module = None,
            _ => {}
        }
    }
    found
}

fn collect_paths(stream: &TokenStream, prefix: &[String], found: &mut Vec<PathUse>) {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        index += 1;
        match token {
            TokenTree::Group(group) => collect_paths(&group.stream(), &[], found),
            TokenTree::Ident(first) => {
                let mut segments = prefix.to_vec();
                segments.push(first.to_string());
                while let (true, Some(TokenTree::Ident(next))) =
                    (is_path_separator(&tokens, index), tokens.get(index + 2))
                {
                    segments.push(next.to_string());
                    index += 3;
                }
                finish_path(
                    PathUse { segments, line: first.span().start().line, argument: None },
                    &tokens,
                    &mut index,
                    found,
                );
            }
            _ => {}
        }
    }
}

/// Follows a path into the braces of a `use` group, or into the parentheses of a call.
fn finish_path(mut path: PathUse, tokens: &[TokenTree], index: &mut usize, found: &mut Vec<PathUse>) {
    if is_path_separator(tokens, *index)
        && let Some(TokenTree::Group(group)) = tokens.get(*index + 2)
        && group.delimiter() == Delimiter::Brace
    {
        *index += 3;
        return collect_paths(&group.stream(), &path.segments, found);
    }
    if let Some(TokenTree::Group(group)) = tokens.get(*index) {
        path.argument = group.stream().into_iter().next().map(|token| token.to_string());
    }
    found.push(path);
}

fn is_path_separator(tokens: &[TokenTree], index: usize) -> bool {
    let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(tokens.get(index)) && colon(tokens.get(index + 1))
}

fn is_punct(tokens: &[TokenTree], before: usize, character: char) -> bool {
    let token = before.checked_sub(1).and_then(|index| tokens.get(index));
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

fn words(group: &Group) -> Vec<String> {
    let mut words = Vec::new();
    for token in group.stream() {
        match token {
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Group(inner) => words.extend(self::words(&inner)),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths_of(text: &str) -> Vec<String> {
        paths(&text.parse().unwrap()).iter().map(PathUse::text).collect()
    }

    #[test]
    fn a_use_group_is_read_as_its_full_paths() {
        assert_eq!(paths_of("use std::{fs, io::{self, Read}};")[1..], ["std::fs", "std::io::self", "std::io::Read"]);
    }

    #[test]
    fn paths_in_macro_bodies_are_found_and_comments_and_strings_are_not() {
        let found = paths_of("fn f() { m!(std::env::var(\"std::fs\")); } // std::net\n/* std::net */");
        assert!(found.contains(&"std::env::var".to_owned()), "{found:?}");
        assert!(!found.iter().any(|path| path.contains("fs") || path.contains("net")), "{found:?}");
    }

    #[test]
    fn a_call_shows_its_first_argument() {
        let found = paths(&"fn f() { Command::new(\"git\").arg(a) }".parse().unwrap());
        let call = found.iter().find(|path| path.contains(&["Command", "new"])).unwrap();
        assert_eq!(call.argument.as_deref(), Some("\"git\""));
    }

    #[test]
    fn tests_are_named_with_their_modules_also_inside_macros() {
        let text = "mod tests { #[test] fn a() {} fn b() {} mod deep { #[tokio::test] async fn c() {} }
                    proptest! { #[test] fn d(x in 0..3) {} } } #[cfg(test)] fn e() {}";
        assert_eq!(tests(&text.parse().unwrap(), &["x".into()]), ["x::tests::a", "x::tests::deep::c", "x::tests::d"]);
    }

    #[test]
    fn every_function_of_a_macro_that_makes_tests_is_one_and_what_it_holds_is_not() {
        let text = "hermetic! { fn a() { fn inner() {} m!(fn deep() {}); } fn b() {} } other! { fn c() {} }";
        assert_eq!(tests(&text.parse().unwrap(), &["x".into()]), ["x::a", "x::b"]);
    }

    #[test]
    fn attributes_are_found_with_all_their_words() {
        let found = attributes(&"#![allow(a)] mod m { #[cfg_attr(miri, ignore)] fn f() {} }".parse().unwrap());
        let words: Vec<String> = found.iter().map(|attribute| attribute.words.join(" ")).collect();
        assert_eq!(words, ["allow a", "cfg_attr miri ignore"]);
    }
}
