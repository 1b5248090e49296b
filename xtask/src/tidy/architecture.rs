//! The lists of ARCHITECTURE.md that lead into the code: every entry exists, each step of a way
//! is reached from an earlier one, and `pass` needs few files.
//!
//! A list follows a heading of its own. An entry is a line such as
//! ``- `pairflow-engine/engine/apply.rs::apply` what happens there``: a crate, a file in its `src`, and a function of that
//! file.

use std::collections::BTreeSet;

use super::tokens;
use super::tree::{File, Problem, Rust, Tree};

const DOCUMENT: &str = "ARCHITECTURE.md";

/// How many files `pass` leads through at most.
const PASS_FILES: usize = 20;
/// How many behaviours the document locates at least.
const BEHAVIOURS: usize = 10;

/// One list of the document.
struct List {
    heading: &'static str,
    /// How many different files its entries name at most.
    most_files: usize,
    least_entries: usize,
    /// Whether its entries are in the order of calls.
    is_way: bool,
}

const PASS: List = List { heading: "### The way of `pass`", most_files: PASS_FILES, least_entries: 1, is_way: true };

const LISTS: [List; 4] = [
    PASS,
    List { heading: "### The way of a notice", most_files: usize::MAX, least_entries: 1, is_way: true },
    List { heading: "### The way of a hook", most_files: usize::MAX, least_entries: 1, is_way: true },
    List { heading: "## Where behaviours live", most_files: usize::MAX, least_entries: BEHAVIOURS, is_way: false },
];

/// Returns how many files `pass` leads through.
pub(super) fn count(tree: &Tree) -> String {
    let entries = tree.file(DOCUMENT).and_then(|document| PASS.entries(document)).map_or(Vec::new(), |found| found.1);
    let files: BTreeSet<_> = entries.into_iter().flatten().map(|entry| entry.file).collect();
    format!("`pass` leads through {} files; limit {PASS_FILES}", files.len())
}

/// Reports lists that are missing or too short, entries that do not exist, and a way through too many files.
pub(super) fn lists(tree: &Tree) -> Vec<Problem> {
    let Some(document) = tree.file(DOCUMENT) else {
        let sentence = "this file is missing; it shows the ways through the code".to_owned();
        return vec![Problem { path: DOCUMENT.to_owned(), line: 1, sentence }];
    };
    LISTS.iter().flat_map(|list| list.judge(tree, document)).collect()
}

/// One line of a list.
struct Entry<'a> {
    line: usize,
    file: String,
    function: &'a str,
    /// Whether the line says how the function is reached, if no earlier file names it.
    via: bool,
}

impl List {
    fn judge(&self, tree: &Tree, document: &File) -> Vec<Problem> {
        let Some((start, entries)) = self.entries(document) else {
            let sentence = format!("the heading `{}` is missing, with a list of `path::function`", self.heading);
            return vec![document.problem(1, sentence)];
        };
        let mut problems = Vec::new();
        let mut files = BTreeSet::new();
        for entry in &entries {
            match entry {
                Ok(entry) => {
                    problems.extend(missing(tree, document, entry));
                    files.insert(entry.file.as_str());
                }
                Err(line) => {
                    problems.push(document.problem(*line, "this line does not begin with `crate/path.rs::function`"))
                }
            }
        }
        if self.is_way {
            let entries: Vec<_> = entries.iter().flatten().collect();
            problems.extend((1..entries.len()).filter_map(|at| unreached(tree, document, &entries[..=at])));
        }
        if entries.len() < self.least_entries {
            let sentence = format!("this list has {} entries; at least {}", entries.len(), self.least_entries);
            problems.push(document.problem(start, sentence));
        }
        if files.len() > self.most_files {
            let sentence = format!("this list leads through {} files; the limit is {}", files.len(), self.most_files);
            problems.push(document.problem(start, sentence));
        }
        problems
    }

    /// Returns the line of the heading and the entries beneath it; one that is not in the form is its line.
    fn entries<'a>(&self, document: &'a File) -> Option<(usize, Vec<Result<Entry<'a>, usize>>)> {
        let start = document.text.lines().position(|line| line == self.heading)?;
        let body = document.text.lines().zip(1..).skip(start + 1).take_while(|(line, _)| !line.starts_with('#'));
        let entries = body.filter(|(line, _)| line.starts_with("- "));
        Some((start + 1, entries.map(|(text, line)| entry(line, text).ok_or(line)).collect()))
    }
}

fn entry(line: usize, text: &str) -> Option<Entry<'_>> {
    let (place, what) = text.strip_prefix("- `")?.split_once('`')?;
    let (path, function) = place.split_once("::")?;
    let (krate, inside) = path.split_once('/')?;
    Some(Entry { line, file: format!("crates/{krate}/src/{inside}"), function, via: what.contains("via ") })
}

/// The last of `entries`, if no file of the entries before it names its function, and the line does not say how it is reached.
fn unreached(tree: &Tree, document: &File, entries: &[&Entry<'_>]) -> Option<Problem> {
    let (entry, earlier) = entries.split_last()?;
    let names = |rust: &Rust| {
        tokens::paths(&rust.tokens).iter().any(|path| path.segments.iter().any(|one| one == entry.function))
    };
    let called = |one: &&Entry<'_>| tree.rust().any(|(file, rust)| file.path == one.file && names(rust));
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

    fn document(pass: &str, behaviours: usize) -> String {
        let one = "- `a/b.rs::outer` does it\n";
        format!(
            "# A\n### The way of `pass`\n\n{pass}\n### The way of a notice\n{one}### The way of a hook\n{one}\
             ## Where behaviours live\n{}## B\n- not an entry\n",
            one.repeat(behaviours)
        )
    }

    fn found(document: &str) -> Vec<String> {
        let tree = Tree::of(&[("ARCHITECTURE.md", document), ("crates/a/src/b.rs", CODE)]);
        lists(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn entries_that_exist_pass() {
        let pass = "What happens, in order:\n\n- `a/b.rs::outer` first\n- `a/b.rs::inner` then\n";
        assert_eq!(found(&document(pass, BEHAVIOURS)), [""; 0]);
    }

    #[test]
    fn an_entry_that_no_earlier_file_names_says_how_it_is_reached() {
        let judged = |second: &str| {
            let text = format!("### The way of `pass`\n- `a/b.rs::outer` first\n{second}\n");
            let other = ("crates/a/src/c.rs", "//! C.\nfn far() {}");
            let tree = Tree::of(&[("ARCHITECTURE.md", &text), ("crates/a/src/b.rs", CODE), other]);
            let document = tree.file(DOCUMENT).unwrap();
            PASS.judge(&tree, document).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let problem = "ARCHITECTURE.md:3: no file of an earlier entry names `far`; say `via` what it is reached";
        assert_eq!(judged("- `a/c.rs::far` then"), [problem]);
        assert_eq!(judged("- `a/c.rs::far` then, via the file watcher"), [""; 0]);
    }

    #[test]
    fn a_file_a_function_and_a_form_that_are_wrong_are_reported() {
        let pass = "- `a/c.rs::outer`\n- `a/b.rs::gone` x\n- `a/b.rs::tested` x\n- outer\n";
        assert_eq!(
            found(&document(pass, BEHAVIOURS)),
            [
                "ARCHITECTURE.md:4: there is no file crates/a/src/c.rs",
                "ARCHITECTURE.md:5: crates/a/src/b.rs has no function `gone`",
                "ARCHITECTURE.md:6: crates/a/src/b.rs has no function `tested`",
                "ARCHITECTURE.md:7: this line does not begin with `crate/path.rs::function`",
                "ARCHITECTURE.md:5: no file of an earlier entry names `gone`; say `via` what it is reached",
            ]
        );
        let behaviours =
            document("- `a/b.rs::outer`\n", BEHAVIOURS).replace("live\n- `a/b.rs::outer`", "live\n- `a/b.rs::gone`");
        assert_eq!(found(&behaviours), ["ARCHITECTURE.md:11: crates/a/src/b.rs has no function `gone`"]);
    }

    #[test]
    fn a_list_that_is_too_short_or_has_no_heading_is_reported() {
        let empty = "ARCHITECTURE.md:2: this list has 0 entries; at least 1";
        assert_eq!(found(&document("nothing yet\n", BEHAVIOURS)), [empty]);
        let short = "ARCHITECTURE.md:10: this list has 9 entries; at least 10";
        assert_eq!(found(&document("- `a/b.rs::outer`\n", 9)), [short]);
        assert_eq!(lists(&Tree::of(&[("ARCHITECTURE.md", "# A\n")])).len(), LISTS.len());
        assert_eq!(lists(&Tree::of(&[])).len(), 1);
    }

    #[test]
    fn a_way_through_too_many_files_is_reported() {
        let names: Vec<String> = (0..=PASS_FILES).map(|n| format!("crates/a/src/f{n}.rs")).collect();
        let list = |count: usize| (0..count).map(|n| format!("- `a/f{n}.rs::outer`\n")).collect::<String>();
        let judged = |count: usize| {
            let text = format!("### The way of `pass`\n{}", list(count));
            let files = names.iter().map(|name| (name.as_str(), CODE)).chain([("ARCHITECTURE.md", text.as_str())]);
            let tree = Tree::of(&files.collect::<Vec<_>>());
            let document = tree.file(DOCUMENT).unwrap();
            PASS.judge(&tree, document).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(judged(PASS_FILES), [""; 0]);
        let (many, limit) = (PASS_FILES + 1, PASS_FILES);
        let sentence = format!("ARCHITECTURE.md:1: this list leads through {many} files; the limit is {limit}");
        assert_eq!(judged(PASS_FILES + 1), [sentence]);
    }
}
