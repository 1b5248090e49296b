//! What a policy concludes is recorded: `evolve` calls no policy, and no rule folds facts to know its own answer.
//!
//! Only `respond` asks the state after a command's own facts, and `recompute` reads a log again.

use std::collections::BTreeSet;

use super::modules::{Crate, ModulePath};
use super::tree::{File, Problem, Rust, Tree};

const MACHINE: &str = "crates/pairflow-core/src/bubble/";
const EVOLVE: &str = "crates/pairflow-core/src/bubble/evolve/";
/// The files of the machine that may fold facts; the first only names what the others may use.
const FOLDS: [&str; 2] = ["mod.rs", "recompute.rs"];

/// Reports conclusions in `evolve`, and folds in rules.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let named = tree.rust().filter(|(file, _)| file.path.starts_with(MACHINE)).flat_map(conclusions);
    let asked = tree.rust().filter(|(file, _)| file.path.starts_with(EVOLVE)).flat_map(asked);
    named.chain(asked).chain(Crate::all(tree).iter().flat_map(reached)).collect()
}

/// Methods of the state that ask its policy, called in `evolve`.
fn asked((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let asks = |line: &str| [".policy()", ".facts()", ".unmet()"].into_iter().find(|method| line.contains(method));
    let lines = file.text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
    let found = lines.filter_map(|(line, number)| Some((asks(line)?, number)));
    found
        .filter(|(_, number)| !file.is_test_code(rust, *number))
        .map(|(method, number)| {
            file.problem(number, format!("`{method}` asks the policy; `evolve` applies recorded verdicts"))
        })
        .collect()
}

/// Modules of the policies that `evolve` gets to, over whatever other modules.
fn reached(one: &Crate<'_>) -> Vec<Problem> {
    let uses = one.uses();
    let starts =
        |path: &[String], names: &[&str]| path.iter().map(String::as_str).take(names.len()).eq(names.iter().copied());
    let mut seen: BTreeSet<ModulePath> =
        uses.iter().map(|one| &one.from).filter(|from| starts(from, &["bubble", "evolve"])).cloned().collect();
    let mut problems = Vec::new();
    let mut left: Vec<_> = seen.iter().cloned().collect();
    while let Some(from) = left.pop() {
        for one in uses.iter().filter(|one| one.from == from) {
            if starts(&one.to, &["policy"]) {
                let way = format!("`evolve` gets to a policy over `{}`; put what it needs below", from.join("::"));
                problems.push(one.file.problem(one.line, way));
            } else if seen.insert(one.to.clone()) {
                left.push(one.to.clone());
            }
        }
    }
    problems
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

    #[test]
    fn a_policy_behind_another_module_is_reported() {
        let core = |path: &str| format!("crates/pairflow-core/src/{path}");
        let files = [
            (core("lib.rs"), "pub mod bubble;\npub mod policy;\n"),
            (core("bubble/mod.rs"), "mod evolve;\nmod state;\n"),
            (core("bubble/evolve/mod.rs"), "mod fold;\n"),
            (core("bubble/evolve/fold.rs"), "use crate::bubble::state::State;\nfn f() { state.unmet(); }\n"),
            (core("bubble/state.rs"), "use crate::policy::Policy;\npub struct State;\n"),
            (core("policy/mod.rs"), "pub trait Policy {}\n"),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found: Vec<_> = check(&Tree::of(&files)).into_iter().map(|one| (one.path, one.line)).collect();
        assert_eq!(found, [(core("bubble/evolve/fold.rs"), 2), (core("bubble/state.rs"), 1)]);
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
