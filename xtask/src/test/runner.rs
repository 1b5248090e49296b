//! How tests are run: with cargo-nextest where it is installed, else with `cargo test`, program after program.
//!
//! Tests that mostly wait (for panes, agents, supervisors) run six to a core, those that compute one to a core. Nextest
//! has the same from .config/nextest.toml, and runs those that compute beside those that wait.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

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

/// How many of its last lines are shown of a test that failed.
const LINES: usize = 20;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) package: String,
    /// How `cargo test` calls it: `--lib`, `--bin NAME` or `--test NAME`.
    which: String,
}

impl Target {
    /// Describes a target by its kind and name in `cargo metadata`.
    pub(crate) fn new(package: &str, kind: &str, name: &str) -> Self {
        let which = match kind {
            "bin" => format!("--bin {name}"),
            "test" => format!("--test {name}"),
            _ => "--lib".to_owned(),
        };
        Self { package: package.to_owned(), which }
    }

    /// Reads nextest's name of a program: `pairflow-core`, `pairflow::it` or `xtask::bin/xtask`.
    fn of_binary_id(id: &str) -> Self {
        match id.split_once("::") {
            None => Self::new(id, "lib", id),
            Some((package, rest)) => match rest.split_once('/') {
                Some((kind, name)) => Self::new(package, kind, name),
                None => Self::new(package, "test", rest),
            },
        }
    }

    /// Returns the words by which `cargo test` is told of it.
    pub(crate) fn selector(&self) -> Vec<String> {
        ["-p", &self.package].into_iter().chain(self.which.split(' ')).map(str::to_owned).collect()
    }
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) target: Target,
    /// The name; nothing if the whole program ended without saying which.
    pub(crate) test: Option<String>,
    /// What it said.
    pub(crate) output: String,
}

impl Failure {
    /// Returns the command that repeats it alone.
    pub(crate) fn again(&self) -> String {
        let selector = self.target.selector().join(" ");
        match &self.test {
            Some(test) => format!("cargo test {selector} -- --exact {test}"),
            None => format!("cargo test {selector}"),
        }
    }

    /// Returns its last lines.
    pub(crate) fn last_lines(&self) -> Vec<&str> {
        let lines: Vec<&str> = self.output.trim().lines().collect();
        lines[lines.len().saturating_sub(LINES)..].to_vec()
    }
}

/// What came of running tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Results {
    /// How many ran.
    pub(crate) ran: usize,
    /// Those that failed.
    pub(crate) failed: Vec<Failure>,
}

impl Results {
    /// Adds up two runs.
    pub(crate) fn and(mut self, mut other: Self) -> Self {
        self.failed.append(&mut other.failed);
        Self { ran: self.ran + other.ran, ..self }
    }
}

/// Prints each failure.
pub(crate) fn print_failures(failed: &[Failure]) {
    for failure in failed {
        let name = failure.test.as_deref().unwrap_or("(the whole program)");
        say::line(format_args!("\nFAILED  {}  {name}", failure.target.package));
        failure.last_lines().iter().for_each(|line| say::line(format_args!("  | {line}")));
        say::line(format_args!("  repeat it: {}", failure.again()));
    }
}

/// Reads the report of nextest.
pub(crate) fn of_junit(text: &str) -> anyhow::Result<Results> {
    // Two characters that XML forbids and nextest lets through.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    let document = roxmltree::Document::parse(&text).context("the report of nextest is not XML")?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let ran = cases.clone().count();
    let failed =
        cases.filter(|case| case.children().any(|child| child.has_tag_name("failure") || child.has_tag_name("error")));
    let said = |case: roxmltree::Node<'_, '_>, name: &str| {
        let found = case.children().find(|child| child.has_tag_name(name));
        found.and_then(|child| child.text()).unwrap_or_default().trim().to_owned()
    };
    let read = |case: roxmltree::Node<'_, '_>| {
        let id = case.attribute("classname").context("a test case names its program")?;
        let how = case.children().find(|child| child.has_tag_name("failure")).and_then(|child| child.attribute("type"));
        let output = [said(case, "system-out"), said(case, "system-err"), how.unwrap_or("error").to_owned()].join("\n");
        let test = case.attribute("name").map(str::to_owned);
        Ok(Failure { target: Target::of_binary_id(id), test, output })
    };
    Ok(Results { ran, failed: failed.map(read).collect::<anyhow::Result<_>>()? })
}

/// Reads what the test program of `cargo test` printed. One that ended in the middle has said nothing of its tests.
pub(crate) fn of_libtest(target: &Target, text: &str, success: bool) -> Results {
    // `test result: ok. 3 passed; 0 failed; …`
    let counts = text.lines().filter_map(|line| line.strip_prefix("test result: "));
    let number = |part: &str| part.split_whitespace().rev().nth(1)?.parse::<usize>().ok();
    let ran = counts.flat_map(|line| line.split(';').take(2).filter_map(number)).sum();
    // A test that ends the program with exit code 0 leaves the others out, and the last line.
    let begun = text.lines().filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<usize>().ok());
    let whole = begun.sum::<usize>() == ran && text.contains("\ntest result: ok.");
    Results { ran, failed: if success && whole { Vec::new() } else { failures_of_libtest(target, text) } }
}

fn failures_of_libtest(target: &Target, text: &str) -> Vec<Failure> {
    let failure = |test: Option<&str>, output: &str| Failure {
        target: target.clone(),
        test: test.map(str::to_owned),
        output: output.trim().to_owned(),
    };
    // Each section begins with `---- NAME stdout ----`; the list of names ends the last one.
    let (sections, names) = text.rsplit_once("\nfailures:\n").unwrap_or((text, ""));
    let names: Vec<&str> = names.lines().take_while(|line| line.starts_with("    ")).map(str::trim).collect();
    let said = |name: &str| {
        let after = sections.split_once(&format!("\n---- {name} stdout ----\n")).map_or("", |(_, after)| after);
        after.split("\n---- ").next().unwrap_or_default()
    };
    if names.is_empty() {
        return vec![failure(None, text)];
    }
    names.into_iter().map(|name| failure(Some(name), said(name))).collect()
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

    #[test]
    fn a_report_of_nextest_is_read() {
        let text = r#"<testsuites><testsuite name="pairflow::it">
            <testcase name="a::good" classname="pairflow::it"/>
            <testcase name="a::bad" classname="pairflow::it"><failure type="test failure with exit code 101">x</failure>
              <system-out>running 1 test</system-out><system-err>boom &amp; &lt;b&gt;</system-err></testcase>
            <testcase name="slow" classname="pairflow-core"><failure type="test timeout"/></testcase>
            <testcase name="c" classname="xtask::bin/xtask"><failure type="test abort"/></testcase>
            </testsuite></testsuites>"#;
        let Results { ran, failed } = of_junit(text).unwrap();
        assert_eq!(ran, 4);
        let again: Vec<String> = failed.iter().map(Failure::again).collect();
        assert_eq!(
            again,
            [
                "cargo test -p pairflow --test it -- --exact a::bad",
                "cargo test -p pairflow-core --lib -- --exact slow",
                "cargo test -p xtask --bin xtask -- --exact c"
            ]
        );
        assert_eq!(failed[0].last_lines(), ["running 1 test", "boom & <b>", "test failure with exit code 101"]);
        assert_eq!(failed[1].last_lines(), ["test timeout"]);
        assert!(of_junit("<testsuites").is_err());
        assert_eq!(of_junit("<testsuites>\u{fffe}</testsuites>").unwrap().ran, 0, "a character that XML forbids");
    }

    #[test]
    fn what_cargo_test_prints_is_read() {
        let target = Target::new("pairflow", "test", "it");
        let text = "\nrunning 3 tests\n..FF\nfailures:\n\n---- a::bad stdout ----\nfirst\nboom\n\n---- b stdout ----\n\nbang\n\n\
                    \nfailures:\n    a::bad\n    b\n\ntest result: FAILED. 1 passed; 2 failed\n\n";
        let Results { ran, failed } = of_libtest(&target, text, false);
        assert_eq!(ran, 3);
        let read: Vec<_> = failed.iter().map(|one| (one.test.as_deref(), one.last_lines())).collect();
        assert_eq!(read, [(Some("a::bad"), vec!["first", "boom"]), (Some("b"), vec!["bang"])]);
    }

    #[test]
    fn a_program_that_died_is_a_failure_without_a_name() {
        let target = Target::new("pairflow-core", "lib", "pairflow_core");
        let failed = of_libtest(&target, "\nrunning 3 tests\n.", false).failed;
        assert_eq!((failed.len(), failed[0].test.clone()), (1, None));
        assert_eq!(failed[0].again(), "cargo test -p pairflow-core --lib");
    }

    #[test]
    fn a_filter_that_fits_no_test_has_run_none() {
        let target = Target::new("a", "lib", "a");
        let text = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out\n";
        assert_eq!(of_libtest(&target, text, true), Results::default());
        assert_eq!(of_junit("<testsuites/>").unwrap(), Results::default());
    }

    #[test]
    fn a_program_that_ends_well_before_its_tests_do_has_failed() {
        let target = Target::new("a", "lib", "a");
        assert_eq!(of_libtest(&target, "\nrunning 4 tests\n.", true).failed.len(), 1);
        let text = "\nrunning 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n";
        assert_eq!(of_libtest(&target, text, true), Results { ran: 2, failed: Vec::new() });
    }

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let output: String = (1..=50).map(|number| format!("{number}\n")).collect();
        let failure = Failure { target: Target::new("a", "lib", "a"), test: None, output };
        assert_eq!((failure.last_lines()[0], failure.last_lines().len()), ("31", LINES));
    }
}
