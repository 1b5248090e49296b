//! Builds `pairflow-proofs` and the programs that it starts, and runs one of its commands.
//!
//! Proofs of every change use the profile `proof`, which builds in a third of the time of a release and runs at two
//! thirds of its speed; the others are worth a release.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};

use crate::tidy::root;
use crate::{cargo, say};

/// How the program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    Proof,
    Release,
    Soak,
}

/// The other programs that proofs run.
const PROGRAMS: [&str; 4] = ["--package", "pairflow", "--package", "pairflow-faulty"];

pub(crate) fn sim(arguments: &[String]) -> anyhow::Result<()> {
    build(Profile::Proof, &[])?;
    start(Profile::Proof, "sim", arguments)
}

/// Builds and runs `sim` with a lower priority, and returns what it printed. The lowest one would never be served on a busy
/// machine.
pub(crate) fn sim_in_background() -> anyhow::Result<String> {
    let mut cargo = Command::new("nice");
    cargo::without_package(&mut cargo);
    cargo.args(["-n", "5", "cargo", "run", "--quiet", "--profile", Profile::Proof.name()]);
    cargo.args(["--package", "pairflow-proofs", "--", "sim"]).current_dir(root()).stdin(Stdio::null());
    let Output { status, stdout, stderr } = cargo.output().context("cannot start `nice`")?;
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    ensure!(status.success(), "sim ended with {status}:\n{said}");
    Ok(said)
}

pub(crate) fn kill(arguments: &[String]) -> anyhow::Result<()> {
    build(Profile::Proof, &PROGRAMS)?;
    start(Profile::Proof, "kill", arguments)
}

pub(crate) fn lab(arguments: &[String]) -> anyhow::Result<()> {
    build(Profile::Release, &[])?;
    start(Profile::Release, "lab", arguments)
}

pub(crate) fn soak(arguments: &[String]) -> anyhow::Result<()> {
    build(Profile::Soak, &PROGRAMS)?;
    start(Profile::Soak, "soak", arguments)
}

pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
    say::progress(format_args!("building; with SQLite, this takes some minutes the first time"));
    // Not together: the features of one would be those of the other.
    cargo::run(&["build", "--quiet", "--release", "--package", "pairflow"])?;
    build(Profile::Release, &["--features", "bench-sqlite", "--bins", "--example", "empty"])?;
    start(Profile::Release, "bench", arguments)
}

pub(crate) fn fixture(arguments: &[String]) -> anyhow::Result<()> {
    build(Profile::Release, &[])?;
    start(Profile::Release, "fixture", arguments)
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Proof => "proof",
            Self::Release => "release",
            Self::Soak => "soak",
        }
    }
}

fn build(profile: Profile, more: &[&str]) -> anyhow::Result<()> {
    let own = ["build", "--quiet", "--profile", profile.name(), "--package", "pairflow-proofs"];
    cargo::run(&[&own, more].concat())
}

fn start(profile: Profile, proof: &str, arguments: &[String]) -> anyhow::Result<()> {
    let program = target()?.join(profile.name()).join("pairflow-proofs");
    let status = Command::new(&program).arg(proof).args(arguments).status();
    let status = status.with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(status.success(), "{proof} failed, see above");
    Ok(())
}

/// The directory that everything is built into: this program lies in it, below its profile.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let target = own.ancestors().nth(2).context("this program lies in a directory of its profile")?;
    Ok(target.to_owned())
}
