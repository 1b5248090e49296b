//! Dependencies between crates: a closed list, in one direction.
//!
//! xtask/dependencies.toml names for every crate exactly what it may depend on; ARCHITECTURE.md has a table row that starts
//! with the name of each dependency from outside. A crate has at most 25 of them, and each is used.
//!
//! Our crates depend in one direction: binary, then agents, server and cluster, then the engine, then the core. Crates of
//! one layer do not know one another. Only tests and tools may use the testkit, so that the product ships without it.

use std::collections::BTreeSet;

use super::tree::{File, Problem, Tree};

const LIST: &str = "xtask/dependencies.toml";
const REASONS: &str = "ARCHITECTURE.md";
const MOST: usize = 25;

/// Reports dependencies that are not listed, listed but gone, unused, unexplained, or too many.
pub(super) fn closed_list(tree: &Tree) -> Vec<Problem> {
    let (manifests, mut problems) = read_manifests(tree);
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

/// The tables of a manifest that name dependencies.
pub(super) const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// One crate's manifest.
pub(super) struct Manifest<'a> {
    pub(super) file: &'a File,
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// One direct dependency, by the name of its package.
pub(super) struct Dependency {
    pub(super) name: String,
    /// One of [`KINDS`].
    pub(super) kind: &'static str,
    pub(super) line: usize,
}

/// Whether a package is one of ours.
pub(super) fn is_ours(name: &str) -> bool {
    name == "pairflow" || name == "xtask" || name.starts_with("pairflow-")
}

/// Every crate's manifest; a broken one is a problem.
pub(super) fn read_manifests(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Problem>) {
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        match file.text.parse::<toml::Table>() {
            Ok(table) => manifests.extend(manifest_of(file, &table)),
            Err(error) => problems.push(file.problem(1, format!("this is not TOML: {}", error.message()))),
        }
    }
    (manifests, problems)
}

fn manifest_of<'a>(file: &'a File, table: &toml::Table) -> Option<Manifest<'a>> {
    let name = table.get("package")?.get("name")?.as_str()?.to_owned();
    let targets = table.get("target").and_then(toml::Value::as_table);
    let tables =
        std::iter::once(table).chain(targets.into_iter().flat_map(|t| t.values().filter_map(|v| v.as_table())));
    let dependencies = tables.flat_map(|table| KINDS.into_iter().flat_map(|kind| of_kind(file, table, kind))).collect();
    Some(Manifest { file, name, dependencies })
}

fn of_kind(file: &File, table: &toml::Table, kind: &'static str) -> Vec<Dependency> {
    let named = table.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
    let dependency = |(key, value): (&String, &toml::Value)| {
        let name = value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned();
        Dependency { name, kind, line: line_of(file, kind, key) }
    };
    named.map(dependency).collect()
}

/// The line that names `key` below the header of a table that ends in `kind`.
fn line_of(file: &File, kind: &str, key: &str) -> usize {
    let mut inside = false;
    for (index, line) in file.text.lines().enumerate() {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end().trim_end_matches(']');
            inside = header == kind || header.ends_with(&format!(".{kind}"));
            if header.ends_with(&format!("{kind}.{key}")) {
                return index + 1;
            }
        }
        let rest = line.trim_start_matches('"').strip_prefix(key);
        if inside && rest.is_some_and(|rest| rest.starts_with([' ', '.', '=', '"'])) {
            return index + 1;
        }
    }
    1
}

/// Reports dependencies that point back or sideways.
pub(super) fn direction(tree: &Tree) -> Vec<Problem> {
    read_manifests(tree).0.iter().flat_map(wrong).collect()
}

fn wrong(manifest: &Manifest<'_>) -> Vec<Problem> {
    let ours = manifest.dependencies.iter().filter(|dependency| is_ours(&dependency.name));
    let back = ours.filter(|dependency| !is_allowed(&manifest.name, dependency));
    let sentence = |to: &Dependency| {
        let from = &manifest.name;
        format!("{from} must not depend on {}: binary -> agents, server, cluster -> engine -> core", to.name)
    };
    back.map(|dependency| manifest.file.problem(dependency.line, sentence(dependency))).collect()
}

/// Reports crates for tests and tools that a build of the program would build, with the way to them.
pub(super) fn shipped(tree: &Tree) -> Vec<Problem> {
    let manifests = read_manifests(tree).0;
    let mut ways = vec![vec!["pairflow".to_owned()]];
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    while let Some(way) = ways.pop() {
        let Some(manifest) = manifests.iter().find(|manifest| Some(&manifest.name) == way.last()) else { continue };
        let built = manifest.dependencies.iter().filter(|one| one.kind != "dev-dependencies" && is_ours(&one.name));
        for dependency in built.filter(|dependency| seen.insert(dependency.name.clone())) {
            let way: Vec<String> = way.iter().chain([&dependency.name]).cloned().collect();
            if layer(&dependency.name) > Layer::Binary {
                let sentence = format!("a build of pairflow would build {}: {}", dependency.name, way.join(" -> "));
                problems.push(manifest.file.problem(dependency.line, sentence));
            }
            ways.push(way);
        }
    }
    problems
}

fn is_allowed(from: &str, to: &Dependency) -> bool {
    match (layer(from), layer(&to.name)) {
        (Layer::Workshop, _) => to.name != "xtask",
        (Layer::Testkit, to) => to < Layer::Binary,
        (_, Layer::Testkit) => to.kind == "dev-dependencies",
        (from, to) => to < from,
    }
}

/// Where a crate stands, from the ground up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Core,
    Engine,
    Doors,
    Binary,
    Testkit,
    Workshop,
}

/// An unknown crate is a door: it may use engine and core, and only the binary may use it.
fn layer(name: &str) -> Layer {
    match name {
        "pairflow-core" => Layer::Core,
        "pairflow-engine" => Layer::Engine,
        "pairflow" => Layer::Binary,
        "pairflow-testkit" => Layer::Testkit,
        // Tools of the workshop are never shipped and never used by another crate.
        "pairflow-faulty" | "pairflow-proofs" | "xtask" => Layer::Workshop,
        _ => Layer::Doors,
    }
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
        closed_list(&tree).iter().map(ToString::to_string).collect()
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
        let problems = closed_list(&Tree::of(&[]));
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, [LIST, REASONS]);
    }

    #[test]
    fn every_kind_of_dependency_is_found_with_its_line() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nserde.workspace = true\ns = { package = \"serde_json\" }\n\
                    [dev-dependencies]\nserde = \"1\"\n[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n\
                    [build-dependencies.cc]\nversion = \"1\"\n";
        let tree = Tree::of(&[("crates/a/Cargo.toml", text)]);
        let (manifests, problems) = read_manifests(&tree);
        assert_eq!(problems, []);
        let mut found: Vec<_> = manifests[0].dependencies.iter().map(|d| (d.line, d.name.as_str(), d.kind)).collect();
        found.sort();
        let expected = [
            (4, "serde", "dependencies"),
            (5, "serde_json", "dependencies"),
            (7, "serde", "dev-dependencies"),
            (9, "libc", "dependencies"),
            (10, "cc", "build-dependencies"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_broken_manifest_is_a_problem() {
        let tree = Tree::of(&[("crates/a/Cargo.toml", "[package\n")]);
        assert_eq!(read_manifests(&tree).1.len(), 1);
    }

    fn allowed(from: &str, kind: &str, to: &str) -> bool {
        let text = format!("[package]\nname = \"{from}\"\n[{kind}]\n{to}.workspace = true\n");
        direction(&Tree::of(&[("crates/a/Cargo.toml", &text)])).is_empty()
    }

    #[test]
    fn downwards_is_allowed() {
        assert!(allowed("pairflow", "dependencies", "pairflow-agents"));
        assert!(allowed("pairflow-agents", "dependencies", "pairflow-engine"));
        assert!(allowed("pairflow-engine", "dependencies", "pairflow-core"));
        assert!(allowed("pairflow-testkit", "dependencies", "pairflow-agents"));
        assert!(allowed("pairflow-core", "dependencies", "serde"));
    }

    #[test]
    fn upwards_and_sideways_are_reported() {
        assert!(!allowed("pairflow-core", "dependencies", "pairflow-engine"));
        assert!(!allowed("pairflow-engine", "dependencies", "pairflow-agents"));
        assert!(!allowed("pairflow-agents", "dependencies", "pairflow"));
        assert!(!allowed("pairflow-agents", "dependencies", "pairflow-server"));
        assert!(!allowed("pairflow-testkit", "dependencies", "pairflow"));
    }

    #[test]
    fn what_is_not_shipped_is_not_built_with_the_program() {
        let found = |kind: &str| {
            let binary = "[package]\nname = \"pairflow\"\n[dependencies]\npairflow-agents = \"1\"\n";
            let agents = format!("[package]\nname = \"pairflow-agents\"\n[{kind}]\npairflow-testkit = \"1\"\n");
            let files = [("crates/pairflow/Cargo.toml", binary), ("crates/pairflow-agents/Cargo.toml", &agents)];
            shipped(&Tree::of(&files)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let way = "pairflow -> pairflow-agents -> pairflow-testkit";
        let sentence = format!("a build of pairflow would build pairflow-testkit: {way}");
        assert_eq!(found("dependencies"), [format!("crates/pairflow-agents/Cargo.toml:4: {sentence}")]);
        assert_eq!(found("build-dependencies").len(), 1);
        assert_eq!(found("dev-dependencies"), [""; 0]);
    }

    #[test]
    fn only_tests_and_the_workshop_use_the_testkit() {
        assert!(allowed("pairflow-engine", "dev-dependencies", "pairflow-testkit"));
        assert!(allowed("xtask", "dependencies", "pairflow-testkit"));
        assert!(!allowed("pairflow", "dependencies", "pairflow-testkit"));
        assert!(allowed("pairflow-faulty", "dependencies", "pairflow-testkit"));
        assert!(!allowed("pairflow", "dev-dependencies", "pairflow-faulty"));
    }
}
