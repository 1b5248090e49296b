//! Every Rust file is part of a program: a file without its `mod` line is not compiled, and its tests run nowhere.

use proc_macro2::TokenStream;

use super::tokens;
use super::tree::{Problem, Rust, Tree};

/// Reports files that no `mod` line names.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let lost = tree.rust().filter(|(file, _)| {
        module_of(&file.path).is_some_and(|(parents, name)| {
            let declares = |path: &String| tree.rust().any(|(file, rust)| file.path == *path && declares(rust, name));
            !parents.iter().any(declares)
        })
    });
    lost.map(|(file, _)| file.problem(1, "no `mod` line names this file, so it is not compiled")).collect()
}

/// Returns the files that may declare the module of the file at `path`, and its name; nothing for the root of a program.
fn module_of(path: &str) -> Option<([String; 4], &str)> {
    let (dir, file) = path.strip_suffix(".rs")?.rsplit_once('/')?;
    let (dir, name) = if file == "mod" { dir.rsplit_once('/')? } else { (dir, file) };
    let inside = dir.starts_with("crates/") || dir.starts_with("xtask/");
    let is_root = matches!(name, "main" | "lib" | "build") || dir.ends_with("/examples");
    let parents = [format!("{dir}/mod.rs"), format!("{dir}.rs"), format!("{dir}/lib.rs"), format!("{dir}/main.rs")];
    (inside && !is_root).then_some((parents, name))
}

/// Whether a `mod` line declares the module, or the list of the policies, which makes such lines.
fn declares(rust: &Rust, name: &str) -> bool {
    let lists = |tokens: &TokenStream| tokens::paths(tokens).iter().any(|path| path.segments[0] == name);
    rust.syntax.items.iter().any(|item| match item {
        syn::Item::Mod(one) => one.ident == name && one.content.is_none(),
        syn::Item::Macro(one) => one.mac.path.is_ident("policies") && lists(&one.mac.tokens),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_line_names_is_reported() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod one;\npub mod two;\nmod inline { }\npolicies! { three::Three; }"),
            ("crates/a/src/three.rs", ""),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/two/mod.rs", "mod deep;"),
            ("crates/a/src/two/deep.rs", ""),
            ("crates/a/src/inline.rs", ""),
            ("crates/a/tests/it/main.rs", "mod kept;"),
            ("crates/a/tests/it/kept/mod.rs", ""),
            ("crates/a/tests/it/kept/lost.rs", "#[test]\nfn a() {}"),
            ("crates/a/tests/it/gone/mod.rs", ""),
            ("crates/a/examples/empty.rs", ""),
        ]);
        let paths: Vec<String> = check(&tree).into_iter().map(|problem| problem.path).collect();
        assert_eq!(
            paths,
            ["crates/a/src/inline.rs", "crates/a/tests/it/kept/lost.rs", "crates/a/tests/it/gone/mod.rs"]
        );
    }
}
