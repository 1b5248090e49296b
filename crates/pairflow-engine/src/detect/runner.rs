//! Make and just: what the project itself calls `test`, `check`, `typecheck` and `lint`.

use super::found::{Detected, Found};
use super::root::Root;

/// Reads the recipes of just that can run without an argument.
pub(super) fn just(root: &Root) -> Detected {
    let Some(file) = root.first(&["justfile", "Justfile", "JUSTFILE", ".justfile"]) else { return Detected::default() };
    let recipes: Vec<_> = root.read(file).unwrap_or_default().lines().filter_map(recipe).collect();
    named(&recipes, |name| Found::new(format!("just {name}"), format!("{file} recipe \"{name}\"")))
}

/// Reads the targets of Make, out of the file that Make itself would take.
pub(super) fn make(root: &Root) -> Detected {
    let Some(file) = root.first(&["GNUmakefile", "makefile", "Makefile"]) else { return Detected::default() };
    let targets: Vec<_> = root.read(file).unwrap_or_default().lines().flat_map(targets).collect();
    named(&targets, |name| Found::new(format!("make {name}"), format!("{file} target \"{name}\"")))
}

fn named(names: &[String], found: impl Fn(&str) -> Found) -> Detected {
    let first = |wanted: &[&str]| {
        let name = wanted.iter().find(|wanted| names.iter().any(|name| name == *wanted))?;
        Some(found(name))
    };
    // By old custom `check` runs the tests, and what is called so often runs more than that.
    Detected { test: first(&["test", "check"]), typecheck: first(&["typecheck"]), lint: first(&["lint"]), setup: None }
}

/// Reads the targets on the left of a rule's colon.
fn targets(line: &str) -> Vec<String> {
    let Some((left, right)) = line.split_once(':') else { return Vec::new() };
    let assigns = left.contains('=') || right.trim_start_matches(':').starts_with('=');
    let is_rule = !assigns && !left.starts_with(['\t', ' ', '#']);
    let names = left.split_whitespace().filter(|_| is_rule);
    names.map(str::to_owned).collect()
}

/// Reads the name of a recipe that needs no argument.
fn recipe(line: &str) -> Option<String> {
    if line.starts_with([' ', '\t', '#', '[']) {
        return None;
    }
    let head = &line[..colon(line)?];
    let mut words = head.trim_start_matches('@').split_whitespace();
    let name = words.next()?;
    let optional = |word: &str| word.starts_with('*') || word.contains('=');
    let is_setting = matches!(name, "alias" | "export" | "set" | "import" | "mod");
    (!is_setting && words.all(optional)).then(|| name.to_owned())
}

/// Returns where the first colon outside of quotes is, unless it assigns.
fn colon(line: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ':') => return (!line[at..].starts_with(":=")).then_some(at),
            _ => {}
        }
    }
    None
}
