//! Rust: a `Cargo.toml` at the root.

use super::found::{Detected, Found};
use super::root::Root;

pub(super) fn detect(root: &Root) -> Detected {
    let file = "Cargo.toml";
    if !root.has(file) {
        return Detected::default();
    }
    let all = if root.has_table(file, "workspace") { " --workspace" } else { "" };
    Detected {
        test: Some(Found::new(format!("cargo test{all}"), file)),
        typecheck: Some(Found::new(format!("cargo check{all} --all-targets"), file)),
        // Without settings of its own a project has not said that it wants clippy.
        lint: clippy_settings(root).map(|why| Found::new(format!("cargo clippy{all} --all-targets"), why)),
        setup: None,
    }
}

fn clippy_settings(root: &Root) -> Option<String> {
    let table =
        || ["lints.clippy", "workspace.lints.clippy"].into_iter().find(|table| root.has_table("Cargo.toml", table));
    let file = root.first(&["clippy.toml", ".clippy.toml"]).map(str::to_owned);
    file.or_else(|| table().map(|table| format!("Cargo.toml [{table}]")))
}
