//! The project as the rules see it: paths, texts, parsed Rust, and which lines are test code.

use std::cell::OnceCell;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::Context;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::tokens::{self, PathUse};

/// The crates that the program is made of.
pub(super) const PRODUCT: [&str; 4] = ["pairflow", "pairflow-core", "pairflow-engine", "pairflow-agents"];

/// The kinds of files that rules look at.
const ENDINGS: [&str; 7] = [".rs", ".toml", ".md", ".txt", ".j2", ".html", ".yaml"];

/// What a rule found: where, and what is wrong as a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) sentence: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

/// All files that a rule may look at, sorted by path.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

/// One file; `path` is relative to the root, with slashes.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
    /// Parsed when a rule first asks for it.
    rust: OnceCell<Option<Result<Rust, syn::Error>>>,
}

/// What is known of a Rust file beyond its text.
pub(super) struct Rust {
    pub(super) syntax: syn::File,
    pub(super) tokens: proc_macro2::TokenStream,
    /// The lines of items behind `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

impl Tree {
    /// Reads the project beneath `root`: Rust files, manifests, and the documents that rules look into.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut paths = Vec::new();
        list(root, &mut paths)?;
        paths.sort();
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let inside = path.strip_prefix(root).expect("a listed file lies beneath the root");
            Ok(File::new(inside.to_string_lossy().replace('\\', "/"), text))
        };
        Ok(Self { files: paths.into_iter().map(read).collect::<anyhow::Result<_>>()? })
    }

    /// The Rust files that parse, with what is known of them.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&File, &Rust)> {
        self.files.iter().filter_map(|file| Some((file, file.rust()?)))
    }

    /// The file at exactly this path.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| File::new((*path).into(), (*text).into())).collect() }
    }
}

impl File {
    fn new(path: String, text: String) -> Self {
        Self { path, text, rust: OnceCell::new() }
    }

    /// What is known of the file if it is Rust that parses.
    pub(super) fn rust(&self) -> Option<&Rust> {
        self.parsed()?.as_ref().ok()
    }

    fn parsed(&self) -> Option<&Result<Rust, syn::Error>> {
        self.rust.get_or_init(|| self.path.ends_with(".rs").then(|| parse(&self.text))).as_ref()
    }

    /// Whether the file belongs to a crate that is shipped. Its tests do, too.
    pub(super) fn is_product(&self) -> bool {
        self.path.starts_with("crates/") && PRODUCT.contains(&self.krate())
    }

    /// The directory name of the crate this file belongs to, which is also the crate's name.
    pub(super) fn krate(&self) -> &str {
        let inside = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        inside.split('/').next().unwrap_or(inside)
    }

    /// Whether the file lies in a directory of integration tests or benchmarks.
    pub(super) fn in_tests_directory(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "benches"))
    }

    /// Whether nothing in this file is part of the product.
    fn is_all_test_code(&self) -> bool {
        self.in_tests_directory() || self.path.ends_with("/tests.rs") || self.krate() == "pairflow-testkit"
    }

    /// Whether `line` is test code.
    pub(super) fn is_test_code(&self, rust: &Rust, line: usize) -> bool {
        self.is_all_test_code() || rust.is_behind_cfg_test(line)
    }

    /// A problem in this file.
    pub(super) fn problem(&self, line: usize, sentence: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line, sentence: sentence.into() }
    }

    /// The first line that starts with `prefix` after white space and quotes, or the first line of the file.
    pub(super) fn line_starting(&self, prefix: &str) -> usize {
        let starts = |line: &str| line.trim_start_matches([' ', '\t', '"']).starts_with(prefix);
        self.text.lines().position(starts).map_or(1, |index| index + 1)
    }
}

impl Rust {
    /// Whether `line` is part of an item behind `#[cfg(test)]`.
    pub(super) fn is_behind_cfg_test(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// How many lines are behind `#[cfg(test)]`.
    pub(super) fn test_line_count(&self) -> usize {
        self.test_lines.iter().map(|lines| lines.end() - lines.start() + 1).sum()
    }

    /// Every path that the code mentions, macros and `use` groups included.
    pub(super) fn paths(&self) -> Vec<PathUse> {
        tokens::paths(&self.tokens)
    }
}

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the root of the project").to_owned()
}

/// Reports the Rust files that no rule can look into.
pub(super) fn unreadable(tree: &Tree) -> Vec<Problem> {
    let broken = |file: &File| {
        let error = file.parsed()?.as_ref().err()?;
        Some(file.problem(error.span().start().line, format!("this is not Rust: {error}")))
    };
    tree.files.iter().filter_map(broken).collect()
}

fn list(directory: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", directory.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().with_context(|| format!("cannot look at {}", entry.path().display()))?;
        let hidden = name.starts_with('.') || name == "target";
        if kind.is_dir() && !hidden {
            list(&entry.path(), paths)?;
        } else if kind.is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<Rust, syn::Error> {
    let syntax = syn::parse_file(text)?;
    let mut finder = TestItems(Vec::new());
    finder.visit_file(&syntax);
    Ok(Rust { tokens: text.parse()?, test_lines: finder.0, syntax })
}

/// Collects the lines of the outermost items behind `#[cfg(test)]`.
struct TestItems(Vec<RangeInclusive<usize>>);

impl Visit<'_> for TestItems {
    fn visit_item(&mut self, item: &syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            _ => return,
        };
        if attributes.iter().any(is_cfg_test) {
            self.0.push(item.span().start().line..=item.span().end().line);
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, method: &syn::ImplItemFn) {
        if method.attrs.iter().any(is_cfg_test) {
            self.0.push(method.span().start().line..=method.span().end().line);
        }
    }
}

fn is_cfg_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_behind_cfg_test_are_test_code_and_others_are_not() {
        let text = "fn a() {}\n#[cfg(test)]\nfn b() {}\n#[cfg(not(test))]\nfn c() {}\nimpl A {\n #[cfg(test)]\n fn d() {}\n}\n#[cfg(test)]\nmod tests {\n}\n";
        let tree = Tree::of(&[("crates/pairflow/src/a.rs", text)]);
        let (file, rust) = tree.rust().next().unwrap();
        let tested: Vec<usize> = (1..=12).filter(|line| file.is_test_code(rust, *line)).collect();
        assert_eq!(tested, [2, 3, 7, 8, 10, 11, 12]);
        assert_eq!(rust.test_line_count(), 7);
    }

    #[test]
    fn whole_files_of_tests_and_of_the_testkit_are_test_code() {
        let paths =
            ["crates/pairflow/tests/a.rs", "crates/pairflow-testkit/src/a.rs", "crates/pairflow/src/a/tests.rs"];
        for path in paths {
            assert!(Tree::of(&[(path, "")]).files[0].is_all_test_code(), "{path}");
        }
        assert!(!Tree::of(&[("crates/pairflow/src/testing.rs", "")]).files[0].is_all_test_code());
    }

    #[test]
    fn a_file_that_does_not_parse_is_a_problem_and_not_a_gap() {
        let problems = unreadable(&Tree::of(&[("crates/pairflow/src/a.rs", "//! A.\nfn a( {}")]));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].sentence.starts_with("this is not Rust: "), "{}", problems[0]);
    }

    #[test]
    fn a_problem_reads_as_path_line_and_sentence() {
        let tree = Tree::of(&[("a.toml", "[x]\n  \"b\" = 1\n")]);
        let problem = tree.files[0].problem(tree.files[0].line_starting("b"), "b is wrong");
        assert_eq!(problem.to_string(), "a.toml:2: b is wrong");
    }
}
