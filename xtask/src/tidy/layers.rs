//! Modules form layers: nothing points up, and no modules of one folder use one another in a circle.
//!
//! The order of the top-level modules is the table below. Inside a folder the order is free, but there has to be one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::{Crate, ModulePath, Use};
use super::tree::{File, Problem, Tree};

/// The layers of a crate, from the ground up. Modules of one layer may use one another, though not in a circle.
type Layers = &'static [&'static [&'static str]];

/// The order of top-level modules. A crate that is not listed has no cycles, in any order.
const ORDER: &[(&str, Layers)] = &[
    (
        "pairflow-core",
        &[
            &["ids", "time", "hash", "text", "safe", "gates"],
            &["rules"],
            &["facts"],
            &["log", "config"],
            &["findings"],
            &["progress"],
            &["policy"],
            &["bubble"],
            &["view"],
            &["respond"],
        ],
    ),
    (
        "pairflow-engine",
        &[
            &["regular", "clock", "limits"],
            &["store"],
            &["git", "process", "local_socket"],
            &["workspace", "checks", "tmux", "detect", "config", "driver"],
            &["engine"],
            &["caller"],
            &["perform", "supervisor_client"],
            &["verbs"],
            &["agent_socket"],
            &["session", "notify"],
            &["supervise"],
        ],
    ),
    (
        "pairflow",
        &[
            &["exit", "world"],
            &["out", "args"],
            &["app"],
            &["entry"],
            &["commands"],
            &["table"],
            &["docs"],
            &["dispatch"],
        ],
    ),
];

/// Reports edges against the order of layers, modules without a layer, and cycles among the modules of a folder.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    Crate::all(tree).iter().flat_map(|one| judge(one, ORDER)).collect()
}

/// Returns how many groups of modules use one another in a circle.
pub(super) fn count(tree: &Tree) -> String {
    let crates = Crate::all(tree);
    let cycles = crates.iter().flat_map(|one| {
        let graphs = graphs(&one.uses());
        graphs.iter().flat_map(|(folder, graph)| circles(one, folder, graph)).collect::<Vec<_>>()
    });
    format!("module cycles: {}", cycles.count())
}

fn judge(one: &Crate<'_>, order: &[(&str, Layers)]) -> Vec<Problem> {
    let graphs = graphs(&one.uses());
    let mut problems = Vec::new();
    let layers = order.iter().find(|(name, _)| *name == one.name).map(|(_, layers)| *layers);
    problems.extend(layers.iter().flat_map(|layers| unplaced(one, layers)));
    let top = graphs.get(&Vec::new());
    problems.extend(layers.zip(top).iter().flat_map(|(layers, top)| upward(one, top, layers)));
    problems.extend(graphs.iter().flat_map(|(folder, graph)| circles(one, folder, graph)));
    problems
}

fn full_name(one: &Crate<'_>, folder: &ModulePath) -> String {
    [vec![one.name.clone()], folder.clone()].concat().join("::")
}

/// The first use of one child of a folder by another one, by their names.
type Graph<'a> = BTreeMap<(String, String), (&'a File, usize)>;

/// Which modules of a folder use which others of the same folder, by folder.
fn graphs<'a>(uses: &[Use<'a>]) -> BTreeMap<ModulePath, Graph<'a>> {
    let mut graphs: BTreeMap<ModulePath, Graph<'a>> = BTreeMap::new();
    for one in uses {
        let common = one.from.iter().zip(&one.to).take_while(|(from, to)| from == to).count();
        if let (Some(from), Some(to)) = (one.from.get(common), one.to.get(common)) {
            let graph = graphs.entry(one.from[..common].to_vec()).or_default();
            graph.entry((from.clone(), to.clone())).or_insert((one.file, one.line));
        }
    }
    graphs
}

fn unplaced(one: &Crate<'_>, layers: Layers) -> Vec<Problem> {
    let Some(root) = one.root() else { return Vec::new() };
    let missing = one.top_level().into_iter().filter(|module| layer(layers, module).is_none());
    let sentence = |module| format!("`{module}` has no layer; add it to the order in xtask/src/tidy/layers.rs");
    missing.map(|module| root.problem(1, sentence(module))).collect()
}

fn upward(one: &Crate<'_>, graph: &Graph<'_>, layers: Layers) -> Vec<Problem> {
    let up = graph.iter().filter(|((from, to), _)| layer(layers, from) < layer(layers, to));
    let sentence =
        |from: &str, to: &str| format!("{}: `{from}` must not use `{to}`, which is a layer above it", one.name);
    up.map(|((from, to), (file, line))| file.problem(*line, sentence(from, to))).collect()
}

fn layer(layers: Layers, module: &str) -> Option<usize> {
    layers.iter().position(|layer| layer.contains(&module))
}

/// Reports one shortest cycle for each group of modules that use one another.
fn circles(one: &Crate<'_>, folder: &ModulePath, graph: &Graph<'_>) -> Vec<Problem> {
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    let mut problems = Vec::new();
    let modules: BTreeSet<&str> = graph.keys().map(|(from, _)| from.as_str()).collect();
    let mut cycles: Vec<Vec<&str>> = modules.iter().filter_map(|module| cycle_through(graph, module)).collect();
    cycles.sort_by_key(Vec::len);
    for cycle in cycles {
        if cycle.iter().all(|module| !reported.contains(module)) {
            reported.extend(&cycle);
            problems.push(describe(one, folder, graph, &cycle));
        }
    }
    problems
}

/// The shortest way from a module over others back to itself.
fn cycle_through<'g>(graph: &'g Graph<'_>, start: &'g str) -> Option<Vec<&'g str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for (_, next) in graph.keys().filter(|(from, _)| from == module) {
            let next = next.as_str();
            if next == start {
                let back = std::iter::successors(Some(module), |at| came_from.get(at).copied());
                let mut cycle: Vec<&str> = back.collect();
                cycle.reverse();
                return Some(cycle);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, module);
                queue.push_back(next);
            }
        }
    }
    None
}

fn describe(one: &Crate<'_>, folder: &ModulePath, graph: &Graph<'_>, cycle: &[&str]) -> Problem {
    let steps = cycle.iter().zip(cycle.iter().cycle().skip(1));
    let place = |from: &str, to: &str| graph[&(from.to_owned(), to.to_owned())];
    let shown = steps.map(|(from, to)| {
        let (file, line) = place(from, to);
        format!(" -> {to} ({}:{line})", file.path)
    });
    let within = full_name(one, folder);
    let sentence = format!("modules of {within} form a cycle: {}{}", cycle[0], shown.collect::<String>());
    let (file, line) = place(cycle[0], cycle.get(1).unwrap_or(&cycle[0]));
    file.problem(line, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)], order: &[(&str, Layers)]) -> Vec<Problem> {
        let files: Vec<_> = files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let tree = Tree::of(&files);
        Crate::all(&tree).iter().flat_map(|one| judge(one, order)).collect()
    }

    fn found(files: &[(&str, &str)], layers: Layers) -> Vec<String> {
        problems(files, &[("x", layers)]).iter().map(ToString::to_string).collect()
    }

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let problems = problems(files, &[]);
        problems.into_iter().map(|problem| problem.sentence.replace("crates/x/src/", "")).collect()
    }

    #[test]
    fn a_clean_tree_is_clean() {
        let files = [
            ("lib.rs", "mod low; mod high; pub use low::One;"),
            ("low.rs", "pub struct One;"),
            ("high/mod.rs", "mod a; mod b; pub use a::A;"),
            ("high/a.rs", "use crate::low::One; pub struct A;"),
            ("high/b.rs", "use super::A; use std::fmt::{self, Write};"),
        ];
        assert_eq!(found(&files, &[&["low"], &["high"]]), [""; 0]);
    }

    #[test]
    fn an_edge_upwards_is_reported() {
        let files = [("lib.rs", ""), ("low.rs", "\nfn f() { crate::high::g() }"), ("high.rs", "pub fn g() {}")];
        let expected = "crates/x/src/low.rs:2: x: `low` must not use `high`, which is a layer above it";
        assert_eq!(found(&files, &[&["low"], &["high"]]), [expected]);
        assert_eq!(found(&files, &[&["low", "high"]]), [""; 0], "modules of one layer may use one another");
    }

    #[test]
    fn a_module_without_a_layer_is_reported() {
        let expected = "crates/x/src/lib.rs:1: `new` has no layer; add it to the order in xtask/src/tidy/layers.rs";
        assert_eq!(found(&[("lib.rs", ""), ("new/mod.rs", ""), ("old.rs", "")], &[&["old"]]), [expected]);
    }

    #[test]
    fn a_cycle_is_reported_with_a_place_for_each_step() {
        let files = [
            ("lib.rs", ""),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "\nuse crate::c::C;"),
            ("c.rs", "fn f() -> crate::a::A {}"),
        ];
        let expected = "modules of x form a cycle: a -> b (a.rs:1) -> c (b.rs:2) -> a (c.rs:1)";
        assert_eq!(cycles(&files), [expected]);
    }

    #[test]
    fn a_cycle_through_braces_and_super_is_found_among_siblings() {
        let files = [
            ("lib.rs", ""),
            ("m/mod.rs", "mod a; mod b;"),
            ("m/a.rs", "use crate::{other::X, m::{self, b::{self, B}}};"),
            ("m/b/mod.rs", ""),
            ("m/b/deep.rs", "fn f() { super::super::a::g() }"),
        ];
        assert_eq!(cycles(&files), ["modules of x::m form a cycle: a -> b (m/a.rs:1) -> a (m/b/deep.rs:1)"]);
    }

    #[test]
    fn a_name_that_another_module_offers_counts_where_it_is_defined() {
        let among_top_level = [
            ("lib.rs", "pub use exit::Exit as End;"),
            ("exit.rs", "use crate::m::Named; pub struct Exit;"),
            ("m/mod.rs", "pub use inner::*;"),
            ("m/inner.rs", "pub struct Named; fn f() -> crate::End {}"),
        ];
        let expected = "modules of x form a cycle: exit -> m (exit.rs:1) -> exit (m/inner.rs:1)";
        assert_eq!(cycles(&among_top_level), [expected]);
        let among_siblings = [
            ("lib.rs", ""),
            ("m/mod.rs", "pub use a::A; pub use b::*;"),
            ("m/a.rs", "use super::B; pub struct A;"),
            ("m/b.rs", "use crate::m::A; pub struct B;"),
        ];
        assert_eq!(cycles(&among_siblings), ["modules of x::m form a cycle: a -> b (m/a.rs:1) -> a (m/b.rs:1)"]);
    }

    #[test]
    fn a_name_that_a_module_only_uses_itself_is_not_what_a_glob_brings() {
        let files = [
            ("lib.rs", ""),
            ("m/mod.rs", "pub use a::*; pub use b::*;"),
            ("m/a.rs", "use crate::m::B; pub struct A;"),
            ("m/b.rs", "use crate::m::A; pub struct B;"),
        ];
        assert_eq!(cycles(&files), ["modules of x::m form a cycle: a -> b (m/a.rs:1) -> a (m/b.rs:1)"]);
    }

    #[test]
    fn tests_comments_and_strings_are_no_use() {
        let files = [
            ("lib.rs", "mod a; #[cfg(test)] mod t;"),
            ("a.rs", "// crate::b::B\nconst X: &str = \"crate::b::B\";\n#[cfg(test)]\nmod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A;"),
            ("t.rs", "use crate::b::B; "),
        ];
        assert_eq!(cycles(&files), [""; 0]);
    }
}
