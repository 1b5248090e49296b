//! git is started in one place of the product, where its environment is pinned and hooks are off.

use super::tree::{File, Problem, Rust, Tree};

const HOME: &str = "crates/pairflow-engine/src/git/";

/// Reports product code that starts git by itself.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let exempt = |file: &File| {
        file.path.starts_with(HOME)
            || file.path.starts_with("xtask/")
            || file.path.starts_with("crates/pairflow-proofs/")
    };
    tree.rust().filter(|(file, _)| !exempt(file)).flat_map(starts).collect()
}

fn starts((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let found = rust.paths().into_iter().filter(|path| {
        let git = path.argument.as_deref() == Some("\"git\"");
        git && path.contains(&["Command", "new"]) && !file.is_test_code(rust, path.line)
    });
    found.map(|path| file.problem(path.line, format!("git is started in {HOME} only; call that"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_started_outside_its_home_is_reported() {
        let text = "fn f() {\nstd::process::Command::new(\"git\");\n Command::new(\"gitk\");\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { Command::new(\"git\"); } }\n";
        let home = "crates/pairflow-engine/src/git/run.rs";
        let other = "crates/pairflow-engine/src/store.rs";
        let problems = check(&Tree::of(&[(home, text), (other, text), ("crates/pairflow/tests/a.rs", text)]));
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].path.as_str(), problems[0].line), (other, 2));
    }
}
