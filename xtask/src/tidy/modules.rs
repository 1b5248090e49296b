//! The modules of a crate, and which module each path in them leads to.
//!
//! A path is followed as the compiler follows it: through `crate`, `self` and `super`, child modules, and the `use` lines
//! of the modules on its way. So a type that `mod.rs` re-exports counts as used where it is defined. Code behind
//! `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::{Item, UseTree, Visibility};

use super::tree::{File, Rust, Tree};

/// A module by the names on its way from the root of the crate; the root has none.
pub(super) type ModulePath = Vec<String>;

/// A program or library with all its modules.
pub(super) struct Crate<'a> {
    pub(super) name: String,
    modules: BTreeMap<ModulePath, Module<'a>>,
}

/// One use of a module by another one.
pub(super) struct Use<'a> {
    pub(super) from: ModulePath,
    pub(super) to: ModulePath,
    pub(super) file: &'a File,
    pub(super) line: usize,
}

struct Module<'a> {
    file: &'a File,
    rust: &'a Rust,
    imports: Vec<Import>,
    defined: BTreeSet<String>,
}

/// What a `use` line brings into a module; a glob brings everything and has no name.
struct Import {
    name: Option<String>,
    path: Vec<String>,
    /// Whether the line has a visibility of its own, so that a glob brings the name to others.
    passed_on: bool,
}

impl<'a> Crate<'a> {
    /// Every crate of the tree that lies beneath `crates/`.
    pub(super) fn all(tree: &'a Tree) -> Vec<Self> {
        let mut crates: BTreeMap<String, Self> = BTreeMap::new();
        for (file, rust) in tree.rust() {
            let Some((name, path)) = module_path(tree, file) else { continue };
            let modules = BTreeMap::new();
            let one = crates.entry(name.clone()).or_insert(Self { name, modules });
            one.modules.insert(path, Module::new(file, rust));
        }
        let mut crates: Vec<Self> = crates.into_values().collect();
        crates.iter_mut().for_each(Self::drop_tests);
        crates
    }

    /// The root file of the crate.
    pub(super) fn root(&self) -> Option<&'a File> {
        self.modules.get(&Vec::new()).map(|root| root.file)
    }

    /// The names of the top-level modules.
    pub(super) fn top_level(&self) -> BTreeSet<&str> {
        self.modules.keys().filter_map(|path| path.first().map(String::as_str)).collect()
    }

    /// Every module with its file.
    pub(super) fn modules(&self) -> impl Iterator<Item = (&ModulePath, &'a File, &'a Rust)> {
        self.modules.iter().map(|(path, module)| (path, module.file, module.rust))
    }

    /// Every path in the crate's code that leads to another module of the crate.
    pub(super) fn uses(&self) -> Vec<Use<'a>> {
        let mut uses = Vec::new();
        for (from, module) in &self.modules {
            let inline = inline_modules(&module.rust.syntax.items);
            let paths = module.rust.paths().into_iter().filter(|path| path.segments.len() > 1);
            for path in paths.filter(|path| !module.rust.is_behind_cfg_test(path.line)) {
                let around = inline.iter().filter(|(lines, _)| lines.contains(&path.line)).map(|(_, name)| name);
                let scope = from.iter().chain(around).cloned().collect();
                let to = self.resolve(&scope, &path.segments, &mut BTreeSet::new()).filter(|to| to != from);
                uses.extend(to.map(|to| Use { from: from.clone(), to, file: module.file, line: path.line }));
            }
        }
        uses
    }

    /// Removes the modules whose `mod` line stands behind `#[cfg(test)]`, and what is beneath them.
    fn drop_tests(&mut self) {
        let is_test = |path: &[String]| {
            let (name, parent) = path.split_last()?;
            let rust = self.modules.get(parent)?.rust;
            let line = rust.syntax.items.iter().find(|item| matches!(item, Item::Mod(one) if one.ident == name))?;
            Some(rust.is_behind_cfg_test(line.span().end().line))
        };
        let tests: Vec<ModulePath> = self.modules.keys().filter(|path| is_test(path) == Some(true)).cloned().collect();
        self.modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    }

    /// The module that `path`, written in the module `scope`, leads to; none if it leaves the crate.
    fn resolve(
        &self,
        scope: &ModulePath,
        path: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<ModulePath> {
        // A single word is a local name, a method or a field, and `use` has brought it here by a longer path.
        let [first, rest @ ..] = path else { return None };
        match first.as_str() {
            _ if rest.is_empty() => None,
            "crate" => self.descend(Vec::new(), rest, seen),
            "self" => self.descend(scope.clone(), rest, seen),
            "super" => self.descend(parent(scope)?, rest, seen),
            name if self.modules.contains_key(&child(scope, name)) => self.descend(scope.clone(), path, seen),
            _ => None,
        }
    }

    /// Follows `path` from the module `at` as far as it leads through modules.
    fn descend(
        &self,
        at: ModulePath,
        path: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Option<ModulePath> {
        let Some((name, rest)) = path.split_first() else { return Some(at) };
        if name == "super" {
            return self.descend(parent(&at)?, rest, seen);
        }
        let below = child(&at, name);
        if name == "self" || self.modules.contains_key(&below) {
            return self.descend(if name == "self" { at } else { below }, rest, seen);
        }
        let Some(module) = self.modules.get(&at) else { return Some(at) };
        if module.defined.contains(name) || !seen.insert((at.clone(), name.clone())) {
            return Some(at);
        }
        let named = module.imports.iter().find(|import| import.name.as_ref() == Some(name));
        if let Some(import) = named {
            let full: Vec<String> = import.path.iter().chain(rest).cloned().collect();
            return self.resolve(&at, &full, seen);
        }
        let globs = module.imports.iter().filter(|import| import.name.is_none());
        let within = globs.filter_map(|import| self.resolve(&at, &import.path, &mut BTreeSet::new()));
        let mut defines = within.filter(|module| self.modules.get(module).is_some_and(|one| one.offers(name)));
        match defines.next() {
            Some(module) => self.descend(module, path, seen),
            None => Some(at),
        }
    }
}

impl<'a> Module<'a> {
    fn new(file: &'a File, rust: &'a Rust) -> Self {
        let mut imports = Vec::new();
        for item in &rust.syntax.items {
            if let Item::Use(line) = item {
                let passed_on = !matches!(line.vis, Visibility::Inherited);
                flatten(&line.tree, &[], passed_on, &mut imports);
            }
        }
        Self { file, rust, imports, defined: rust.syntax.items.iter().filter_map(defined_name).collect() }
    }

    /// Whether a glob brings `name` from here: it is defined here, or passed on by a `use` line. A glob may bring every name.
    fn offers(&self, name: &str) -> bool {
        let mut passed_on = self.imports.iter().filter(|import| import.passed_on);
        self.defined.contains(name)
            || passed_on.any(|import| import.name.as_deref().is_none_or(|imported| imported == name))
    }
}

/// The crate of a source file and its module path in it; none for tests, benchmarks and a `main.rs` beside a `lib.rs`.
fn module_path(tree: &Tree, file: &File) -> Option<(String, ModulePath)> {
    let (name, inside) = file.path.strip_prefix("crates/")?.split_once("/src/")?;
    let library = format!("crates/{name}/src/lib.rs");
    if inside == "main.rs" && tree.file(&library).is_some() {
        return None;
    }
    let mut path: ModulePath = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") || matches!(inside, "lib.rs" | "main.rs") {
        path.pop();
    }
    Some((name.to_owned(), path))
}

/// The modules that are written out in a file, outer ones first: their lines and names.
fn inline_modules(items: &[Item]) -> Vec<(RangeInclusive<usize>, String)> {
    let mut found = Vec::new();
    for item in items {
        if let Item::Mod(module) = item
            && let Some((_, inside)) = &module.content
        {
            let lines = module.span().start().line..=module.span().end().line;
            found.push((lines, module.ident.to_string()));
            found.extend(inline_modules(inside));
        }
    }
    found
}

fn flatten(tree: &UseTree, prefix: &[String], passed_on: bool, imports: &mut Vec<Import>) {
    let with = |last: String| prefix.iter().cloned().chain([last]).collect::<Vec<_>>();
    let mut import = |name, path| imports.push(Import { name, path, passed_on });
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(path.ident.to_string()), passed_on, imports),
        UseTree::Name(name) if name.ident == "self" => import(prefix.last().cloned(), prefix.to_vec()),
        UseTree::Name(name) => import(Some(name.ident.to_string()), with(name.ident.to_string())),
        UseTree::Rename(name) => import(Some(name.rename.to_string()), with(name.ident.to_string())),
        UseTree::Glob(_) => import(None, with("self".to_owned())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, passed_on, imports)),
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Mod(item) if item.content.is_some() => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn parent(path: &ModulePath) -> Option<ModulePath> {
    path.split_last().map(|(_, parent)| parent.to_vec())
}

fn child(path: &ModulePath, name: &str) -> ModulePath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}
