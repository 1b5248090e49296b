//! `mod.rs` and `lib.rs` hold docs, `mod` and `use` lines only: they are the map of a directory, not a room of it.

use syn::Item;
use syn::spanned::Spanned;

use super::tree::{File, Problem, Rust, Tree};

/// Reports code in files that are maps.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let maps = |file: &File| file.path.ends_with("/mod.rs") || file.path.ends_with("src/lib.rs");
    tree.rust().filter(|(file, _)| maps(file) && !file.in_tests_directory()).flat_map(judge).collect()
}

fn judge((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let is_line = |item: &&Item| match item {
        Item::Mod(module) => module.content.is_none(),
        Item::Use(_) | Item::ExternCrate(_) => true,
        _ => false,
    };
    let code = rust.syntax.items.iter().filter(|item| !is_line(item));
    let sentence = "this file holds docs, `mod` and `use` lines only; move this into a file of its own";
    code.map(|item| file.problem(item.span().start().line, sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_a_map_is_reported_with_its_line() {
        let text = "//! A.\n#![warn(missing_docs)]\n#[cfg(test)]\nmod b;\npub use b::*;\n\nfn c() {}\nmod d { }\n";
        let tree = Tree::of(&[("crates/a/src/lib.rs", text), ("crates/a/src/x/mod.rs", text)]);
        let lines: Vec<usize> = check(&tree).iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [7, 8, 7, 8]);
    }

    #[test]
    fn other_files_and_test_support_may_hold_code() {
        let tree = Tree::of(&[("crates/a/src/b.rs", "fn c() {}"), ("crates/a/tests/common/mod.rs", "fn c() {}")]);
        assert_eq!(check(&tree), []);
    }
}
