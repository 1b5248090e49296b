//! docs/strings.txt: every text that the product shows to people and agents, and the words that must not be in it.
//!
//! The texts are the string literals of product code with a letter and a space, help texts of clap, error attributes, and
//! the lines of templates. They are listed by file in the order of the code and without line numbers, so that code can
//! move inside a file. `cargo xtask strings` writes the list. xtask/tidy.toml says which words are rejected and what to
//! write instead.

use std::collections::BTreeMap;

use anyhow::Context;
use proc_macro2::{Delimiter, Group, LineColumn, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::tree::{File, Problem, Rust, Tree, root};
use crate::say;

const LIST: &str = "docs/strings.txt";
const SETTINGS: &str = "xtask/tidy.toml";

/// Template files, by how their names end.
const TEMPLATES: [&str; 5] = [".j2", ".html", ".md", ".txt", ".yaml"];
/// Derives that turn doc comments into help texts.
const HELP_DERIVES: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];
/// Attributes whose strings people see.
const SHOWN_ATTRIBUTES: [&str; 6] = ["error", "arg", "command", "clap", "value", "group"];

/// Writes the list.
pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    let tree = Tree::read(&root())?;
    let texts = collect(&tree);
    let path = root().join(LIST);
    std::fs::write(&path, render(&texts)).with_context(|| format!("cannot write {}", path.display()))?;
    say::line(format_args!("{} strings in {LIST}", texts.len()));
    Ok(())
}

/// Returns how many texts there are, and how many rejected words are left in them.
pub(super) fn count(tree: &Tree) -> String {
    let pending = Words::read(tree).map_or(0, |words| words.pending.len());
    let list = tree.file(LIST).map_or("", |file| &file.text);
    let texts = list
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty() && !line.starts_with("# crates/") && !line.starts_with(' '));
    format!("user-visible strings: {}; rejected words that they still have: {pending}", texts.count())
}

/// Reports a list that is not up to date.
pub(super) fn up_to_date(tree: &Tree) -> Vec<Problem> {
    let expected = render(&collect(tree));
    let present = tree.file(LIST).map_or("", |file| &file.text);
    let differs = present.lines().zip(expected.lines()).position(|(present, expected)| present != expected);
    let line = differs.unwrap_or(present.lines().count().min(expected.lines().count())) + 1;
    let sentence = "this list is out of date; run `cargo xtask strings`".to_owned();
    Vec::from_iter((present != expected).then(|| Problem { path: LIST.to_owned(), line, sentence }))
}

/// Reports texts with rejected words, and words that wait for their replacement but are gone.
pub(super) fn wording(tree: &Tree) -> Vec<Problem> {
    let words = match Words::read(tree) {
        Ok(words) => words,
        Err(problem) => return vec![problem],
    };
    let texts = collect(tree);
    let mut problems = Vec::new();
    for text in &texts {
        let shown = plain(&text.text);
        let found = words.instead.iter().filter(|(word, _)| contains(&shown, word) && !words.pending.contains(word));
        problems.extend(found.map(|(word, instead)| {
            let sentence = format!("\"{word}\" in \"{}\"; write: {instead}", text.text.trim());
            Problem { path: text.file.to_owned(), line: text.line, sentence }
        }));
    }
    let gone = words.pending.iter().filter(|word| !texts.iter().any(|text| contains(&plain(&text.text), word)));
    problems.extend(gone.map(|word| {
        let sentence = format!("no string has \"{word}\" any more; remove it from `pending`");
        Problem { path: SETTINGS.to_owned(), line: 1, sentence }
    }));
    problems
}

/// The rejected words, each with what to write instead.
struct Words {
    instead: BTreeMap<String, String>,
    /// Words that are not rejected yet.
    pending: Vec<String>,
}

impl Words {
    fn read(tree: &Tree) -> Result<Self, Problem> {
        let problem = |sentence: &str| Problem { path: SETTINGS.to_owned(), line: 1, sentence: sentence.to_owned() };
        let file = tree.file(SETTINGS).ok_or_else(|| problem("this file is missing; it lists the rejected words"))?;
        let table = file.text.parse::<toml::Table>().map_err(|error| problem(error.message()))?;
        let wording = table.get("wording").and_then(toml::Value::as_table);
        let wording = wording.ok_or_else(|| problem("the table [wording] is missing"))?;
        let instead = wording.get("instead").and_then(toml::Value::as_table).into_iter().flatten();
        let instead = instead.filter_map(|(word, with)| Some((word.clone(), with.as_str()?.to_owned()))).collect();
        let pending = wording.get("pending").and_then(toml::Value::as_array).into_iter().flatten();
        let pending = pending.filter_map(|word| Some(word.as_str()?.to_owned())).collect();
        Ok(Self { instead, pending })
    }
}

/// Returns `text` in lower case with single blanks.
fn plain(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `text` contains `words` as whole words.
fn contains(text: &str, words: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    text.match_indices(words)
        .any(|(at, found)| !inside(text[..at].chars().next_back()) && !inside(text[at + found.len()..].chars().next()))
}

/// One text that people or agents see.
struct Shown<'a> {
    file: &'a str,
    line: usize,
    text: String,
}

fn collect(tree: &Tree) -> Vec<Shown<'_>> {
    let mut shown: Vec<Shown<'_>> = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_product() && !file.in_tests_directory()) {
        if TEMPLATES.iter().any(|ending| file.path.ends_with(ending)) {
            let lines = file.text.lines().zip(1..).map(|(line, number)| (number, line.to_owned()));
            shown.extend(lines.map(|(line, text)| Shown { file: &file.path, line, text }));
        } else if let Some(rust) = file.rust() {
            shown.extend(of_rust(file, rust));
        }
    }
    shown.retain(|shown| is_text(&shown.text));
    shown
}

fn of_rust<'a>(file: &'a File, rust: &Rust) -> Vec<Shown<'a>> {
    let mut found = Found::default();
    found.literals(&rust.tokens);
    found.visit_file(&rust.syntax);
    found.texts.sort_by_key(|(at, _)| (at.line, at.column));
    let own = found.texts.into_iter().filter(|(at, _)| !file.is_test_code(rust, at.line));
    own.map(|(at, text)| Shown { file: &file.path, line: at.line, text }).collect()
}

/// Whether `text` is more than a key, a path or a placeholder.
fn is_text(text: &str) -> bool {
    let mut depth = 0_usize;
    let letters = text.chars().filter(|c| {
        depth = (depth + usize::from(*c == '{')).saturating_sub(usize::from(*c == '}'));
        depth == 0 && c.is_alphabetic()
    });
    letters.count() > 0 && text.trim().contains(' ')
}

fn render(texts: &[Shown<'_>]) -> String {
    let mut out = "Every text that pairflow shows, by source file. Written by `cargo xtask strings`.\n".to_owned();
    let mut file = "";
    for shown in texts {
        if shown.file != file {
            file = shown.file;
            out += &format!("\n# {file}\n");
        }
        let lines = shown.text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
        for (index, line) in lines.enumerate() {
            let line = if index == 0 { line.trim_start().to_owned() } else { format!("    {line}") };
            out += &line;
            out.push('\n');
        }
    }
    out
}

/// Collects the texts of one file, with their places.
#[derive(Default)]
struct Found {
    texts: Vec<(LineColumn, String)>,
}

impl Found {
    /// Collects string literals, macros included; attributes only where people see what they say.
    fn literals(&mut self, stream: &TokenStream) {
        let mut after_hash = false;
        let mut before = [String::new(), String::new()];
        for token in stream.clone() {
            let is = |character| matches!(&token, TokenTree::Punct(punct) if punct.as_char() == character);
            match &token {
                TokenTree::Group(group) => {
                    let is_attribute = after_hash && group.delimiter() == Delimiter::Bracket;
                    if !is_attribute || is_shown(group) {
                        self.literals(&group.stream());
                    }
                }
                // The key table names tests as `effect: "crate test"`.
                TokenTree::Literal(_) if before == ["effect", ":"] => {}
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal.clone()) {
                        self.texts.push((literal.span().start(), text.value()));
                    }
                }
                _ => {}
            }
            after_hash = is('#') || (after_hash && is('!'));
            before = [std::mem::take(&mut before[1]), word(&token)];
        }
    }

    /// Collects a doc comment as clap shows it: one text a paragraph.
    fn help(&mut self, attributes: &[syn::Attribute]) {
        let mut paragraph = false;
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
            let syn::Meta::NameValue(value) = &attribute.meta else { continue };
            let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) = &value.value else { continue };
            let line = line.value();
            match self.texts.last_mut().filter(|_| paragraph && !line.trim().is_empty()) {
                Some((_, text)) => *text = format!("{text} {}", line.trim()),
                None if line.trim().is_empty() => {}
                None => self.texts.push((attribute.span().start(), line.trim().to_owned())),
            }
            paragraph = !line.trim().is_empty();
        }
    }

    fn help_of_fields(&mut self, fields: &syn::Fields) {
        fields.iter().for_each(|field| self.help(&field.attrs));
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if has_help(&item.attrs) {
            self.help(&item.attrs);
            self.help_of_fields(&item.fields);
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if has_help(&item.attrs) {
            self.help(&item.attrs);
            for variant in &item.variants {
                self.help(&variant.attrs);
                self.help_of_fields(&variant.fields);
            }
        }
        visit::visit_item_enum(self, item);
    }
}

/// Returns a word or sign, and nothing for literals and groups, which can be long.
fn word(token: &TokenTree) -> String {
    match token {
        TokenTree::Ident(word) => word.to_string(),
        TokenTree::Punct(sign) => sign.as_char().to_string(),
        _ => String::new(),
    }
}

fn is_shown(attribute: &Group) -> bool {
    let first = attribute.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(name)) if SHOWN_ATTRIBUTES.iter().any(|shown| name == shown))
}

fn has_help(attributes: &[syn::Attribute]) -> bool {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let mut names = derives
        .filter_map(|attribute| attribute.meta.require_list().ok())
        .flat_map(|list| list.tokens.clone().into_iter().map(|token| word(&token)));
    names.any(|name| HELP_DERIVES.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = r##"//! About a thing.
/// Hand the work
/// to the other agent
///
/// Reviewers go second.
#[derive(Debug, clap::Args)]
#[command(after_help = "See the manual.")]
#[expect(dead_code, reason = "not shown to people")]
struct PassArgs {
    /// What was done
    #[serde(rename = "a b")]
    summary: String,
}
/// Not a help text
struct Other;
#[derive(thiserror::Error)]
enum Refused { #[error("only {by} may pass")] Turn { by: String } }
keys! { help: "the name of a bubble", effect: "pairflow spec::the_name" }
fn f() { out(format_args!("Passed to {a} \
    and {b}.\n\nNext:\n  pairflow status")); g("one"); g("{a} {b}"); g(b"no text"); }
#[cfg(test)]
mod tests { fn t() { g("only a test"); } }
"##;

    fn tree(settings: &str, list: &str) -> Tree {
        Tree::of(&[
            ("crates/pairflow/src/a.rs", CODE),
            ("crates/pairflow-core/templates/brief.j2", "# The task\n\n{{ task }}\n{{ a }} is open\n"),
            ("crates/pairflow-testkit/src/b.rs", "fn f() { g(\"of a test\") }"),
            ("crates/pairflow/tests/it/c.rs", "fn f() { g(\"of a test\") }"),
            (LIST, list),
            (SETTINGS, settings),
        ])
    }

    const EXPECTED: &str = "Every text that pairflow shows, by source file. Written by `cargo xtask strings`.

# crates/pairflow/src/a.rs
Hand the work to the other agent
Reviewers go second.
See the manual.
What was done
only {by} may pass
the name of a bubble
Passed to {a} and {b}.
    Next:
      pairflow status

# crates/pairflow-core/templates/brief.j2
# The task
{{ a }} is open
";

    #[test]
    fn texts_are_listed_by_file_in_the_order_of_the_code() {
        assert_eq!(render(&collect(&tree("", ""))), EXPECTED);
    }

    #[test]
    fn a_list_that_differs_is_reported_with_the_command_that_writes_it() {
        assert_eq!(up_to_date(&tree("", EXPECTED)), []);
        let old = EXPECTED.replace("What was done", "What has been done");
        let found: Vec<String> = up_to_date(&tree("", &old)).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["docs/strings.txt:7: this list is out of date; run `cargo xtask strings`"]);
        assert_eq!(up_to_date(&tree("", "")).len(), 1);
    }

    #[test]
    fn a_rejected_word_is_reported_where_it_is_written() {
        let found = |settings: &str| wording(&tree(settings, "")).iter().map(ToString::to_string).collect::<Vec<_>>();
        let sentence = "crates/pairflow/src/a.rs:17: \"may pass\" in \"only {by} may pass\"; write: can hand over";
        assert_eq!(found("[wording]\ninstead.\"may pass\" = \"can hand over\"\n"), [sentence]);
        assert_eq!(found("[wording]\ninstead.\"pas\" = \"whole words only\"\n"), [""; 0]);
        assert_eq!(found("[wording]\ninstead.\"only a\" = \"this is test code\"\n"), [""; 0]);
        let template =
            "crates/pairflow-core/templates/brief.j2:4: \"is open\" in \"{{ a }} is open\"; write: is not closed";
        assert_eq!(found("[wording]\ninstead.\"is open\" = \"is not closed\"\n"), [template]);
    }

    #[test]
    fn a_word_may_wait_for_its_replacement_until_it_is_gone() {
        let found = |word: &str| {
            let settings = format!("[wording]\npending = [\"{word}\"]\ninstead.\"{word}\" = \"x\"\n");
            wording(&tree(&settings, "")).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found("may pass"), [""; 0]);
        assert_eq!(found("mend"), ["xtask/tidy.toml:1: no string has \"mend\" any more; remove it from `pending`"]);
    }

    #[test]
    fn a_list_of_words_that_cannot_be_read_is_reported() {
        assert_eq!(wording(&tree("[wording", "")).len(), 1);
        assert_eq!(wording(&tree("", "")).len(), 1);
        assert_eq!(wording(&Tree::of(&[])).len(), 1);
    }
}
