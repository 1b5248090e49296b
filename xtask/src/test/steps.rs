//! The steps of the test command, in order, and the simulation beside them. The first failure ends the run: cheap steps come first, so that a missing
//! doc line is not found after minutes of tests. A table at the end says how long each took.

use std::time::Instant;

use anyhow::{Context, bail, ensure};

use super::runner::{Runner, print_failures};
use crate::proofs::Simulation;
use crate::{cargo, licences, say, tidy, tools};

/// One step of the run.
struct Step {
    name: &'static str,
    /// What it does, for `--list`.
    about: &'static str,
    /// Whether it waits for the internet and not for the machine.
    downloads: bool,
    run: fn() -> anyhow::Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "fetch", about: "crates, tmux, npm and strace", downloads: true, run: || tools::run(&[]) },
    Step { name: "fmt", about: "cargo fmt --all --check", downloads: false, run: format },
    Step { name: "tidy", about: "cargo xtask tidy", downloads: false, run: || tidy::run(&[]) },
    Step { name: "licences", about: "cargo xtask licences", downloads: false, run: || licences::run(&[]) },
    Step { name: "clippy", about: "cargo clippy, warnings are errors", downloads: false, run: || cargo::run(&CLIPPY) },
    Step { name: "build", about: "every test program", downloads: false, run: || Runner::present().build() },
    Step { name: "agents", about: "Claude Code and Codex, through npm", downloads: true, run: || test(AGENT_CLIS) },
    Step { name: "test", about: "every test", downloads: false, run: || test("") },
];

const CLIPPY: [&str; 7] = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// The test that installs the agent CLIs if they are not there.
const AGENT_CLIS: &str = "the_pinned_agent_clis_are_installed";

/// Runs all steps, or the one after `--only`; `--list` names them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => run_all(),
        ["--list"] => {
            STEPS.iter().for_each(|step| say::line(format_args!("{:<9} {}", step.name, step.about)));
            Ok(())
        }
        ["--only", name] => run_step(find(name)?),
        _ => bail!("usage: cargo xtask test [--only STEP | --list]"),
    }
}

fn find(name: &str) -> anyhow::Result<&'static Step> {
    let step = STEPS.iter().find(|step| step.name == name);
    step.with_context(|| format!("there is no step `{name}`; `cargo xtask test --list` names them"))
}

/// Runs all steps. The simulation runs beside them, in the processor time that builds and waiting tests leave.
fn run_all() -> anyhow::Result<()> {
    let mut table = Table { rows: built_before().into_iter().collect() };
    let outcome = (|| {
        table.time("fetch", true, || run_step(&STEPS[0]))?;
        let simulation = Simulation::start()?;
        STEPS[1..].iter().try_for_each(|step| table.time(step.name, step.downloads, || run_step(step)))?;
        say::line(format_args!("==> sim: 5,000 simulated lives, begun after fetch"));
        table.time("waiting for sim", false, || simulation.finish())
    })();
    say::line(format_args!("\n{table}"));
    outcome
}

fn run_step(step: &Step) -> anyhow::Result<()> {
    say::line(format_args!("==> {}: {}", step.name, step.about));
    (step.run)()
        .with_context(|| format!("step `{}` failed; repeat it with: cargo xtask test --only {}", step.name, step.name))
}

/// How long a step took.
struct Taken {
    name: &'static str,
    secs: f64,
    downloads: bool,
}

struct Table {
    rows: Vec<Taken>,
}

impl Table {
    /// Does something and notes how long it took.
    fn time<T>(&mut self, name: &'static str, downloads: bool, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.rows.push(Taken { name, secs: began.elapsed().as_secs_f64(), downloads });
        done
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:<22}{:>9}", "step", "seconds")?;
        for Taken { name, secs, downloads } in &self.rows {
            writeln!(f, "{name:<22}{secs:>9.1}{}", if *downloads { "  download" } else { "" })?;
        }
        let sum =
            |wanted: fn(&Taken) -> bool| self.rows.iter().filter(|row| wanted(row)).map(|row| row.secs).sum::<f64>();
        writeln!(f, "{:<22}{:>9.1}", "all", sum(|_| true))?;
        write!(f, "{:<22}{:>9.1}", "without downloads", sum(|row| !row.downloads))
    }
}

/// How long cargo took to build this program: `cargo run` becomes the program that it has built.
fn built_before() -> Option<Taken> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    // The name in parentheses may hold blanks; after it, the start is the twentieth field, in hundredths of a second.
    let start: f64 = read("/proc/self/stat")?.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let uptime: f64 = read("/proc/uptime")?.split_whitespace().next()?.parse().ok()?;
    Some(Taken { name: "xtask, its crates", secs: uptime - start / 100.0, downloads: false })
}

/// Checks the form of every file. cargo does not see the modules of policies, which a macro declares.
fn format() -> anyhow::Result<()> {
    let mut words = vec!["fmt".to_owned(), "--all".to_owned(), "--check".to_owned(), "--".to_owned()];
    let policies = tidy::root().join("crates/pairflow-core/src/policy/policies");
    for entry in std::fs::read_dir(&policies).with_context(|| format!("cannot list {}", policies.display()))? {
        words.push(entry.context("cannot list the policies")?.path().display().to_string());
    }
    cargo::run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn test(filter: &str) -> anyhow::Result<()> {
    let failed = Runner::present().run(filter)?;
    print_failures(&failed);
    ensure!(failed.is_empty(), "{} test(s) failed", failed.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_distinct_names_and_each_can_be_run_alone() {
        for step in STEPS {
            assert_eq!(STEPS.iter().filter(|other| other.name == step.name).count(), 1, "{}", step.name);
            assert_eq!(find(step.name).unwrap().about, step.about);
        }
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_way_to_the_list() {
        let error = run(&["--only".into(), "lint".into()]).unwrap_err().to_string();
        assert_eq!(error, "there is no step `lint`; `cargo xtask test --list` names them");
    }

    #[test]
    fn a_failing_step_is_named_with_the_command_that_repeats_it() {
        let step = Step { name: "broken", about: "", downloads: false, run: || bail!("the pipe leaks") };
        let error = format!("{:#}", run_step(&step).unwrap_err());
        assert_eq!(error, "step `broken` failed; repeat it with: cargo xtask test --only broken: the pipe leaks");
    }

    #[test]
    fn what_is_downloaded_comes_before_the_simulation_is_built() {
        assert_eq!((STEPS[0].name, STEPS[0].downloads), ("fetch", true));
    }

    #[test]
    fn downloads_are_timed_apart() {
        let row = |name, secs, downloads| Taken { name, secs, downloads };
        let table = Table { rows: vec![row("fetch", 2.0, true), row("tidy", 0.5, false)] };
        let lines: Vec<String> =
            table.to_string().lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines, ["step seconds", "fetch 2.0 download", "tidy 0.5", "all 2.5", "without downloads 0.5"]);
    }
}
