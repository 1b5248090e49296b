//! Ids of requirements stand in docs/requirements.toml and nowhere in the code.

use super::tree::{File, Problem, Tree};

/// Reports ids in anything beneath crates/.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().filter(|file| file.path.starts_with("crates/")).flat_map(ids).collect()
}

fn ids(file: &File) -> impl Iterator<Item = Problem> {
    file.text.lines().enumerate().filter_map(|(index, line)| {
        let id = line.match_indices("S00").find_map(|(at, _)| line.get(at..at + 8).filter(|id| is_id(id)))?;
        let sentence = format!("{id} belongs in docs/requirements.toml; say here what is meant");
        Some(file.problem(index + 1, sentence))
    })
}

/// Whether `text` is an id: `S`, three digits, a dash, three digits.
pub(super) fn is_id(text: &str) -> bool {
    let digits = |part: &str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.strip_prefix('S').and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(seed, number)| digits(seed) && digits(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_in_the_code_is_reported() {
        let text = "//! A.\n// S001-040: created\nfn s001_040() {}\n// S001 says\n// S00é-001 S001-04\n";
        let tree = Tree::of(&[("crates/a/src/b.rs", text), ("docs/requirements.toml", text)]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(
            problems[0].to_string().split(';').next(),
            Some("crates/a/src/b.rs:2: S001-040 belongs in docs/requirements.toml")
        );
    }
}
