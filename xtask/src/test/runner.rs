//! How tests are run: with cargo-nextest where it is installed, else with `cargo test`, program after program.
//!
//! Tests that mostly wait (for panes, agents, supervisors) run six to a core, those that compute one to a core. Nextest
//! has the same from .config/nextest.toml, and runs those that compute beside those that wait.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::failures::{Failure, Results, Target, of_junit, of_libtest};
use crate::proofs::target;
use crate::{cargo, say};

/// How many tests run at a time for each core, where they mostly wait.
const WAITING: usize = 6;

/// The crates whose tests mostly wait. .config/nextest.toml names the others.
const WAITING_CRATES: [&str; 2] = ["pairflow", "pairflow-engine"];

/// What runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    Cargo,
}

impl Runner {
    /// Returns nextest if it is installed.
    pub(crate) fn present() -> Self {
        let asked = cargo::command(&["nextest", "--version"]).output();
        if asked.is_ok_and(|output| output.status.success()) { Self::Nextest } else { Self::Cargo }
    }

    /// Builds every test program.
    pub(crate) fn build(self) -> anyhow::Result<()> {
        let words: &[&str] = match self {
            Self::Nextest => &["nextest", "run", "--workspace", "--no-run", "--cargo-quiet"],
            Self::Cargo => &["test", "--workspace", "--no-run", "--quiet"],
        };
        let status = tester(words).status().context("cannot start cargo")?;
        ensure!(status.success(), "cargo {} ended with {status}", words.join(" "));
        Ok(())
    }

    /// Runs every test whose name contains `filter`; returns what failed. It is an error if there is no such test.
    pub(crate) fn run(self, filter: &str) -> anyhow::Result<Vec<Failure>> {
        let Results { ran, failed } = match self {
            Self::Nextest => with_nextest(filter)?,
            Self::Cargo => {
                say::progress(format_args!("cargo-nextest is not installed; `cargo test` takes some minutes longer"));
                let results = targets()?.iter().map(|target| with_cargo(target, filter)).collect::<Result<Vec<_>, _>>();
                results?.into_iter().fold(Results::default(), Results::and)
            }
        };
        ensure!(ran > 0, "no test has a name that contains '{filter}'");
        Ok(failed)
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

fn tester(words: &[&str]) -> Command {
    let mut cargo = cargo::command(words);
    // Without a backtrace the last lines of a failure are those of the test.
    cargo.env("RUST_BACKTRACE", "0").env("INSTA_UPDATE", "no");
    // None of these may decide what is tested.
    for name in ["PAIRFLOW_BIN", "PAIRFLOW_TEST_LIMITS", "INSTA_FORCE_PASS", "PROPTEST_CASES", "UPDATE_DOCS"] {
        cargo.env_remove(name);
    }
    cargo
}

fn with_nextest(filter: &str) -> anyhow::Result<Results> {
    let report = target()?.join("nextest/default/junit.xml");
    // An old report must not be taken for that of this run.
    let _ = std::fs::remove_file(&report);
    let threads = (cores() * WAITING).to_string();
    let mut nextest =
        tester(&["nextest", "run", "--workspace", "--cargo-quiet", "--no-fail-fast", "--no-tests", "pass"]);
    // The environment must not name other rules: a failure is never retried away.
    nextest.args(["--profile", "default", "--retries", "0"]);
    nextest.args(["--test-threads", &threads, "--status-level", "slow", "--final-status-level", "none"]);
    // The end of each failure is shown after the run, with the command that repeats it.
    nextest.args(["--failure-output", "never"]).args(Some(filter).filter(|filter| !filter.is_empty()));
    let status = nextest.status().context("cannot start cargo")?;
    let text = std::fs::read_to_string(&report);
    let text = text.with_context(|| format!("cargo nextest ended with {status} and wrote no {}", report.display()))?;
    let results = of_junit(&text)?;
    ensure!(status.success() || !results.failed.is_empty(), "cargo nextest ended with {status}");
    Ok(results)
}

/// Returns the test programs of the workspace.
fn targets() -> anyhow::Result<Vec<Target>> {
    let metadata = cargo::metadata(&["--no-deps"])?;
    let packages = metadata["packages"].as_array().context("cargo metadata names packages")?;
    Ok(packages.iter().flat_map(of_package).collect())
}

fn of_package(package: &Value) -> Vec<Target> {
    let tested = package["targets"].as_array().into_iter().flatten().filter(|target| target["test"] == true);
    let name = package["name"].as_str().unwrap_or_default();
    let kind = |target: &Value| target["kind"][0].as_str().unwrap_or_default().to_owned();
    tested.map(|target| Target::new(name, &kind(target), target["name"].as_str().unwrap_or_default())).collect()
}

fn with_cargo(target: &Target, filter: &str) -> anyhow::Result<Results> {
    let many = WAITING_CRATES.contains(&target.package.as_str());
    let threads = format!("--test-threads={}", if many { cores() * WAITING } else { cores() });
    let selected = target.selector();
    let mut words: Vec<&str> = ["test", "--quiet"].into_iter().chain(selected.iter().map(String::as_str)).collect();
    words.extend(["--", &threads, filter]);
    words.truncate(words.len() - usize::from(filter.is_empty()));
    let mut child = tester(&words).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let stdout = child.stdout.take().context("the output is a pipe")?;
    let mut said = String::new();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = String::from_utf8_lossy(&line.context("cannot read what cargo says")?).into_owned();
        say::line(format_args!("{line}"));
        said.push_str(&line);
        said.push('\n');
    }
    let status = child.wait().context("cannot wait for cargo")?;
    Ok(of_libtest(target, &said, status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::root;

    #[test]
    fn nextest_knows_the_same_waiting_crates() {
        let text = std::fs::read_to_string(root().join(".config/nextest.toml")).unwrap();
        let config: toml::Table = text.parse().unwrap();
        let overrides = config["profile"]["default"]["overrides"].as_array().unwrap();
        let computing = overrides.iter().find(|one| one["test-group"].as_str() == Some("computing")).unwrap();
        let waiting: Vec<String> = WAITING_CRATES.iter().map(|name| format!("package(={name})")).collect();
        assert_eq!(computing["filter"].as_str(), Some(format!("not ({})", waiting.join(" | ")).as_str()));
    }

    #[test]
    fn the_modules_that_nextest_is_told_of_are_there() {
        for module in ["pairflow/tests/it/panes", "pairflow/tests/it/real_agents"] {
            assert!(root().join("crates").join(module).join("mod.rs").is_file(), "{module}");
        }
        assert!(root().join("crates/pairflow-testkit/tests/it/real_clis.rs").is_file());
    }

    #[test]
    fn every_test_program_of_the_workspace_is_found() {
        let all: Vec<String> = targets().unwrap().iter().map(|target| target.selector().join(" ")).collect();
        for wanted in
            ["-p pairflow --test it", "-p pairflow --bin pairflow", "-p pairflow-core --lib", "-p xtask --bin xtask"]
        {
            assert!(all.iter().any(|one| one == wanted), "{wanted} in {all:?}");
        }
    }
}
