//! What a policy concludes is recorded: `evolve` calls no policy, and no rule folds facts to know its own answer.
//!
//! Only `respond` asks the state after a command's own facts, and `recompute` reads a log again.

use std::collections::BTreeSet;

use super::modules::{Crate, ModulePath};
use super::tokens::{self, PathUse};
use super::tree::{File, Problem, Rust, Tree};

const MACHINE: &str = "crates/pairflow-core/src/bubble/";
const EVOLVE: &str = "crates/pairflow-core/src/bubble/evolve";
/// The type whose methods may ask a policy.
const STATE: &str = "BubbleState";
/// The files of the machine that may fold facts; the first only names what the others may use.
const FOLDS: [&str; 2] = ["mod.rs", "recompute.rs"];

/// Reports conclusions in `evolve`, and folds in rules.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let named = tree.rust().filter(|(file, _)| file.path.starts_with(MACHINE)).flat_map(conclusions);
    named.chain(Crate::all(tree).iter().flat_map(asked)).collect()
}

/// Policies that `evolve` gets to, over whatever modules, and methods of the state that ask one, called where `evolve` gets to.
fn asked(one: &Crate<'_>) -> Vec<Problem> {
    let uses = one.uses();
    let evolve = |path: &ModulePath| path.starts_with(&["bubble".to_owned(), "evolve".to_owned()]);
    let policy = |path: &ModulePath| path.first().is_some_and(|first| first == "policy");
    let of_evolve = closure(one.modules().map(|(path, ..)| path).filter(|path| evolve(path)).cloned(), |from| {
        uses.iter().filter(|one| one.from == *from && !policy(&one.to)).map(|one| one.to.clone()).collect()
    });
    let to_policy = closure(one.modules().map(|(path, ..)| path).filter(|path| policy(path)).cloned(), |to| {
        uses.iter().filter(|one| one.to == *to).map(|one| one.from.clone()).collect()
    });
    let reached = uses.iter().filter(|one| of_evolve.contains(&one.from) && policy(&one.to)).map(|one| {
        let way = format!("`evolve` gets to a policy over `{}`; put what it needs below", one.from.join("::"));
        one.file.problem(one.line, way)
    });
    let asking: BTreeSet<String> = one
        .modules()
        .filter(|(path, ..)| to_policy.contains(*path) && !of_evolve.contains(*path))
        .flat_map(|(_, _, rust)| methods_of_state(rust))
        .collect();
    let called = one.modules().filter(|(path, ..)| of_evolve.contains(*path)).flat_map(|(_, file, rust)| {
        let of_state = |path: &PathUse| matches!(&path.segments[..], [kind, _] if kind == STATE || kind == "Self");
        let by_path = rust.paths().into_iter().filter(of_state).map(|path| (path.segments[1].clone(), path.line));
        let calls = tokens::method_calls(&rust.tokens).into_iter().chain(by_path);
        let calls = calls.filter(|(name, line)| asking.contains(name) && !file.is_test_code(rust, *line));
        calls
            .map(|(name, line)| {
                file.problem(line, format!("`{name}` asks the policy; `evolve` applies recorded verdicts"))
            })
            .collect::<Vec<_>>()
    });
    reached.chain(called).collect()
}

/// The modules of `start`, and all that `next` leads to from them.
fn closure(
    start: impl Iterator<Item = ModulePath>,
    next: impl Fn(&ModulePath) -> Vec<ModulePath>,
) -> BTreeSet<ModulePath> {
    let mut seen: BTreeSet<ModulePath> = start.collect();
    let mut left: Vec<_> = seen.iter().cloned().collect();
    while let Some(one) = left.pop() {
        left.extend(next(&one).into_iter().filter(|found| seen.insert(found.clone())));
    }
    seen
}

/// The names of the methods that a file gives to the state.
fn methods_of_state(rust: &Rust) -> Vec<String> {
    let of_state = |item: &&syn::ItemImpl| {
        let named = |path: &syn::TypePath| path.path.segments.last().is_some_and(|last| last.ident == STATE);
        item.trait_.is_none() && matches!(&*item.self_ty, syn::Type::Path(path) if named(path))
    };
    let impls = rust.syntax.items.iter().filter_map(|item| match item {
        syn::Item::Impl(item) => Some(item),
        _ => None,
    });
    let items = impls.filter(of_state).flat_map(|item| &item.items);
    let names = items.filter_map(|item| match item {
        syn::ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    names.collect()
}

fn conclusions((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let (words, sentence) = match file.path.strip_prefix(MACHINE) {
        _ if file.path.starts_with(EVOLVE) => {
            (["policy", "respond"], "`evolve` applies recorded verdicts; call the policy in `decide`")
        }
        Some(name) if FOLDS.contains(&name) => return Vec::new(),
        _ => (["evolve", "advance"], "a rule does not fold facts; let `respond` ask the state that has them"),
    };
    let named = |segment: &String| words.contains(&segment.as_str());
    let found = rust.paths().into_iter().filter(|path| path.segments.iter().any(named));
    found
        .filter(|path| !file.is_test_code(rust, path.line))
        .map(|path| file.problem(path.line, format!("`{}`: {sentence}", path.text())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let path = format!("crates/pairflow-core/src/{path}");
        check(&Tree::of(&[(path.as_str(), text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_policy_in_evolve_is_reported() {
        let text = "use crate::policy::Policy;\nfn f() {\npolicy::known(name);\n// strict\n}\n\
                    #[cfg(test)]\nmod tests { use crate::policy; }\n";
        assert_eq!(lines("bubble/evolve/turns.rs", text), [1, 3]);
        assert_eq!(lines("bubble/work.rs", text), [0; 0]);
    }

    /// Where a policy is asked, if `evolve` and the file of the state say this, and `facts.rs` has methods that ask it.
    fn asked(fold: &str, state: &str) -> Vec<(String, usize)> {
        let core = |path: &str| format!("crates/pairflow-core/src/{path}");
        let facts = "use crate::bubble::state::BubbleState;\nuse crate::policy::Policy;\n\
                     impl BubbleState {\npub fn facts(&self) {}\npub fn unmet(&self) {}\npub fn failing(&self) {}\n}\n";
        let files = [
            (core("lib.rs"), "pub mod bubble;\npub mod policy;\n"),
            (core("bubble/mod.rs"), "mod evolve;\nmod facts;\nmod state;\n"),
            (core("bubble/evolve/mod.rs"), "mod fold;\n"),
            (core("bubble/evolve/fold.rs"), fold),
            (core("bubble/facts.rs"), facts),
            (core("bubble/state.rs"), state),
            (core("policy/mod.rs"), "pub trait Policy {}\n"),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let place = |path: String| path.rsplit('/').next().unwrap_or_default().to_owned();
        check(&Tree::of(&files)).into_iter().map(|one| (place(one.path), one.line)).collect()
    }

    const FOLD: &str = "use crate::bubble::state::BubbleState;\n";
    const PLAIN: &str = "pub struct BubbleState;\n";

    #[test]
    fn a_policy_behind_another_module_is_reported() {
        let state = "use crate::policy::Policy;\npub struct BubbleState;\n";
        assert_eq!(asked(FOLD, state), [("state.rs".to_owned(), 1)]);
        assert_eq!(asked(FOLD, PLAIN), []);
    }

    #[test]
    fn a_method_that_asks_a_policy_is_reported_where_evolve_gets_to() {
        let found = |name: &str, line| [(name.to_owned(), line)];
        assert_eq!(
            asked(&format!("{FOLD}fn f() {{ if state.failing().is_empty() {{}} }}\n"), PLAIN),
            found("fold.rs", 2)
        );
        assert_eq!(asked(&format!("{FOLD}fn f() {{ BubbleState::facts(state); }}\n"), PLAIN), found("fold.rs", 2));
        let state = "pub struct BubbleState;\nimpl BubbleState {\nfn done(&self) { self.unmet(); }\n}\n";
        assert_eq!(asked(FOLD, state), found("state.rs", 3));
        let field = format!("{FOLD}fn f() {{ state.failing; other::unmet(); }}\n");
        assert_eq!(asked(&field, PLAIN), [], "a field is no call, and neither is a function of something else");
    }

    #[test]
    fn a_fold_in_a_rule_is_reported() {
        let text = "use crate::bubble::{BubbleState,\nevolve};\nfn f() {\nadvance(&mut state, &one);\nlog.fold(state, evolve);\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { evolve(); } }\n";
        assert_eq!(lines("bubble/work.rs", text), [2, 4, 5]);
        for free in ["bubble/evolve/fold.rs", "bubble/recompute.rs", "bubble/mod.rs", "view/status.rs"] {
            assert_eq!(lines(free, text), [0; 0], "{free}");
        }
    }
}
