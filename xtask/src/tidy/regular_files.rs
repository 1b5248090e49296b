//! Files are opened in one place of the product, which never waits for a FIFO and refuses what is not a regular file.

use super::tree::{File, Problem, Rust, Tree};

/// Where files may be opened: the one module, and the store's disk, which adds its own rules to it.
const HOMES: [&str; 2] = ["crates/pairflow-engine/src/regular.rs", "crates/pairflow-engine/src/store/real.rs"];

/// What is not part of the product: it reads only what it wrote itself.
const WORKSHOP: [&str; 4] =
    ["xtask/", "crates/pairflow-testkit/", "crates/pairflow-faulty/", "crates/pairflow-proofs/"];

/// What opens a file.
const OPENERS: [&[&str]; 9] = [
    &["fs", "read"],
    &["fs", "read_to_string"],
    &["fs", "write"],
    &["fs", "copy"],
    &["File", "open"],
    &["File", "create"],
    &["File", "create_new"],
    &["File", "options"],
    &["OpenOptions"],
];

/// Reports product code that opens files by itself.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let exempt =
        |file: &File| HOMES.contains(&file.path.as_str()) || WORKSHOP.iter().any(|place| file.path.starts_with(place));
    tree.rust().filter(|(file, _)| !exempt(file)).flat_map(opens).collect()
}

fn opens((file, rust): (&File, &Rust)) -> Vec<Problem> {
    let found = rust
        .paths()
        .into_iter()
        .filter(|path| OPENERS.iter().any(|opener| path.contains(opener)) && !file.is_test_code(rust, path.line));
    let sentence = |text: String| format!("{text} may wait for a FIFO for ever; use the functions of {}", HOMES[0]);
    found.map(|path| file.problem(path.line, sentence(path.text()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_opened_outside_their_home_are_reported() {
        let text = "use std::fs::{self, OpenOptions};\nfn f() {\nfs::read(x);\nfs::read_dir(x);\nFile::open(x);\n}\n\
                    #[cfg(test)]\nmod tests { fn g() { std::fs::write(x, y); } }\n";
        let other = "crates/pairflow-engine/src/git/repo.rs";
        let tree = Tree::of(&[
            (HOMES[0], text),
            (HOMES[1], text),
            (other, text),
            ("crates/pairflow/tests/a.rs", text),
            ("crates/pairflow-testkit/src/a.rs", text),
        ]);
        let problems = check(&tree);
        let found: Vec<_> = problems.iter().map(|problem| (problem.path.as_str(), problem.line)).collect();
        assert_eq!(found, [(other, 1), (other, 3), (other, 5)]);
    }
}
