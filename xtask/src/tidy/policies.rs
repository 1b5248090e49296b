//! A policy is a file and one line of a list, and the policy that must not be asked overrides whatever a policy can be asked.

use std::collections::BTreeSet;

use syn::{ImplItem, Item, TraitItem};

use super::tree::{File, Problem, Rust, Tree};

const FOLDER: &str = "crates/pairflow-core/src/policy/";
const POLICIES: &str = "crates/pairflow-core/src/policy/policies/";
const CORE: &str = "crates/pairflow-core/src/";
/// The policy that panics whatever it is asked.
const PANICS: &str = "crates/pairflow-core/src/policy/policies/panics.rs";

/// Reports policies that are named in more than one place, and questions that the panicking policy would answer.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let policies = tree.rust().filter(|(file, _)| file.path.starts_with(POLICIES));
    let scattered = policies.filter_map(|(file, _)| listed_once(tree, file));
    scattered.chain(answered(tree)).collect()
}

/// Whether one line outside of its file names the module of a policy.
fn listed_once(tree: &Tree, policy: &File) -> Option<Problem> {
    let name = policy.path.strip_prefix(POLICIES)?.strip_suffix(".rs")?;
    let mentions = |rust: &Rust| -> BTreeSet<usize> {
        // As the last part of a path it is some other name, such as a local one.
        let leads_there =
            |segments: &[String]| segments.split_last().is_some_and(|(_, way)| way.iter().any(|one| one == name));
        rust.paths().iter().filter(|path| leads_there(&path.segments)).map(|path| path.line).collect()
    };
    let core = tree.rust().filter(|(file, _)| file.path.starts_with(CORE) && file.path != policy.path);
    let lines: usize = core.map(|(_, rust)| mentions(rust).len()).sum();
    let sentence =
        format!("{lines} lines elsewhere name the module `{name}`; the list of the policies has the only one");
    (lines != 1).then(|| policy.problem(1, sentence))
}

/// The methods of the trait that the panicking policy does not override.
fn answered(tree: &Tree) -> Option<Problem> {
    let (file, panics) = tree.rust().find(|(file, _)| file.path == PANICS)?;
    let folder = tree.rust().filter(|(file, _)| file.path.starts_with(FOLDER));
    let asked = folder.flat_map(|(_, rust)| rust.syntax.items.iter()).filter_map(|item| match item {
        Item::Trait(one) if one.ident == "Policy" => Some(&one.items),
        _ => None,
    });
    let asked = asked.flatten().filter_map(|item| match item {
        TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    let overrides = panics.syntax.items.iter().filter_map(|item| match item {
        Item::Impl(one) => Some(&one.items),
        _ => None,
    });
    let overrides: BTreeSet<String> = overrides
        .flatten()
        .filter_map(|item| match item {
            ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        })
        .collect();
    let left: Vec<String> = asked.filter(|name| !overrides.contains(name)).collect();
    let sentence = format!("this policy must override every method, and does not override {}", left.join(", "));
    (!left.is_empty()).then(|| file.problem(1, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "policies! {\n    strict::Strict;\n    #[cfg(x)] panics::Panics;\n}\n";
    const SEAM: &str = "pub trait Policy { fn name(&self); fn at_cap(&self) {} }\n";
    const OVERRIDES: &str = "impl Policy for Panics { fn name(&self) {} fn at_cap(&self) {} }\n";

    fn found(list: &str, panics: &str) -> Vec<String> {
        let at = |name: &str| format!("{FOLDER}{name}");
        let files = [
            (at("policies.rs"), list),
            (at("seam.rs"), SEAM),
            (at("policies/strict.rs"), "fn strict() { strict::own(); }\n"),
            (PANICS.to_owned(), panics),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_is_named_in_one_line_of_the_list() {
        assert_eq!(found(LIST, OVERRIDES), [""; 0]);
        let twice = format!("{LIST}fn f() {{ let strict = strict::Strict; }}\n");
        let problem = "2 lines elsewhere name the module `strict`; the list of the policies has the only one";
        assert_eq!(found(&twice, OVERRIDES), [format!("{POLICIES}strict.rs:1: {problem}")]);
    }

    #[test]
    fn the_panicking_policy_overrides_every_method() {
        let problem = format!("{PANICS}:1: this policy must override every method, and does not override at_cap");
        assert_eq!(found(LIST, "impl Policy for Panics { fn name(&self) {} }\n"), [problem]);
    }
}
