//! `anyhow` lives in the binary's main.rs and in xtask; everything else returns its own error type.

use super::tree::{File, Problem, Rust, Tree};

/// Reports `anyhow` where errors must have a type.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let home = |file: &File| {
        let workshop = ["xtask/", "crates/pairflow-proofs/"].iter().any(|dir| file.path.starts_with(dir));
        workshop || file.path == "crates/pairflow/src/main.rs"
    };
    tree.rust().filter(|(file, _)| !home(file)).flat_map(uses).collect()
}

fn uses((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let found = rust.paths().into_iter().filter(|path| path.contains(&["anyhow"]));
    let sentence = "anyhow is for main.rs and xtask; return an error type of this module";
    found.map(|path| file.problem(path.line, sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anyhow_outside_its_home_is_reported() {
        let text = "//! About anyhow.\nuse anyhow::Context;\nfn f() { bail(anyhow!(\"x\")); }\n";
        let paths = ["crates/pairflow/src/main.rs", "xtask/src/a.rs", "crates/pairflow-core/src/a.rs"];
        let problems = check(&Tree::of(&paths.map(|path| (path, text))));
        let found: Vec<(&str, usize)> = problems.iter().map(|problem| (problem.path.as_str(), problem.line)).collect();
        assert_eq!(found, [(paths[2], 2), (paths[2], 3)]);
    }
}
