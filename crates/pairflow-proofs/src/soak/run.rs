//! The run: one share after the other until the time is up or everything is done.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::progress::Progress;
use super::rows::{Counts, Row};
use crate::say;

/// Soaks for `--hours H`, or until the full sizes are reached; `--fresh` forgets what was done before.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (limit, fresh) = options(arguments)?;
    let mut progress = Progress::read(fresh)?;
    if !progress.rows.is_empty() {
        say::progress(format_args!("continuing at {}; --fresh starts again from nothing", progress.commit));
    }
    let began = Instant::now();
    let outcome = soak(&mut progress, || limit.is_none_or(|limit| began.elapsed() < limit));
    if let Err(error) = &outcome {
        progress.fail(format!("{error:#}"))?;
    }
    say::line(format_args!("{progress}"));
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let end = match (&outcome, progress.next()) {
        (Err(_), _) => "failed",
        (Ok(()), Some(_)) => "the time is up; run it again to continue",
        (Ok(()), None) => "everything is done",
    };
    say::line(format_args!("{minutes:.1} minutes on {}: {end}", progress.commit));
    ensure!(progress.failed.is_empty(), "a proof has failed at this commit; --fresh starts again from nothing");
    outcome
}

fn soak(progress: &mut Progress, goes_on: impl Fn() -> bool) -> anyhow::Result<()> {
    while goes_on() {
        let Some(row) = progress.next() else { return Ok(()) };
        let first = progress.of(row).count;
        let count = row.share.min(row.full - first);
        say::progress(format_args!("{}: {first} of {}, {count} more", row.name, row.full));
        let began = Instant::now();
        let counts = share(row, first, count).with_context(|| format!("{} after {first}", row.name))?;
        progress.add(row, count, began.elapsed().as_secs_f64(), counts)?;
    }
    Ok(())
}

/// Does a share of a row. Some rows fail by panicking, as tests do.
fn share(row: &Row, first: u64, count: u64) -> anyhow::Result<Counts> {
    let done = std::panic::catch_unwind(|| (row.run)(first, count));
    // What it said has been printed already.
    done.unwrap_or_else(|_| bail!("it panicked, see above"))
}

fn options(arguments: &[String]) -> anyhow::Result<(Option<Duration>, bool)> {
    let (mut limit, mut fresh, mut words) = (None, false, arguments.iter().map(String::as_str));
    while let Some(word) = words.next() {
        match word {
            "--fresh" => fresh = true,
            "--hours" => limit = Some(hours(words.next().context("--hours needs a number, such as 0.5")?)?),
            _ => bail!("usage: cargo xtask soak [--hours H] [--fresh]"),
        }
    }
    Ok((limit, fresh))
}

fn hours(text: &str) -> anyhow::Result<Duration> {
    let hours: f64 = text.parse().with_context(|| format!("'{text}' is not a number of hours"))?;
    Duration::try_from_secs_f64(hours * 3600.0).with_context(|| format!("'{text}' is not a number of hours"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_panics_or_fails_fails_its_share() {
        let row = |run| Row { name: "x", full: 1, share: 1, run };
        let told = |row: Row| share(&row, 0, 1).map_err(|error| error.to_string());
        assert_eq!(told(row(|_, _| panic!("a promise is broken"))), Err("it panicked, see above".to_owned()));
        assert_eq!(told(row(|_, _| bail!("no disk"))), Err("no disk".to_owned()));
        assert_eq!(told(row(|_, _| Ok(Counts::new()))), Ok(Counts::new()));
    }

    #[test]
    fn parts_of_an_hour_are_understood_and_nonsense_is_not() {
        let read = |line: &str| options(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(read("--hours 0.2 --fresh").unwrap(), (Some(Duration::from_secs(720)), true));
        assert_eq!(read("").unwrap(), (None, false));
        for wrong in ["--hours", "--hours soon", "--hours -1", "panes"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
