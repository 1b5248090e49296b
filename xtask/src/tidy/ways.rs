//! The ways through the code that ARCHITECTURE.md lists: every entry exists and is reached, and `pass` needs few files.
//!
//! A way is a list beneath a heading of its own. An entry is a line such as
//! ``- `pairflow-engine/verbs/hear.rs::hear` what happens there``: a crate, a file in its `src`, and a function of that file.

use std::collections::BTreeSet;

use super::tokens;
use super::tree::{File, Problem, Rust, Tree};

const DOCUMENT: &str = "ARCHITECTURE.md";
/// The heading of each way, and how many different files it may touch.
const WAYS: [(&str, Option<usize>); 3] =
    [("### The way of `pass`", Some(24)), ("### The way of a notice", None), ("### The way of a hook", None)];

/// Reports ways that are missing, entries that do not exist, and a way through too many files.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(document) = tree.file(DOCUMENT) else {
        let sentence = "this file is missing; it shows the ways through the code".to_owned();
        return vec![Problem { path: DOCUMENT.to_owned(), line: 1, sentence }];
    };
    WAYS.iter().flat_map(|(heading, most)| judge(tree, document, heading, *most)).collect()
}

/// One line of a way.
struct Entry<'a> {
    line: usize,
    file: String,
    function: &'a str,
    /// Whether the line says how the function is reached, if no earlier file names it.
    via: bool,
}

fn judge(tree: &Tree, document: &File, heading: &str, most: Option<usize>) -> Vec<Problem> {
    let Some(start) = document.text.lines().position(|line| line == heading) else {
        return vec![
            document.problem(1, format!("the heading `{heading}` is missing, with a list of `path::function`")),
        ];
    };
    let body = document.text.lines().enumerate().skip(start + 1).take_while(|(_, line)| !line.starts_with('#'));
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in body.filter(|(_, line)| line.starts_with("- ")) {
        match entry(index + 1, line) {
            Some(entry) => entries.push(entry),
            None => {
                problems.push(document.problem(index + 1, "this line does not begin with `crate/path.rs::function`"))
            }
        }
    }
    problems.extend(entries.iter().filter_map(|entry| missing(tree, document, entry)));
    problems.extend((1..entries.len()).filter_map(|at| unreached(tree, document, &entries[..=at])));
    let files: BTreeSet<&str> = entries.iter().map(|entry| entry.file.as_str()).collect();
    if files.is_empty() {
        problems.push(document.problem(start + 1, "this way has no entry"));
    }
    if let Some(most) = most.filter(|most| files.len() > *most) {
        let sentence = format!("this way leads through {} files; the limit is {most}", files.len());
        problems.push(document.problem(start + 1, sentence));
    }
    problems
}

fn entry(line: usize, text: &str) -> Option<Entry<'_>> {
    let (place, what) = text.strip_prefix("- `")?.split_once('`')?;
    let (path, function) = place.split_once("::")?;
    let (krate, inside) = path.split_once('/')?;
    Some(Entry { line, file: format!("crates/{krate}/src/{inside}"), function, via: what.contains("via ") })
}

/// The last of `entries`, if no file of the entries before it names its function, and the line does not say how it is reached.
fn unreached(tree: &Tree, document: &File, entries: &[Entry<'_>]) -> Option<Problem> {
    let (entry, earlier) = entries.split_last()?;
    let names = |rust: &Rust| {
        tokens::paths(&rust.tokens).iter().any(|path| path.segments.iter().any(|one| one == entry.function))
    };
    let called = |one: &Entry<'_>| tree.rust().any(|(file, rust)| file.path == one.file && names(rust));
    let sentence = format!("no file of an earlier entry names `{}`; say `via` what it is reached", entry.function);
    (!entry.via && !earlier.iter().any(called)).then(|| document.problem(entry.line, sentence))
}

fn missing(tree: &Tree, document: &File, entry: &Entry<'_>) -> Option<Problem> {
    let Some((_, rust)) = tree.rust().find(|(file, _)| file.path == entry.file) else {
        return Some(document.problem(entry.line, format!("there is no file {}", entry.file)));
    };
    let sentence = format!("{} has no function `{}`", entry.file, entry.function);
    (!has_function(rust, entry.function)).then(|| document.problem(entry.line, sentence))
}

fn has_function(rust: &Rust, name: &str) -> bool {
    tokens::functions(&rust.tokens).iter().any(|(found, line)| found == name && !rust.is_behind_cfg_test(*line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! A.\nimpl A { pub(crate) fn inner(&self) {} }\nfn outer() {}\n#[cfg(test)]\nfn tested() {}";

    fn found(pass: &str) -> Vec<String> {
        let one = "- `a/b.rs::outer` does it\n";
        let text = format!(
            "# A\n### The way of `pass`\n\n{pass}\n### The way of a notice\n{one}### The way of a hook\n{one}## B\n- not an entry\n"
        );
        let tree = Tree::of(&[("ARCHITECTURE.md", &text), ("crates/a/src/b.rs", CODE)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn entries_that_exist_pass() {
        let pass = "What happens, in order:\n\n- `a/b.rs::outer` first\n- `a/b.rs::inner` then\n";
        assert_eq!(found(pass), [""; 0]);
    }

    #[test]
    fn an_entry_that_no_earlier_file_names_says_how_it_is_reached() {
        let judged = |second: &str| {
            let text = format!("### The way of `pass`\n- `a/b.rs::outer` first\n{second}\n");
            let other = ("crates/a/src/c.rs", "//! C.\nfn far() {}");
            let tree = Tree::of(&[("ARCHITECTURE.md", &text), ("crates/a/src/b.rs", CODE), other]);
            let document = tree.file(DOCUMENT).unwrap();
            judge(&tree, document, WAYS[0].0, WAYS[0].1).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let problem = "ARCHITECTURE.md:3: no file of an earlier entry names `far`; say `via` what it is reached";
        assert_eq!(judged("- `a/c.rs::far` then"), [problem]);
        assert_eq!(judged("- `a/c.rs::far` then, via the file watcher"), [""; 0]);
    }

    #[test]
    fn a_file_a_function_and_a_form_that_are_wrong_are_reported() {
        let pass = "- `a/c.rs::outer`\n- `a/b.rs::gone` x\n- `a/b.rs::tested` x\n- outer\n";
        assert_eq!(
            found(pass),
            [
                "ARCHITECTURE.md:7: this line does not begin with `crate/path.rs::function`",
                "ARCHITECTURE.md:4: there is no file crates/a/src/c.rs",
                "ARCHITECTURE.md:5: crates/a/src/b.rs has no function `gone`",
                "ARCHITECTURE.md:6: crates/a/src/b.rs has no function `tested`",
                "ARCHITECTURE.md:5: no file of an earlier entry names `gone`; say `via` what it is reached",
            ]
        );
    }

    #[test]
    fn a_way_without_entries_or_without_a_heading_is_reported() {
        assert_eq!(found("nothing yet\n"), ["ARCHITECTURE.md:2: this way has no entry"]);
        assert_eq!(check(&Tree::of(&[("ARCHITECTURE.md", "# A\n")])).len(), WAYS.len());
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }

    #[test]
    fn a_way_through_too_many_files_is_reported() {
        let names: Vec<String> = (0..25).map(|n| format!("crates/a/src/f{n}.rs")).collect();
        let list = |count: usize| (0..count).map(|n| format!("- `a/f{n}.rs::outer`\n")).collect::<String>();
        let judged = |count: usize| {
            let text = format!("### The way of `pass`\n{}", list(count));
            let files = names.iter().map(|name| (name.as_str(), CODE)).chain([("ARCHITECTURE.md", text.as_str())]);
            let tree = Tree::of(&files.collect::<Vec<_>>());
            let document = tree.file(DOCUMENT).unwrap();
            judge(&tree, document, WAYS[0].0, WAYS[0].1).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(judged(24), [""; 0]);
        assert_eq!(judged(25), ["ARCHITECTURE.md:1: this way leads through 25 files; the limit is 24"]);
    }
}
