//! The size and form of files, folders and functions.
//!
//! A file without its unit tests has at most 600 lines, a function at most 70 lines, five arguments and four levels of
//! nesting. Nesting counts `if`, `match`, loops, the `else` of a `let` and closures with a block; an `else if` is as deep as
//! its `if`. A function inside a function starts again at zero.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Item, visit};

use super::tokens;
use super::tree::{File, Problem, Rust, Tree};

/// How many lines a file has at most, without its unit tests.
const FILE_LINES: usize = 600;
/// How many source files there are at most for each 1,000 lines of code.
const FILES_PER_1000_LINES: f64 = 6.0;
/// How many entries a folder has at most. The goal is [`FOLDER_GOAL`]: lower it here.
const FOLDER_ENTRIES: usize = 32;
/// Folders with more entries than this are printed.
const FOLDER_GOAL: usize = 14;
/// Folders that hold one file for each command or detector and have no limit.
const OPEN_FOLDERS: [&str; 2] = ["commands", "detectors"];

/// Returns the figures of files and folders, one a line.
pub(super) fn figures(tree: &Tree) -> String {
    let (files, lines) = sources(tree);
    let ratio = per_1000(files, lines);
    let longest = tree.rust().filter(|(file, _)| !file.in_tests_directory()).max_by_key(|one| product_lines(*one));
    let longest = longest.map_or_else(String::new, |one| format!("{} lines, {}", product_lines(one), one.0.path));
    let large: Vec<String> = folders(tree)
        .into_iter()
        .filter(|(_, entries)| entries.len() > FOLDER_GOAL)
        .map(|(folder, entries)| format!("\n  {} entries: {folder}", entries.len()))
        .collect();
    format!(
        "source files per 1,000 lines of code: {ratio:.2} ({files} files, {lines} lines); limit {FILES_PER_1000_LINES}\n\
         longest file without tests: {longest}; limit {FILE_LINES}\n\
         folders with more than {FOLDER_GOAL} entries: {}; limit {FOLDER_ENTRIES}{}",
        large.len(),
        large.concat()
    )
}

/// Reports too many files for the code that they hold.
pub(super) fn file_count(tree: &Tree) -> Vec<Problem> {
    let (files, lines) = sources(tree);
    let ratio = per_1000(files, lines);
    let sentence = format!(
        "{files} source files hold {lines} lines of code: {ratio:.2} per 1,000; the limit is {FILES_PER_1000_LINES}"
    );
    Vec::from_iter((ratio > FILES_PER_1000_LINES).then(|| Problem { path: "Cargo.toml".to_owned(), line: 1, sentence }))
}

/// Returns the number of Rust files and of their lines without comments and blank ones.
fn sources(tree: &Tree) -> (usize, usize) {
    let rust: Vec<&File> = tree.files.iter().filter(|file| file.path.ends_with(".rs")).collect();
    (rust.len(), rust.iter().map(|file| code_lines(&file.text)).sum())
}

fn code_lines(text: &str) -> usize {
    let mut in_comment = false;
    let mut lines = 0;
    for line in text.lines().map(str::trim) {
        let begins = !in_comment && line.starts_with("/*");
        let is_code = !in_comment && !begins && !line.is_empty() && !line.starts_with("//");
        lines += usize::from(is_code);
        in_comment = (in_comment || begins) && !line.contains("*/");
    }
    lines
}

fn per_1000(files: usize, lines: usize) -> f64 {
    files as f64 * 1000.0 / lines.max(1) as f64
}

/// Reports folders with too many entries.
pub(super) fn folder_entries(tree: &Tree) -> Vec<Problem> {
    let large = folders(tree).into_iter().filter(|(_, entries)| entries.len() > FOLDER_ENTRIES);
    let sentence = |count: usize| format!("this folder has {count} entries; at most {FOLDER_ENTRIES}: group them");
    large.map(|(path, entries)| Problem { path, line: 1, sentence: sentence(entries.len()) }).collect()
}

/// Returns the folders of source code that have a limit, with the names in them.
fn folders(tree: &Tree) -> BTreeMap<String, BTreeSet<&str>> {
    let mut folders: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (file, _) in tree.rust().filter(|(file, _)| !file.in_tests_directory()) {
        let parts: Vec<&str> = file.path.split('/').collect();
        let source = parts.iter().position(|part| *part == "src").unwrap_or(parts.len());
        for end in source + 1..parts.len() {
            if !OPEN_FOLDERS.contains(&parts[end - 1]) {
                folders.entry(parts[..end].join("/")).or_default().insert(parts[end]);
            }
        }
    }
    folders
}

/// Reports files that are too long.
pub(super) fn file_length(tree: &Tree) -> Vec<Problem> {
    let long = tree.rust().filter(|one| !one.0.in_tests_directory() && product_lines(*one) > FILE_LINES);
    let sentence = |lines| format!("{lines} lines without tests; at most {FILE_LINES}: split the file by concept");
    long.map(|one| one.0.problem(FILE_LINES, sentence(product_lines(one)))).collect()
}

fn product_lines((file, rust): (&File, &Rust)) -> usize {
    file.text.lines().count() - rust.test_line_count()
}

const MOST_LINES: usize = 70;
const MOST_ARGUMENTS: usize = 5;
const MOST_NESTING: usize = 4;

/// Returns the longest function and its length.
pub(super) fn longest_function(tree: &Tree) -> String {
    let (lines, name) = walk_functions(tree).into_iter().map(|walk| walk.longest).max().unwrap_or_default();
    format!("longest function: {lines} lines, {name}; limit {MOST_LINES}")
}

/// Reports functions that are too long, too wide or too deep.
pub(super) fn functions(tree: &Tree) -> Vec<Problem> {
    walk_functions(tree).into_iter().flat_map(|walk| walk.problems).collect()
}

fn walk_functions(tree: &Tree) -> Vec<FunctionWalk<'_>> {
    let walked = tree.rust().map(|(file, rust)| {
        let mut walk = FunctionWalk { file, fixed_by_trait: false, longest: (0, String::new()), problems: Vec::new() };
        walk.visit_file(&rust.syntax);
        walk
    });
    walked.collect()
}

/// Walks over all functions of a file.
struct FunctionWalk<'a> {
    file: &'a File,
    longest: (usize, String),
    /// Whether the present `impl` only repeats signatures that a trait has fixed.
    fixed_by_trait: bool,
    problems: Vec<Problem>,
}

impl FunctionWalk<'_> {
    fn judge(&mut self, signature: &syn::Signature, body: Option<&syn::Block>) {
        let line = signature.ident.span().start().line;
        let name = &signature.ident;
        let mut report = |sentence| self.problems.push(self.file.problem(line, sentence));
        let arguments = signature.inputs.len();
        if arguments > MOST_ARGUMENTS && !self.fixed_by_trait {
            report(format!("`{name}` takes {arguments} arguments; at most {MOST_ARGUMENTS}: pass a struct"));
        }
        let Some(body) = body else { return };
        let lines = body.span().end().line - signature.span().start().line + 1;
        if lines > self.longest.0 {
            self.longest = (lines, format!("`{name}` of {}", self.file.path));
        }
        if lines > MOST_LINES {
            report(format!("`{name}` has {lines} lines; at most {MOST_LINES}: name its parts"));
        }
        let mut depth = Depth::default();
        depth.visit_block(body);
        if depth.deepest > MOST_NESTING {
            let deepest = depth.deepest;
            report(format!(
                "`{name}` nests {deepest} levels deep; at most {MOST_NESTING}: return early or name a part"
            ));
        }
    }
}

impl<'ast> Visit<'ast> for FunctionWalk<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.judge(&item.sig, Some(&item.block));
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.fixed_by_trait, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.fixed_by_trait = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.judge(&item.sig, Some(&item.block));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.judge(&item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }
}

/// How deep a body nests.
#[derive(Default)]
struct Depth {
    present: usize,
    deepest: usize,
}

impl Depth {
    fn deeper(&mut self, walk: impl FnOnce(&mut Self)) {
        self.present += 1;
        self.deepest = self.deepest.max(self.present);
        walk(self);
        self.present -= 1;
    }
}

impl<'ast> Visit<'ast> for Depth {
    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        self.visit_expr(&expression.cond);
        self.deeper(|depth| depth.visit_block(&expression.then_branch));
        match expression.else_branch.as_ref().map(|(_, branch)| branch.as_ref()) {
            Some(syn::Expr::Block(block)) => self.deeper(|depth| depth.visit_block(&block.block)),
            Some(other) => self.visit_expr(other),
            None => {}
        }
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.deeper(|depth| visit::visit_expr_match(depth, expression));
    }

    fn visit_expr_for_loop(&mut self, expression: &'ast syn::ExprForLoop) {
        self.deeper(|depth| visit::visit_expr_for_loop(depth, expression));
    }

    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        self.deeper(|depth| visit::visit_expr_while(depth, expression));
    }

    fn visit_expr_loop(&mut self, expression: &'ast syn::ExprLoop) {
        self.deeper(|depth| visit::visit_expr_loop(depth, expression));
    }

    fn visit_local_init(&mut self, init: &'ast syn::LocalInit) {
        self.visit_expr(&init.expr);
        if let Some((_, otherwise)) = &init.diverge {
            self.deeper(|depth| depth.visit_expr(otherwise));
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        match closure.body.as_ref() {
            syn::Expr::Block(_) => self.deeper(|depth| depth.visit_expr(&closure.body)),
            body => self.visit_expr(body),
        }
    }
}

/// Every Rust file opens with `//!`. Reports files that do not say what they are for.
pub(super) fn module_docs(tree: &Tree) -> Vec<Problem> {
    let rust = tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let silent = rust.filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| file.problem(1, "the first line must be `//! ` and say what this file is for")).collect()
}

/// `mod.rs` and `lib.rs` are the maps of their folders. Reports code in them.
pub(super) fn map_files(tree: &Tree) -> Vec<Problem> {
    let maps = |file: &File| file.path.ends_with("/mod.rs") || file.path.ends_with("src/lib.rs");
    tree.rust().filter(|(file, _)| maps(file) && !file.in_tests_directory()).flat_map(judge_map).collect()
}

fn judge_map((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let is_line = |item: &&Item| match item {
        Item::Mod(module) => module.content.is_none(),
        Item::Use(_) | Item::ExternCrate(_) => true,
        _ => false,
    };
    let code = rust.syntax.items.iter().filter(|item| !is_line(item));
    let sentence = "this file holds docs, `mod` and `use` lines only; move this into a file of its own";
    code.map(|item| file.problem(item.span().start().line, sentence)).collect()
}

/// Reports files that no `mod` line names: they are not compiled, and their tests never run.
pub(super) fn reached(tree: &Tree) -> Vec<Problem> {
    let lost = tree.rust().filter(|(file, _)| {
        module_of(&file.path).is_some_and(|(parents, name)| {
            let declares = |path: &String| tree.rust().any(|(file, rust)| file.path == *path && declares(rust, name));
            !parents.iter().any(declares)
        })
    });
    lost.map(|(file, _)| file.problem(1, "no `mod` line names this file, so it is not compiled")).collect()
}

/// Returns the files that may declare the module of the file at `path`, and its name; nothing for the root of a program.
fn module_of(path: &str) -> Option<([String; 4], &str)> {
    let (dir, file) = path.strip_suffix(".rs")?.rsplit_once('/')?;
    let (dir, name) = if file == "mod" { dir.rsplit_once('/')? } else { (dir, file) };
    let inside = dir.starts_with("crates/") || dir.starts_with("xtask/");
    let is_root = matches!(name, "main" | "lib" | "build") || dir.ends_with("/examples");
    let parents = [format!("{dir}/mod.rs"), format!("{dir}.rs"), format!("{dir}/lib.rs"), format!("{dir}/main.rs")];
    (inside && !is_root).then_some((parents, name))
}

/// Whether a `mod` line declares the module, or the list of the policies, which makes such lines.
fn declares(rust: &Rust, name: &str) -> bool {
    let lists = |tokens: &TokenStream| tokens::paths(tokens).iter().any(|path| path.segments[0] == name);
    rust.syntax.items.iter().any(|item| match item {
        syn::Item::Mod(one) => one.ident == name && one.content.is_none(),
        syn::Item::Macro(one) => one.mac.path.is_ident("policies") && lists(&one.mac.tokens),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, code: usize, tests: usize) -> Vec<Problem> {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "//! A.\n".repeat(code), "// a\n".repeat(tests));
        file_length(&Tree::of(&[(path, &text)]))
    }

    #[test]
    fn a_file_over_the_limit_is_reported() {
        let found = problems("crates/a/src/b.rs", 601, 0);
        assert_eq!(found.len(), 1);
        assert!(found[0].sentence.starts_with("601 lines without tests"), "{}", found[0]);
    }

    #[test]
    fn too_many_files_for_their_code_are_reported() {
        let code = "//! A.\n\n/* long\n   comment */\nfn a() {}\n// b\n";
        let counted = |files: usize| {
            let paths: Vec<String> = (0..files).map(|number| format!("fuzz/{number}.rs")).collect();
            let filled = format!("{}{}", code, "a();\n".repeat(1000 - files));
            let text = |index: usize| if index == 0 { filled.as_str() } else { code };
            let tree = paths.iter().enumerate().map(|(index, path)| (path.as_str(), text(index)));
            file_count(&Tree::of(&tree.collect::<Vec<_>>())).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let most = FILES_PER_1000_LINES.floor() as usize;
        assert_eq!(counted(most), [""; 0]);
        let sentence = format!("{0} source files hold 1000 lines of code: {0}.00 per 1,000", most + 1);
        assert_eq!(counted(most + 1), [format!("Cargo.toml:1: {sentence}; the limit is {FILES_PER_1000_LINES}")]);
    }

    #[test]
    fn a_folder_with_too_many_entries_is_reported() {
        let judged = |folder: &str, entries: usize| {
            let paths: Vec<String> = (1..entries).map(|number| format!("{folder}/{number}.rs")).collect();
            let below = format!("{folder}/below/a.rs");
            let files = paths.iter().chain([&below]).map(|path| (path.as_str(), ""));
            folder_entries(&Tree::of(&files.collect::<Vec<_>>())).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(judged("crates/a/src/b", FOLDER_ENTRIES), [""; 0]);
        let count = FOLDER_ENTRIES + 1;
        let sentence = format!("this folder has {count} entries; at most {FOLDER_ENTRIES}: group them");
        assert_eq!(judged("crates/a/src/b", count), [format!("crates/a/src/b:1: {sentence}")]);
        assert_eq!(judged("crates/a/src/commands", count), [""; 0]);
        assert_eq!(judged("crates/a/src/gates/detectors", count), [""; 0]);
        assert_eq!(judged("crates/a/tests/it", count), [""; 0]);
    }

    #[test]
    fn unit_tests_and_files_of_tests_do_not_count() {
        assert_eq!(problems("crates/a/src/b.rs", 600, 900), []);
        assert_eq!(problems("crates/a/tests/b.rs", 900, 0), []);
    }

    fn sentences(text: &str) -> Vec<String> {
        functions(&Tree::of(&[("crates/a/src/b.rs", text)])).into_iter().map(|problem| problem.sentence).collect()
    }

    #[test]
    fn seventy_lines_pass_and_seventy_one_do_not() {
        let function = |lines: usize| format!("/// Doc.\n#[inline]\nfn f() {{\n{}}}\n", "    a();\n".repeat(lines - 2));
        assert_eq!(sentences(&function(70)), [""; 0]);
        assert_eq!(sentences(&function(71)), ["`f` has 71 lines; at most 70: name its parts"]);
    }

    #[test]
    fn the_sixth_argument_is_reported_and_self_counts() {
        let sentence = "`f` takes 6 arguments; at most 5: pass a struct";
        assert_eq!(sentences("fn f(a: A, b: A, c: A, d: A, e: A, f: A) {}"), [sentence]);
        assert_eq!(sentences("impl X { fn f(&self, b: A, c: A, d: A, e: A, f: A) {} }"), [sentence]);
        assert_eq!(sentences("fn f(a: A, b: A, c: A, d: A, e: A) {}"), [""; 0]);
    }

    #[test]
    fn a_signature_that_a_trait_fixes_is_judged_at_the_trait_only() {
        assert_eq!(sentences("trait T { fn f(a: A, b: A, c: A, d: A, e: A, f: A); }").len(), 1);
        assert_eq!(sentences("impl T for X { fn f(a: A, b: A, c: A, d: A, e: A, f: A) {} }"), [""; 0]);
    }

    #[test]
    fn the_fifth_level_of_nesting_is_reported() {
        let deep = "fn f() { if a { for b in c { match d { _ => loop { while e {} } } } } }";
        assert_eq!(sentences(deep), ["`f` nests 5 levels deep; at most 4: return early or name a part"]);
        assert_eq!(sentences("fn f() { if a { for b in c { match d { _ => loop {} } } } }"), [""; 0]);
        let closure = "fn f() { a(|| { b(|| { c(|| { let Some(d) = e else { if g {} }; }) }) }) }";
        assert_eq!(sentences(closure), ["`f` nests 5 levels deep; at most 4: return early or name a part"]);
    }

    #[test]
    fn a_chain_of_else_if_and_braces_in_text_do_not_nest() {
        let chain = "fn f() { if a {} else if b {} else if c {} else if d {} else if e {} else { if g {} } }";
        assert_eq!(sentences(chain), [""; 0]);
        let text = r###"fn f() { let a = "{{{{{{"; let b = '{'; let c = r#"{"{{{{{"#; /* {{{{{ */ }"###;
        assert_eq!(sentences(text), [""; 0]);
    }

    #[test]
    fn a_file_without_a_module_doc_is_reported_also_among_tests() {
        let tree = Tree::of(&[("crates/a/src/b.rs", "//! A room.\n"), ("crates/a/tests/c.rs", "use a;\n//! Late.\n")]);
        let problems = module_docs(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "crates/a/tests/c.rs");
    }

    #[test]
    fn code_in_a_map_is_reported_with_its_line() {
        let text = "//! A.\n#![warn(missing_docs)]\n#[cfg(test)]\nmod b;\npub use b::*;\n\nfn c() {}\nmod d { }\n";
        let tree = Tree::of(&[("crates/a/src/lib.rs", text), ("crates/a/src/x/mod.rs", text)]);
        let lines: Vec<usize> = map_files(&tree).iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [7, 8, 7, 8]);
    }

    #[test]
    fn other_files_and_test_support_may_hold_code() {
        let tree = Tree::of(&[("crates/a/src/b.rs", "fn c() {}"), ("crates/a/tests/common/mod.rs", "fn c() {}")]);
        assert_eq!(map_files(&tree), []);
    }

    #[test]
    fn a_file_that_no_line_names_is_reported() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod one;\npub mod two;\nmod inline { }\npolicies! { three::Three; }"),
            ("crates/a/src/three.rs", ""),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/two/mod.rs", "mod deep;"),
            ("crates/a/src/two/deep.rs", ""),
            ("crates/a/src/inline.rs", ""),
            ("crates/a/tests/it/main.rs", "mod kept;"),
            ("crates/a/tests/it/kept/mod.rs", ""),
            ("crates/a/tests/it/kept/lost.rs", "#[test]\nfn a() {}"),
            ("crates/a/tests/it/gone/mod.rs", ""),
            ("crates/a/examples/empty.rs", ""),
        ]);
        let paths: Vec<String> = reached(&tree).into_iter().map(|problem| problem.path).collect();
        assert_eq!(
            paths,
            ["crates/a/src/inline.rs", "crates/a/tests/it/kept/lost.rs", "crates/a/tests/it/gone/mod.rs"]
        );
    }
}
