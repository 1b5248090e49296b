//! How this program calls cargo.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::tidy::root;

/// Returns cargo with these arguments, not started yet, in the root of the workspace and without input.
///
/// `cargo run`, by which this program was started, describes its package in the environment. The build script of `ring`
/// looks at that: with those variables half of the workspace would be built again after each change between
/// `cargo xtask` and a plain cargo.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(words).current_dir(root()).stdin(Stdio::null());
    without_package(&mut cargo);
    cargo
}

/// Takes the description of this package out of the environment of `command`, and a person's own settings of nextest.
pub(crate) fn without_package(command: &mut Command) {
    let unwanted = |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_", "NEXTEST_"].iter().any(|part| name.starts_with(part));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(unwanted) {
            command.env_remove(name);
        }
    }
}

/// Runs cargo with these arguments.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let status = command(words).status().context("cannot start cargo")?;
    ensure!(status.success(), "cargo {} ended with {status}", words.join(" "));
    Ok(())
}

/// Returns what `cargo metadata` says with these further arguments.
pub(crate) fn metadata(words: &[&str]) -> anyhow::Result<Value> {
    let mut cargo = command(&["metadata", "--format-version=1", "--locked"]);
    let output = cargo.args(words).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo metadata ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("cargo metadata prints JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_not_told_of_the_package_that_calls_it() {
        // Tests are started by cargo, too.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let command = command(&["version"]);
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR"] {
            assert!(removed.iter().any(|removed| *removed == name), "{name} of {removed:?}");
        }
    }
}
