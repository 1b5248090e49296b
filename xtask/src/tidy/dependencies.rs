//! The list of direct dependencies is closed, each one is used, and each outside one has its reason written down.
//!
//! xtask/dependencies.toml names for every crate exactly what it may depend on; ARCHITECTURE.md has a table row
//! that starts with the name of each dependency from outside. A crate has at most 25 of them.

use std::collections::BTreeSet;

use super::manifest::{self, Dependency, KINDS, Manifest, is_ours};
use super::tree::{File, Problem, Tree};

const LIST: &str = "xtask/dependencies.toml";
const REASONS: &str = "ARCHITECTURE.md";
const MOST: usize = 25;

/// Reports dependencies that are not listed, listed but gone, unused, unexplained, or too many.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let (manifests, mut problems) = manifest::read(tree);
    match tree.file(LIST) {
        Some(list) => problems.extend(compare(list, &manifests)),
        None => problems.push(missing(LIST, "names every direct dependency of every crate")),
    }
    match tree.file(REASONS) {
        Some(reasons) => problems.extend(unexplained(reasons, &manifests)),
        None => problems.push(missing(REASONS, "gives the reason for every dependency")),
    }
    problems.extend(manifests.iter().flat_map(|manifest| unused(tree, manifest)));
    problems.extend(manifests.iter().filter_map(too_many));
    problems
}

fn missing(path: &str, purpose: &str) -> Problem {
    Problem { path: path.to_owned(), line: 1, sentence: format!("this file is missing; it {purpose}") }
}

/// Compares the list with the manifests, both ways.
fn compare(list: &File, manifests: &[Manifest<'_>]) -> Vec<Problem> {
    let table = match list.text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return vec![list.problem(1, format!("this is not TOML: {}", error.message()))],
    };
    let mut problems = Vec::new();
    for manifest in manifests {
        for kind in KINDS {
            problems.extend(compare_kind(list, manifest, kind, &listed(&table, &manifest.name, kind)));
        }
    }
    let gone = table.keys().filter(|name| !manifests.iter().any(|manifest| manifest.name == **name));
    problems.extend(gone.map(|name| {
        list.problem(list.line_starting(&format!("[{name}]")), format!("there is no crate {name}; remove its list"))
    }));
    problems
}

fn compare_kind(list: &File, manifest: &Manifest<'_>, kind: &str, listed: &BTreeSet<&str>) -> Vec<Problem> {
    let present: Vec<&Dependency> = manifest.dependencies.iter().filter(|d| d.kind == kind).collect();
    let krate = &manifest.name;
    let new = present.iter().filter(|dependency| !listed.contains(dependency.name.as_str()));
    let gone = listed.iter().filter(|name| !present.iter().any(|dependency| dependency.name == **name));
    let new = new.map(|dependency| {
        let sentence = format!("{} is not among the {kind} that {LIST} allows {krate}", dependency.name);
        manifest.file.problem(dependency.line, sentence)
    });
    let gone = gone.map(|name| {
        let line = list.line_starting(&format!("[{krate}]"));
        list.problem(line, format!("{name} is no longer among the {kind} of {krate}; remove it here"))
    });
    new.chain(gone).collect()
}

fn listed<'a>(table: &'a toml::Table, krate: &str, kind: &str) -> BTreeSet<&'a str> {
    let names = table.get(krate).and_then(|krate| krate.get(kind)).and_then(toml::Value::as_array);
    names.into_iter().flatten().filter_map(toml::Value::as_str).collect()
}

fn unexplained(reasons: &File, manifests: &[Manifest<'_>]) -> Vec<Problem> {
    let all = manifests.iter().flat_map(|manifest| &manifest.dependencies);
    let outside: BTreeSet<&str> =
        all.map(|dependency| dependency.name.as_str()).filter(|name| !is_ours(name)).collect();
    let has_row = |name: &str| reasons.text.lines().any(|line| line.starts_with(&format!("| `{name}`")));
    let sentence = |name: &str| format!("the table of dependencies has no row that starts with \"| `{name}`\"");
    outside.into_iter().filter(|name| !has_row(name)).map(|name| reasons.problem(1, sentence(name))).collect()
}

fn unused(tree: &Tree, manifest: &Manifest<'_>) -> Vec<Problem> {
    let home = manifest.file.path.trim_end_matches("Cargo.toml");
    let sources: Vec<_> = tree.rust().filter(|(file, _)| file.path.starts_with(home)).collect();
    let mentioned: BTreeSet<String> =
        sources.iter().flat_map(|(_, rust)| rust.paths()).flat_map(|path| path.segments).collect();
    let idle = manifest.dependencies.iter().filter(|d| !mentioned.contains(&d.name.replace('-', "_")));
    let sentence = |name: &str| format!("no file of {} mentions {name}; remove the dependency", manifest.name);
    idle.map(|dependency| manifest.file.problem(dependency.line, sentence(&dependency.name))).collect()
}

fn too_many(manifest: &Manifest<'_>) -> Option<Problem> {
    let count = manifest.dependencies.len();
    let sentence = format!("{} has {count} direct dependencies; at most {MOST}", manifest.name);
    (count > MOST).then(|| manifest.file.problem(1, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"pairflow-core\"\n[dependencies]\nserde = \"1\"\npairflow-x = \"1\"\n";
    const SOURCE: &str = "//! A.\nuse serde::Serialize;\nuse pairflow_x::A;\n";
    const REASON: &str = "| `serde` | reads JSON |\n";

    fn sentences(manifest: &str, list: &str, reasons: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", reasons),
            ("crates/pairflow-core/Cargo.toml", manifest),
            ("crates/pairflow-core/src/a.rs", SOURCE),
            ("xtask/dependencies.toml", list),
        ]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tree_that_keeps_the_list_passes() {
        let list = "[pairflow-core]\ndependencies = [\"pairflow-x\", \"serde\"]\n";
        assert_eq!(sentences(MANIFEST, list, REASON), [""; 0]);
    }

    #[test]
    fn an_unlisted_and_a_vanished_dependency_are_reported() {
        let list = "[pairflow-core]\ndependencies = [\"pairflow-x\", \"toml\"]\n[pairflow-y]\n";
        let expected = [
            "crates/pairflow-core/Cargo.toml:4: serde is not among the dependencies that xtask/dependencies.toml allows pairflow-core",
            "xtask/dependencies.toml:1: toml is no longer among the dependencies of pairflow-core; remove it here",
            "xtask/dependencies.toml:3: there is no crate pairflow-y; remove its list",
        ];
        assert_eq!(sentences(MANIFEST, list, REASON), expected);
    }

    #[test]
    fn a_dependency_without_a_reason_is_reported() {
        let list = "[pairflow-core]\ndependencies = [\"pairflow-x\", \"serde\"]\n";
        let expected = "ARCHITECTURE.md:1: the table of dependencies has no row that starts with \"| `serde`\"";
        assert_eq!(sentences(MANIFEST, list, "| `serde_json` | x |\nuses `serde`\n"), [expected]);
    }

    #[test]
    fn a_dependency_that_no_file_mentions_is_reported() {
        let manifest = format!("{MANIFEST}serde-idle = \"1\"\n");
        let list = "[pairflow-core]\ndependencies = [\"pairflow-x\", \"serde\", \"serde-idle\"]\n";
        let expected =
            "crates/pairflow-core/Cargo.toml:6: no file of pairflow-core mentions serde-idle; remove the dependency";
        assert_eq!(sentences(&manifest, list, "| `serde` |\n| `serde-idle` |\n"), [expected]);
    }

    #[test]
    fn more_than_twenty_five_dependencies_are_reported() {
        let many: String = (0..26).map(|number| format!("pairflow-{number} = \"1\"\n")).collect();
        let manifest = format!("[package]\nname = \"pairflow-core\"\n[dependencies]\n{many}");
        let found = sentences(&manifest, "", REASON);
        let expected = "crates/pairflow-core/Cargo.toml:1: pairflow-core has 26 direct dependencies; at most 25";
        assert_eq!(found.last().map(String::as_str), Some(expected));
    }

    #[test]
    fn missing_lists_are_reported() {
        let problems = check(&Tree::of(&[]));
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, [LIST, REASONS]);
    }
}
