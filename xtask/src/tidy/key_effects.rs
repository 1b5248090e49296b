//! The key table of the configuration names, for each key, a test that shows its effect, and that test exists.
//!
//! That each entry has an `effect` is checked by the compiler.

use proc_macro2::{TokenStream, TokenTree};

use super::requirements::{all_tests, look_up};
use super::tree::{Problem, Tree};

const TABLE: &str = "crates/pairflow-core/src/config/keys.rs";

/// Reports effects that are no test.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.file(TABLE) else {
        let sentence = "this file is missing; it lists the keys of the configuration".to_owned();
        return vec![Problem { path: TABLE.to_owned(), line: 1, sentence }];
    };
    let tests = all_tests(tree);
    let effect = |line: &str| line.trim().strip_prefix("effect: \"")?.strip_suffix("\",").map(str::to_owned);
    let named = file.text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, effect(line)?)));
    let named: Vec<_> = named.collect();
    let entries =
        tree.rust().filter(|(one, _)| one.path == TABLE).map(|(_, rust)| entries(&rust.tokens)).sum::<usize>();
    let unread = (entries != named.len()).then(|| {
        let sentence = format!("{entries} entries have an effect, and {} are written as `effect: \"…\",`", named.len());
        file.problem(1, sentence)
    });
    let wrong = named.into_iter().filter_map(|(line, name)| Some(file.problem(line, look_up(&name, &tests).err()?)));
    unread.into_iter().chain(wrong).collect()
}

/// How often `effect:` stands in the tokens of the table, however the entry is written.
fn entries(stream: &TokenStream) -> usize {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let is_effect = |pair: &[TokenTree]| matches!(pair, [TokenTree::Ident(word), TokenTree::Punct(colon)] if word == "effect" && colon.as_char() == ':');
    let inside = tokens.iter().map(|token| match token {
        TokenTree::Group(group) => entries(&group.stream()),
        _ => 0,
    });
    tokens.windows(2).filter(|pair| is_effect(pair)).count() + inside.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(table: &str) -> Vec<String> {
        let test = "//! A.\n#[test]\nfn rounds_are_counted() {}";
        let tree = Tree::of(&[(TABLE, table), ("crates/pairflow/tests/it/spec.rs", test)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_effect_is_a_test_that_exists() {
        let table = |effect: &str| format!("//! A.\nkeys! {{ id {{\n        {effect}\n}} }}\n");
        assert_eq!(sentences(&table("effect: \"pairflow spec::rounds_are_counted\",")), [""; 0]);
        let gone = format!("{TABLE}:3: pairflow has no test `spec::gone`");
        assert_eq!(sentences(&table("effect: \"pairflow spec::gone\",")), [gone]);
    }

    #[test]
    fn an_effect_in_another_form_is_not_overlooked() {
        let unread = format!("{TABLE}:1: 1 entries have an effect, and 0 are written as `effect: \"…\",`");
        assert_eq!(sentences("keys! { id { effect:\n    \"pairflow spec::gone\", } }\n"), [unread.clone()]);
        assert_eq!(sentences("keys! { id { help: \"a\", effect: \"pairflow spec::gone\", } }\n"), [unread]);
    }

    #[test]
    fn the_table_is_there() {
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
