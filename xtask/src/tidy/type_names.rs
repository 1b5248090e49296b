//! One type name for one thing: no name is defined twice in the crates of the product.
//!
//! Associated types such as `Err` are fixed by their traits and do not count, nor do tests, nor a second definition in the
//! same file, which is the same thing on another platform. xtask/tidy.toml lists the
//! names that are allowed for now; the list may only shrink.

use std::collections::{BTreeMap, BTreeSet};

use syn::Ident;
use syn::visit::{self, Visit};

use super::tree::{Problem, Tree};

const SETTINGS: &str = "xtask/tidy.toml";

/// Returns how many names are defined twice.
pub(super) fn count(tree: &Tree) -> String {
    format!("type names that are defined twice: {}", repeated(tree).len())
}

/// Reports names that are defined twice and not allowed, and allowed ones that are not defined twice.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let settings = tree.file(SETTINGS).and_then(|file| file.text.parse::<toml::Table>().ok()).unwrap_or_default();
    let allowed = settings.get("duplicate-types").and_then(|table| table.get("allowed")?.as_array());
    let allowed: BTreeSet<&str> = allowed.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let repeated = repeated(tree);
    let mut problems = Vec::new();
    for (name, places) in repeated.iter().filter(|(name, _)| !allowed.contains(name.as_str())) {
        let all: Vec<String> = places.iter().map(|(path, line)| format!("{path}:{line}")).collect();
        let (path, line) = &places[1];
        let sentence = format!("the type name `{name}` is used for two things: {}", all.join(", "));
        problems.push(Problem { path: path.clone(), line: *line, sentence });
    }
    let gone = allowed.into_iter().filter(|name| !repeated.contains_key(*name));
    let sentence = |name| format!("`{name}` is not defined twice any more; remove it from `duplicate-types.allowed`");
    problems.extend(gone.map(|name| Problem { path: SETTINGS.to_owned(), line: 1, sentence: sentence(name) }));
    problems
}

/// Path and line of a definition.
type Place = (String, usize);

fn repeated(tree: &Tree) -> BTreeMap<String, Vec<Place>> {
    let mut defined: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (file, rust) in tree.rust().filter(|(file, _)| file.is_product()) {
        let mut types = Types::default();
        types.visit_file(&rust.syntax);
        for (name, line) in types.0.into_iter().filter(|(_, line)| !file.is_test_code(rust, *line)) {
            let places = defined.entry(name).or_default();
            if places.last().is_none_or(|(path, _)| *path != file.path) {
                places.push((file.path.clone(), line));
            }
        }
    }
    defined.retain(|_, places| places.len() > 1);
    defined
}

/// The names of the types that a file defines, with their lines.
#[derive(Default)]
struct Types(Vec<(String, usize)>);

impl Types {
    fn add(&mut self, name: &Ident) {
        self.0.push((name.to_string(), name.span().start().line));
    }
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.add(&item.ident),
            syn::Item::Enum(item) => self.add(&item.ident),
            syn::Item::Union(item) => self.add(&item.ident),
            syn::Item::Trait(item) => self.add(&item.ident),
            syn::Item::Type(item) => self.add(&item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(settings: &str) -> Vec<String> {
        let one = "struct Place;\nstruct Other;\nimpl FromStr for Other { type Err = String; }\n";
        let two = "fn f() { enum Place { A } }\nimpl FromStr for A { type Err = String; }\n\
                   #[cfg(test)]\nmod tests { struct Other; }\n";
        let tree = Tree::of(&[
            ("crates/pairflow-core/src/a.rs", one),
            ("crates/pairflow/src/b.rs", two),
            ("crates/pairflow-testkit/src/c.rs", one),
            ("crates/pairflow/tests/it/d.rs", one),
            (SETTINGS, settings),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_for_two_things_is_reported() {
        let places = "crates/pairflow-core/src/a.rs:1, crates/pairflow/src/b.rs:1";
        let sentence = format!("crates/pairflow/src/b.rs:1: the type name `Place` is used for two things: {places}");
        assert_eq!(found(""), [sentence]);
    }

    #[test]
    fn an_allowed_name_passes_and_one_that_is_gone_is_reported() {
        assert_eq!(found("[duplicate-types]\nallowed = [\"Place\"]\n"), [""; 0]);
        let stale =
            "xtask/tidy.toml:1: `Other` is not defined twice any more; remove it from `duplicate-types.allowed`";
        assert_eq!(found("[duplicate-types]\nallowed = [\"Other\", \"Place\"]\n"), [stale]);
    }
}
