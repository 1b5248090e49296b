//! The key table of the configuration names, for each key, a test that shows its effect, and that test exists.
//!
//! That each entry has an `effect` is checked by the compiler.

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
    named.filter_map(|(line, name)| Some(file.problem(line, look_up(&name, &tests).err()?))).collect()
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
        assert_eq!(sentences("        effect: \"pairflow spec::rounds_are_counted\",\n"), [""; 0]);
        let gone = format!("{TABLE}:2: pairflow has no test `spec::gone`");
        assert_eq!(sentences("//! A.\n        effect: \"pairflow spec::gone\",\n"), [gone]);
    }

    #[test]
    fn the_table_is_there() {
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
