//! Proofs run as releases are built: a simulated life costs a tenth of what it costs unoptimised.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::tidy;

/// The word that says that this is the optimised process already.
pub(crate) const INNER: &str = "--inner";

/// What proofs run. One proof after the other builds the same, with the same features, so it is built once.
const PACKAGES: [&str; 3] = ["xtask", "pairflow", "pairflow-faulty"];

/// Builds the workshop and the programs as releases are built, and runs `command` of that workshop.
pub(crate) fn run_optimised(command: &str, arguments: &[String]) -> anyhow::Result<()> {
    ensure!(build().status().context("cannot start cargo")?.success(), "cannot build what is to be proved");
    let status = inner(command, arguments).status().context("cannot start what was built")?;
    ensure!(status.success(), "a promise is broken, see above");
    Ok(())
}

/// The command that builds what proofs run.
pub(crate) fn build() -> Command {
    let named = PACKAGES.iter().flat_map(|package| ["--package", package]);
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--release"]).args(named).current_dir(tidy::root());
    build
}

/// The command that runs `command` of the workshop that [`build`] built.
pub(crate) fn inner(command: &str, arguments: &[String]) -> Command {
    let mut inner = Command::new(built("xtask"));
    inner.args([command, INNER]).args(arguments);
    inner
}

/// Returns the path of a program as releases are built.
pub(crate) fn built(program: &str) -> PathBuf {
    // The workshop lies beside everything that was built with it, wherever that is.
    let own = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.parent()?.join("release")));
    own.unwrap_or_else(|| tidy::root().join("target/release")).join(program)
}

/// Reads a number of the command line.
pub(crate) fn number(text: &str) -> anyhow::Result<u64> {
    text.replace('_', "").parse().with_context(|| format!("'{text}' is not a number"))
}
