//! `cargo xtask deny`: cargo-deny on bans, licences and sources, as deny.toml says.
//!
//! A machine needs no more than Rust and git: where cargo-deny is absent it is built once into `target/tools`, in the
//! dev profile, since it then builds in a minute or two on two cores and still checks this tree in a second.
//! Advisories are left out: their database is a download of its own, and a new advisory would break an old commit.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::{say, tidy};

const VERSION: &str = "0.20.2";

/// Runs the check, after installing the tool if need be.
pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    let tool = find_or_install()?;
    let mut check = Command::new(&tool);
    check.args(["--log-level", "error", "check", "bans", "licenses", "sources"]).current_dir(tidy::root());
    let status = check.status().with_context(|| format!("cannot start {}", tool.display()))?;
    ensure!(status.success(), "the dependencies break deny.toml");
    Ok(())
}

fn find_or_install() -> anyhow::Result<PathBuf> {
    let home = tidy::root().join("target/tools");
    let candidates = [home.join("bin/cargo-deny"), PathBuf::from("cargo-deny")];
    match candidates.into_iter().find(|tool| is_right_version(tool)) {
        Some(tool) => Ok(tool),
        None => install(&home),
    }
}

/// Whether `tool` starts and reads the same deny.toml as [`VERSION`] does.
fn is_right_version(tool: &Path) -> bool {
    let output = Command::new(tool).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim_end().ends_with(VERSION))
}

fn install(home: &Path) -> anyhow::Result<PathBuf> {
    say::line(format_args!("    building cargo-deny {VERSION} once into {}, a minute or two", home.display()));
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--quiet", "--locked", "--profile", "dev", "--version", VERSION, "cargo-deny", "--root"]);
    cargo.arg(home).env("CARGO_PROFILE_DEV_DEBUG", "0");
    let status = cargo.status().context("cannot start cargo")?;
    ensure!(status.success(), "cannot install cargo-deny; install {VERSION} by hand so that it is on the PATH");
    Ok(home.join("bin/cargo-deny"))
}
