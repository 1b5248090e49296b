//! What a policy concludes is recorded: `evolve` calls no policy, and no rule folds facts to know its own answer.
//!
//! Only `respond` asks the state after a command's own facts, and `recompute` reads a log again.

use super::tree::{File, Problem, Rust, Tree};

const MACHINE: &str = "crates/pairflow-core/src/bubble/";
const EVOLVE: &str = "crates/pairflow-core/src/bubble/evolve/";
/// The files of the machine that may fold facts; the first only names what the others may use.
const FOLDS: [&str; 2] = ["mod.rs", "recompute.rs"];

/// Reports conclusions in `evolve`, and folds in rules.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust().filter(|(file, _)| file.path.starts_with(MACHINE)).flat_map(conclusions).collect()
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
    fn a_fold_in_a_rule_is_reported() {
        let text = "use crate::bubble::{Unit,\nevolve};\nfn f() {\nadvance(&mut unit, &one);\nlog.fold(unit, evolve);\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { evolve(); } }\n";
        assert_eq!(lines("bubble/work.rs", text), [2, 4, 5]);
        for free in ["bubble/evolve/fold.rs", "bubble/recompute.rs", "bubble/mod.rs", "view/status.rs"] {
            assert_eq!(lines(free, text), [0; 0], "{free}");
        }
    }
}
