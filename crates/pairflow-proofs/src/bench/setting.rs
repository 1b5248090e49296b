//! Where the measurements take place: the programs, and a directory on the disk that logs really lie on.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_testkit::fixture::{Fixture, Wanted, make};

use super::sample::timed;
use crate::programs::{built, target};

/// How many files the repositories of bubbles have, where it does not matter.
const FILES: usize = 20;

/// The programs and the place.
pub(super) struct Setting {
    /// The product.
    pub(super) program: PathBuf,
    /// A program that does nothing, built like the product.
    pub(super) empty: PathBuf,
    place: tempfile::TempDir,
}

impl Setting {
    /// Finds the programs and makes a new directory.
    pub(super) fn prepare() -> anyhow::Result<Self> {
        // The directory for temporary files is often in memory, where a sync costs nothing and says nothing.
        let place = tempfile::TempDir::with_prefix_in("bench-", target()?)?;
        let setting = Self { program: built("pairflow")?, empty: built("examples/empty")?, place };
        std::fs::create_dir(setting.place.path().join("home"))?;
        Ok(setting)
    }

    /// Returns a path in the directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Makes a repository called `name` with a bubble of `envelopes` envelopes.
    pub(super) fn fixture(&self, name: &str, envelopes: u64) -> anyhow::Result<Fixture> {
        let dir = self.path(name);
        let state = self.path("home/.local/state/pairflow");
        make(Wanted { dir: &dir, envelopes, files: FILES, now: SystemClock.now(), state: &state })
            .with_context(|| format!("cannot make a bubble of {envelopes} envelopes"))
    }

    /// Returns the product as a person starts it in `dir`.
    pub(super) fn pairflow(&self, dir: &Path, args: &[&str]) -> Command {
        self.start(&self.program, dir, args)
    }

    /// Returns the empty program.
    pub(super) fn nothing(&self, dir: &Path) -> Command {
        self.start(&self.empty, dir, &[])
    }

    /// Returns a program that is to be started in `dir`, with an environment of its own and nobody listening.
    pub(super) fn start(&self, program: &Path, dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env_clear().env("HOME", self.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Returns how long a process takes from its start to its end. It has to end well.
pub(super) fn lifetime(command: &mut Command) -> anyhow::Result<Duration> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let mut status = None;
    let took = timed(|| {
        status = Some(command.status().with_context(|| format!("cannot start {shown}"))?);
        Ok(())
    })?;
    ensure!(
        status.is_some_and(|status| status.success()),
        "{shown} {:?} failed",
        command.get_args().collect::<Vec<_>>()
    );
    Ok(took)
}
