//! Crates depend in one direction: binary, then agents, server and cluster, then the engine, then the core.
//!
//! Nothing points back, and crates of one layer do not know one another. The testkit stands beside: it may use the
//! three layers below the binary, and only tests may use it.

use super::manifest::{self, Dependency, Manifest, is_ours};
use super::tree::{Problem, Tree};

/// Reports dependencies that point back or sideways.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    manifest::read(tree).0.iter().flat_map(wrong).collect()
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

/// A crate that nobody has placed yet is a door: it may use engine and core, and only the binary may use it.
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

    fn allowed(from: &str, kind: &str, to: &str) -> bool {
        let text = format!("[package]\nname = \"{from}\"\n[{kind}]\n{to}.workspace = true\n");
        check(&Tree::of(&[("crates/a/Cargo.toml", &text)])).is_empty()
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
    fn only_tests_and_the_workshop_use_the_testkit() {
        assert!(allowed("pairflow-engine", "dev-dependencies", "pairflow-testkit"));
        assert!(allowed("xtask", "dependencies", "pairflow-testkit"));
        assert!(!allowed("pairflow", "dependencies", "pairflow-testkit"));
        assert!(allowed("pairflow-faulty", "dependencies", "pairflow-testkit"));
        assert!(!allowed("pairflow", "dev-dependencies", "pairflow-faulty"));
    }
}
