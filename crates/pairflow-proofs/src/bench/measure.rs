//! What a row is made of: what was asked for, the programs and a directory on the disk that logs really lie on, times taken
//! in turns, and the table that is printed. Whatever else the machine does affects all times of a turn alike.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_testkit::fixture::{Fixture, Wanted, make};

use crate::programs::{built, target};
use crate::say;

/// The times of one thing, sorted.
#[derive(Debug, Clone)]
pub(super) struct Times(Vec<Duration>);

/// Something that is timed: it does what is not to be counted, and returns what is.
pub(super) type Timed<'a> = &'a mut dyn FnMut() -> anyhow::Result<Duration>;

impl Times {
    /// The time that half of the attempts stayed below.
    pub(super) fn p50(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    /// The shortest time.
    pub(super) fn min(&self) -> Duration {
        self.0[0]
    }
}

/// Runs all things `rounds` times in turns, each round in the other direction, and returns the times of each.
pub(super) fn in_turns<const N: usize>(rounds: usize, things: [Timed<'_>; N]) -> anyhow::Result<[Times; N]> {
    let mut things = things;
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    // The first attempts fill caches and are not typical.
    for thing in &mut things {
        thing()?;
    }
    for round in 0..rounds.max(1) {
        for n in 0..N {
            let at = if round % 2 == 0 { n } else { N - 1 - n };
            times[at].push(things[at]()?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        Times(times)
    }))
}

/// Returns how long `work` takes.
pub(super) fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let result = work()?;
    let took = began.elapsed();
    drop(result);
    Ok(took)
}

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

    /// Returns a program that is to be started in `dir`, with an environment of its own and its output discarded.
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

const USAGE: &str = "cargo xtask bench [--rows P1,P4] [--rounds N]";
/// How often a process is started for one row.
const ROUNDS: usize = 300;
/// How many envelopes 100 MB of log have.
const ENVELOPES: u64 = 192_000;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    rows: Vec<String>,
    /// How often a short thing is timed.
    pub(super) rounds: usize,
    /// How long the long log is.
    pub(super) envelopes: u64,
}

impl Asked {
    /// Reads the command line.
    pub(super) fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut asked = Self { rows: Vec::new(), rounds: ROUNDS, envelopes: ENVELOPES };
        let mut rest = args.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("{flag} needs a value: {USAGE}"));
            match flag.as_str() {
                "--rows" => asked.rows = value()?.split(',').map(|row| row.trim().to_owned()).collect(),
                "--rounds" => asked.rounds = value()?.parse().with_context(|| format!("--rounds: {USAGE}"))?,
                "--envelopes" => asked.envelopes = value()?.parse().with_context(|| format!("--envelopes: {USAGE}"))?,
                other => bail!("there is no option {other}: {USAGE}"),
            }
        }
        Ok(asked)
    }

    /// Whether the row called `id` is wanted.
    pub(super) fn wants(&self, id: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| row.eq_ignore_ascii_case(id))
    }

    /// Refuses unknown rows.
    pub(super) fn check(&self, known: &[&str]) -> anyhow::Result<()> {
        let stranger = self.rows.iter().find(|row| !known.iter().any(|id| row.eq_ignore_ascii_case(id)));
        match stranger {
            Some(row) => bail!("there is no row {row}; there are {}", known.join(", ")),
            None => Ok(()),
        }
    }

    /// How often something is timed that takes some milliseconds longer.
    pub(super) fn fewer(&self, by: usize) -> usize {
        (self.rounds / by).max(5)
    }
}

/// How far over its goal a row may be.
const SLACK: f64 = 1.25;
/// How many rows may miss.
pub(super) const MISSES_ALLOWED: usize = 2;

/// One row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its name in the list of goals.
    pub(super) id: &'static str,
    /// What was measured.
    pub(super) what: String,
    /// What it was compared with.
    pub(super) against: &'static str,
    /// What came of it.
    pub(super) result: Outcome,
    /// The most that the ratio or the number is meant to be.
    pub(super) goal: f64,
}

/// What came of a row.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// Two times, each with its shortest: what was measured, and what it is compared with.
    Ratio { measured: [Duration; 2], against: [Duration; 2] },
    /// A number that is what it is.
    Count(u32),
    /// Nothing, and why.
    NotMeasured(String),
}

impl Row {
    /// A row that compares two times.
    pub(super) fn ratio(
        id: &'static str,
        what: impl Into<String>,
        against: &'static str,
        times: (&Times, &Times),
        goal: f64,
    ) -> Self {
        let pair = |times: &Times| [times.p50(), times.min()];
        let result = Outcome::Ratio { measured: pair(times.0), against: pair(times.1) };
        Self { id, what: what.into(), against, result, goal }
    }

    /// Whether the row is further from its goal than it may be.
    pub(super) fn misses(&self) -> bool {
        match &self.result {
            Outcome::Ratio { measured, against } => over(measured[0], against[0]) > self.goal * SLACK,
            Outcome::Count(count) => f64::from(*count) > self.goal,
            Outcome::NotMeasured(_) => true,
        }
    }

    fn cells(&self) -> [String; 7] {
        let goal = shown(self.goal);
        let limit = shown(self.goal * SLACK);
        let (measured, against, ratio, limit) = match &self.result {
            Outcome::Ratio { measured, against } => {
                let ratio =
                    format!("{} ({})", shown(over(measured[0], against[0])), shown(over(measured[1], against[1])));
                (times(measured), times(against), ratio, limit)
            }
            Outcome::Count(count) => (count.to_string(), String::new(), String::new(), goal.clone()),
            Outcome::NotMeasured(why) => (format!("not measured: {why}"), String::new(), String::new(), limit),
        };
        let verdict = if self.misses() { "MISS" } else { "ok" };
        let what =
            if self.against.is_empty() { self.what.clone() } else { format!("{} / {}", self.what, self.against) };
        [what, measured, against, ratio, goal, limit, verdict.to_owned()]
    }
}

/// Prints all rows, with the shortest times in brackets.
pub(super) fn print(rows: &[Row]) {
    let head = ["what / compared with", "measured", "compared with", "ratio", "goal", "limit", ""].map(str::to_owned);
    let cells: Vec<_> = rows.iter().map(|row| (row.id, row.cells())).collect();
    let all = || std::iter::once(("row", &head)).chain(cells.iter().map(|(id, cells)| (*id, cells)));
    let widths: [usize; 7] =
        std::array::from_fn(|n| all().map(|(_, cells)| cells[n].chars().count()).max().unwrap_or(0));
    for (id, cells) in all() {
        let padded: Vec<_> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        say::line(format_args!("{}", format!("{id:<4} {}", padded.join("  ")).trim_end()));
    }
}

fn over(measured: Duration, against: Duration) -> f64 {
    measured.as_secs_f64() / against.as_secs_f64().max(1e-9)
}

fn times(pair: &[Duration; 2]) -> String {
    format!("{} ({})", time(pair[0]), time(pair[1]))
}

fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 1000.0 { format!("{micros:.0} us") } else { format!("{:.2} ms", micros / 1000.0) }
}

fn shown(ratio: f64) -> String {
    if ratio < 0.1 { format!("1/{:.0}", 1.0 / ratio) } else { format!("{ratio:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_runs_in_turns_and_the_first_attempt_does_not_count() {
        let order = std::cell::RefCell::new(String::new());
        let mut first = || {
            order.borrow_mut().push('a');
            Ok(Duration::from_millis(order.borrow().len() as u64))
        };
        let mut second = || {
            order.borrow_mut().push('b');
            Ok(Duration::from_millis(7))
        };
        let [a, b] = in_turns(3, [&mut first, &mut second]).unwrap();
        assert_eq!(*order.borrow(), "ababbaab");
        assert_eq!((a.min().as_millis(), a.p50().as_millis(), b.p50().as_millis()), (3, 6, 7));
    }

    fn parsed(line: &str) -> Asked {
        Asked::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn all_rows_are_wanted_unless_some_are_named() {
        assert!(parsed("").wants("P1") && parsed("").wants("P12"));
        let some = parsed("--rows p1,P4 --rounds 20");
        assert!(some.wants("P1") && some.wants("P4") && !some.wants("P12"));
        assert_eq!((some.rounds, some.fewer(10)), (20, 5));
    }

    #[test]
    fn an_unknown_row_is_named() {
        let error = parsed("--rows P1,P99").check(&["P1", "P2"]).unwrap_err();
        assert_eq!(error.to_string(), "there is no row P99; there are P1, P2");
    }

    fn row(measured: u64, against: u64, goal: f64) -> Row {
        let twice = |millis| [Duration::from_millis(millis); 2];
        let result = Outcome::Ratio { measured: twice(measured), against: twice(against) };
        Row { id: "P0", what: "a".to_owned(), against: "b", result, goal }
    }

    #[test]
    fn a_row_misses_beyond_a_quarter_over_its_goal() {
        assert!(!row(150, 100, 1.2).misses());
        assert!(row(151, 100, 1.2).misses());
        assert!(!row(1, 40, 1.0 / 40.0).misses());
    }

    #[test]
    fn a_count_has_no_slack_and_what_was_not_measured_is_a_miss() {
        let count = |n| Row { result: Outcome::Count(n), ..row(1, 1, 1.0) };
        assert!(!count(1).misses() && count(2).misses());
        assert!(Row { result: Outcome::NotMeasured("no tool".to_owned()), ..row(1, 1, 1.0) }.misses());
    }

    #[test]
    fn small_ratios_are_shown_as_fractions() {
        assert_eq!([shown(1.0 / 40.0), shown(1.5)], ["1/40", "1.50"]);
    }
}
