//! A Rust file has at most 600 lines; its state tests and whole files of tests do not count.

use super::tree::{File, Problem, Rust, Tree};

const LIMIT: usize = 600;

/// Reports files that are too long.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust().filter(|(file, _)| !file.in_tests_directory()).filter_map(measure).collect()
}

fn measure((file, rust): (&File, &Rust)) -> Option<Problem> {
    let lines = file.text.lines().count() - rust.test_line_count();
    let sentence = format!("{lines} lines without tests; at most {LIMIT}: split the file by reason to change");
    (lines > LIMIT).then(|| file.problem(LIMIT, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, code: usize, tests: usize) -> Vec<Problem> {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "//! A.\n".repeat(code), "// a\n".repeat(tests));
        check(&Tree::of(&[(path, &text)]))
    }

    #[test]
    fn a_file_over_the_limit_is_reported() {
        let found = problems("crates/a/src/b.rs", 601, 0);
        assert_eq!(found.len(), 1);
        assert!(found[0].sentence.starts_with("601 lines without tests"), "{}", found[0]);
    }

    #[test]
    fn unit_tests_and_files_of_tests_do_not_count() {
        assert_eq!(problems("crates/a/src/b.rs", 600, 900), []);
        assert_eq!(problems("crates/a/tests/b.rs", 900, 0), []);
    }
}
