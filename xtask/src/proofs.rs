//! Builds `pairflow-proofs` and the programs that it starts, and runs one of its commands.
//!
//! Proofs of every change use the profile `proof`, which builds in a third of the time of a release and runs at two
//! thirds of its speed; the others are worth a release.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

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

/// The simulation, built and run beside other work. Dropping it ends it.
pub(crate) struct Simulation {
    child: Child,
    output: PathBuf,
}

impl Simulation {
    /// Starts it with a lower priority; the lowest one would never be served on a busy machine.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let output = target()?.join("sim.log");
        let log = File::create(&output).with_context(|| format!("cannot write {}", output.display()))?;
        let mut cargo = Command::new("nice");
        cargo::without_package(&mut cargo);
        cargo.args(["-n", "5", "cargo", "run", "--quiet", "--profile", Profile::Proof.name()]);
        cargo.args(["--package", "pairflow-proofs", "--", "sim"]).current_dir(root()).stdin(Stdio::null());
        cargo.stdout(log.try_clone().context("cannot share a file")?).stderr(log);
        Ok(Self { child: cargo.spawn().context("cannot start `nice`")?, output })
    }

    /// Waits for its end and prints what it said.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let status = self.child.wait().context("cannot wait for the simulation")?;
        let said =
            std::fs::read_to_string(&self.output).with_context(|| format!("cannot read {}", self.output.display()))?;
        say::line(format_args!("{}", said.trim_end()));
        ensure!(status.success(), "sim ended with {status}; repeat it with: cargo xtask sim");
        Ok(())
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
