//! Every Rust file opens with `//!`: what this room is for.

use super::tree::{Problem, Tree};

/// Reports files that do not say what they are for.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let rust = tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let silent = rust.filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| file.problem(1, "the first line must be `//! ` and say what this file is for")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_module_doc_is_reported_also_among_tests() {
        let tree = Tree::of(&[("crates/a/src/b.rs", "//! A room.\n"), ("crates/a/tests/c.rs", "use a;\n//! Late.\n")]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "crates/a/tests/c.rs");
    }
}
