//! What the Cargo.toml files say about dependencies.

use super::tree::{File, Problem, Tree};

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
pub(super) fn read(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Problem>) {
    let mut manifests = Vec::new();
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        match file.text.parse::<toml::Table>() {
            Ok(table) => manifests.extend(manifest(file, &table)),
            Err(error) => problems.push(file.problem(1, format!("this is not TOML: {}", error.message()))),
        }
    }
    (manifests, problems)
}

fn manifest<'a>(file: &'a File, table: &toml::Table) -> Option<Manifest<'a>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_dependency_is_found_with_its_line() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nserde.workspace = true\ns = { package = \"serde_json\" }\n\
                    [dev-dependencies]\nserde = \"1\"\n[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n\
                    [build-dependencies.cc]\nversion = \"1\"\n";
        let tree = Tree::of(&[("crates/a/Cargo.toml", text)]);
        let (manifests, problems) = read(&tree);
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
        assert_eq!(read(&tree).1.len(), 1);
    }
}
