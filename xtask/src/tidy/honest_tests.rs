//! No test is switched off, and none sleeps: a test polls with a deadline.

use super::tokens;
use super::tree::{File, Problem, Rust, Tree};

/// Files whose tests may sleep, each with the reason.
const MAY_SLEEP: &[(&str, &str)] = &[
    ("crates/pairflow-testkit/src/wait.rs", "the one place where tests wait, with a deadline"),
    (
        "crates/pairflow-testkit/src/clis/panes.rs",
        "a program takes an Enter that follows a paste at once for a line break",
    ),
    (
        "crates/pairflow-testkit/src/kill/process.rs",
        "a process is killed after a time of chance, or once its file has grown",
    ),
    ("crates/pairflow/tests/it/support/faults/disk.rs", "a process waits for the test that holds it, with a deadline"),
];

/// Reports `#[ignore]` anywhere and sleeps in test code.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust().flat_map(|(file, rust)| ignored(file, rust).into_iter().chain(sleeps(file, rust))).collect()
}

fn ignored(file: &File, rust: &Rust) -> Vec<Problem> {
    let found = tokens::attributes(&rust.tokens);
    let off = found.into_iter().filter(|attribute| {
        let words: Vec<&str> = attribute.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["ignore", ..] | ["cfg", "any"] => true,
            ["cfg_attr", rest @ ..] => rest.iter().any(|word| matches!(*word, "ignore" | "test")),
            _ => false,
        }
    });
    off.map(|attribute| file.problem(attribute.line, "this test is switched off; fix it or remove it")).collect()
}

fn sleeps(file: &File, rust: &Rust) -> Vec<Problem> {
    if MAY_SLEEP.iter().any(|(path, _)| *path == file.path) {
        return Vec::new();
    }
    let found = rust.paths().into_iter().filter(|path| {
        let sleep = path.contains(&["thread", "sleep"]) || path.contains(&["time", "sleep"]);
        sleep && file.is_test_code(rust, path.line)
    });
    let sentence = "a test does not sleep: poll with a deadline, or list the file in honest_tests.rs with the reason";
    found.map(|path| file.problem(path.line, sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_test_that_is_switched_off_is_reported_in_every_spelling() {
        let text =
            "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\nfn b() {}\n#[cfg_attr(miri, ignore)]\nfn c() {}\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [2, 4, 6]);
        let never = "#[cfg(any())]\n#[test]\nfn a() {}\n#[cfg_attr(any(), test)]\nfn b() {}\n#[cfg(test)]\nmod c {}\n";
        assert_eq!(lines("crates/a/src/b.rs", never), [1, 4]);
        assert_eq!(
            lines("crates/a/src/b.rs", "#[serde(ignore)]\nstruct A;\n#[doc = \"ignore\"]\nfn ignore() {}"),
            [0; 0]
        );
    }

    #[test]
    fn a_sleep_in_test_code_is_reported_and_one_in_the_product_is_not() {
        let text = "fn a() { std::thread::sleep(b); }\n#[cfg(test)]\nmod tests {\nuse std::{thread::{sleep}};\n}\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [4]);
        assert_eq!(lines("crates/a/tests/b.rs", "//! A.\nfn a() { thread::sleep(b); }"), [2]);
    }
}
