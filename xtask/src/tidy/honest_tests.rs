//! No test is switched off, and none sleeps: a test polls with a deadline. A note about unfinished work names an issue.

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
        "crates/pairflow-testkit/src/kill/random.rs",
        "a process is killed after a time of chance, or once its file has grown",
    ),
    ("crates/pairflow/tests/it/support/faults/disk.rs", "a process waits for the test that holds it, with a deadline"),
];

/// Reports `#[ignore]` anywhere and sleeps in test code.
pub(super) fn tests_run(tree: &Tree) -> Vec<Problem> {
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

/// The words, put together here so that this file does not report itself.
const WORDS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Reports notes that no issue backs.
pub(super) fn notes_name_issues(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().filter(|file| file.path.ends_with(".rs")).flat_map(notes).collect()
}

fn notes(file: &File) -> impl Iterator<Item = Problem> {
    file.text.lines().enumerate().filter_map(|(index, line)| {
        let word = WORDS.iter().find(|word| has_word(line, word))?;
        let sentence = format!("{word} without an issue: write `{word}(#12)`, or do it");
        (!names_issue(line)).then(|| file.problem(index + 1, sentence))
    })
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

fn names_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_lines(path: &str, text: &str) -> Vec<usize> {
        tests_run(&Tree::of(&[(path, text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_test_that_is_switched_off_is_reported_in_every_spelling() {
        let text =
            "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\nfn b() {}\n#[cfg_attr(miri, ignore)]\nfn c() {}\n";
        assert_eq!(test_lines("crates/a/src/b.rs", text), [2, 4, 6]);
        let never = "#[cfg(any())]\n#[test]\nfn a() {}\n#[cfg_attr(any(), test)]\nfn b() {}\n#[cfg(test)]\nmod c {}\n";
        assert_eq!(test_lines("crates/a/src/b.rs", never), [1, 4]);
        assert_eq!(
            test_lines("crates/a/src/b.rs", "#[serde(ignore)]\nstruct A;\n#[doc = \"ignore\"]\nfn ignore() {}"),
            [0; 0]
        );
    }

    #[test]
    fn a_sleep_in_test_code_is_reported_and_one_in_the_product_is_not() {
        let text = "fn a() { std::thread::sleep(b); }\n#[cfg(test)]\nmod tests {\nuse std::{thread::{sleep}};\n}\n";
        assert_eq!(test_lines("crates/a/src/b.rs", text), [4]);
        assert_eq!(test_lines("crates/a/tests/b.rs", "//! A.\nfn a() { thread::sleep(b); }"), [2]);
    }

    #[test]
    fn a_note_without_an_issue_number_is_reported() {
        let text =
            format!("//! A.\n// {0} later\n// {0}(#12): later\n// the {0}S list\n// {1}: #x\n", WORDS[0], WORDS[1]);
        let lines: Vec<usize> =
            notes_name_issues(&Tree::of(&[("crates/a/src/b.rs", &text)])).iter().map(|p| p.line).collect();
        assert_eq!(lines, [2, 5]);
    }
}
