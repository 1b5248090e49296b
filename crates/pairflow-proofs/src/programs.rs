//! The programs that proofs run, and the numbers on their command lines.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the path of a program that was built together with this one: they lie side by side.
pub(crate) fn built(program: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let built = own.with_file_name(program);
    anyhow::ensure!(built.is_file(), "{} is not there; run this proof with `cargo xtask`", built.display());
    Ok(built)
}

/// Returns the directory that everything is built into.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let target = own.parent().and_then(Path::parent).context("this program lies in a directory of a profile")?;
    Ok(target.to_owned())
}

/// Reads a number of the command line.
pub(crate) fn number(text: &str) -> anyhow::Result<u64> {
    text.replace('_', "").parse().with_context(|| format!("'{text}' is not a number"))
}
