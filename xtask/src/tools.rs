//! `cargo xtask tools`: what tests need beside Rust and git. It installs what is missing with apt-get, or names it where
//! that does not work. The agent CLIs are installed by the tests themselves.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::{cargo, say};

/// The programs, each with the Debian package that brings it.
const TOOLS: [(&str, &str); 3] = [("tmux", "tmux"), ("npm", "npm"), ("strace", "strace")];

/// Sees to it that every program is there, and every crate that the lock file names.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask tools");
    }
    cargo::run(&["fetch", "--quiet", "--locked"])?;
    let missing: Vec<_> = TOOLS.iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    say::line(format_args!("    installing {}", packages.join(", ")));
    let advice =
        format!("the tests need {}; install it, e.g. `apt-get install {}`", packages.join(", "), packages.join(" "));
    apt(&["update", "-qq"])
        .and_then(|()| {
            let words: Vec<&str> =
                ["install", "-y", "-qq", "--no-install-recommends"].iter().chain(&packages).copied().collect();
            apt(&words)
        })
        .context(advice.clone())?;
    match missing.iter().find(|(program, _)| !is_there(program)) {
        Some(_) => bail!("{advice}"),
        None => Ok(()),
    }
}

fn is_there(program: &str) -> bool {
    let flag = if program == "tmux" { "-V" } else { "--version" };
    let quiet =
        Command::new(program).arg(flag).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn apt(words: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("apt-get");
    command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().context("apt-get cannot be started")?;
    if status.success() { Ok(()) } else { bail!("apt-get {} ended with {status}", words.join(" ")) }
}
