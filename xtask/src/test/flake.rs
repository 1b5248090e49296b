//! `cargo xtask flake`: tests again and again beside busy processes, to find those that can lose a race.
//!
//! A test that fails here is a defect, of the product or of the test. Nothing is retried.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::runner::{Runner, print_failures};
use crate::say;

const USAGE: &str = "cargo xtask flake [--times N] [--load K] [FILTER]";

/// The command by which this program is started to keep a core busy.
pub(crate) const BUSY: &str = "busy";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    times: u32,
    load: u32,
    filter: String,
}

/// Runs the tests whose names contain the filter `--times N` times beside `--load K` busy processes.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let Asked { times, load, filter } = parse(arguments)?;
    let runner = Runner::present();
    runner.build()?;
    let _load = Load::start(load)?;
    let mut failed: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for time in 1..=times {
        let began = Instant::now();
        let failures = runner.run(&filter)?;
        let secs = began.elapsed().as_secs();
        say::line(format_args!(
            "run {time} of {times} beside {load} busy processes: {} failed, {secs} s",
            failures.len()
        ));
        for failure in failures {
            let runs = failed.entry(failure.again()).or_default();
            if runs.is_empty() {
                print_failures(&[failure]);
            }
            runs.push(time);
        }
    }
    for (again, runs) in &failed {
        let numbers: Vec<String> = runs.iter().map(u32::to_string).collect();
        say::line(format_args!("failed in {} of {times} runs ({}): {again}", runs.len(), numbers.join(", ")));
    }
    ensure!(failed.is_empty(), "{} test(s) failed in {times} runs", failed.len());
    say::line(format_args!("nothing failed in {times} run(s) beside {load} busy processes"));
    Ok(())
}

fn parse(arguments: &[String]) -> anyhow::Result<Asked> {
    let mut asked = Asked { times: 10, load: 4, filter: String::new() };
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut number = || -> anyhow::Result<u32> {
            let text = words.next().with_context(|| format!("{word} needs a number: {USAGE}"))?;
            text.parse().with_context(|| format!("'{text}' is not a number: {USAGE}"))
        };
        match word {
            "--times" => asked.times = number()?,
            "--load" => asked.load = number()?,
            _ if word.starts_with('-') || !asked.filter.is_empty() => bail!("usage: {USAGE}"),
            filter => asked.filter = filter.to_owned(),
        }
    }
    ensure!(asked.times > 0, "--times needs at least 1: {USAGE}");
    Ok(asked)
}

/// Processes that keep cores busy. Dropping them ends them.
struct Load(Vec<Child>);

impl Load {
    fn start(count: u32) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("this program does not know where it is")?;
        let busy = |_| Command::new(&own).arg(BUSY).stdin(Stdio::null()).spawn().context("cannot start a busy process");
        Ok(Self((0..count).map(busy).collect::<anyhow::Result<_>>()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // A process that has already ended cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Keeps a core busy for as long as the process that wanted it is there.
pub(crate) fn be_busy() -> ! {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        let until = Instant::now() + Duration::from_millis(100);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    }
    std::process::exit(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read_and_nonsense_is_refused() {
        let read = |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(read("").unwrap(), Asked { times: 10, load: 4, filter: String::new() });
        let some = read("--times 50 --load 6 panes::").unwrap();
        assert_eq!(some, Asked { times: 50, load: 6, filter: "panes::".to_owned() });
        for wrong in ["--times", "--times 0", "--times many", "--load -1", "--fast", "a b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn busy_processes_end_when_the_load_is_dropped() {
        let sleeping = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = sleeping.id();
        drop(Load(vec![sleeping]));
        let alive = std::path::Path::new("/proc").join(pid.to_string()).exists();
        assert!(!alive, "{pid} is still running");
    }
}
