//! The core has no I/O, clock, environment, threads or randomness.
//!
//! Clippy forbids the same by type and method (crates/pairflow-core/clippy.toml); this rule also sees what is only
//! named, and code behind a `cfg` that clippy did not build. BubbleState tests of the core are free.

use super::tokens::PathUse;
use super::tree::{File, Problem, Rust, Tree};

const FORBIDDEN: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "env"],
    &["std", "process"],
    &["std", "net"],
    &["std", "os"],
    &["std", "thread"],
    &["SystemTime"],
    &["Instant"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["RandomState"],
    &["rand"],
    &["getrandom"],
    &["rustix"],
];

/// Reports what would let the world into the core.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust().filter(|(file, _)| file.krate() == "pairflow-core").flat_map(leaks).collect()
}

fn leaks((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let is_leak = |path: &PathUse| FORBIDDEN.iter().any(|forbidden| path.contains(forbidden));
    let found = rust.paths().into_iter().filter(|path| is_leak(path) && !file.is_test_code(rust, path.line));
    let sentence = |path: &PathUse| format!("`{}` is not for the core: take the value as an argument", path.text());
    found.map(|path| file.problem(path.line, sentence(&path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(krate: &str, text: &str) -> Vec<usize> {
        let path = format!("crates/{krate}/src/a.rs");
        check(&Tree::of(&[(path.as_str(), text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn the_world_is_reported_in_every_spelling() {
        let text = "use std::{\nfs,\nfmt};\nfn f() {\nformat!(\"{}\", std::env::var(\"A\"));\nInstant::now();\n}\n\
                    use std::time::{Duration,\nSystemTime};\nuse std::process as p;\nuse rand::Rng;\n";
        assert_eq!(lines("pairflow-core", text), [2, 5, 6, 9, 10, 11]);
    }

    #[test]
    fn tests_comments_and_other_crates_are_free() {
        let text =
            "// std::fs and SystemTime\nconst A: &str = \"std::env\";\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(lines("pairflow-core", text), [0; 0]);
        assert_eq!(lines("pairflow-engine", "use std::fs;"), [0; 0]);
    }
}
