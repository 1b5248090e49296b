//! The run: one share after the other until the time is up or everything is done.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::progress::Progress;
use crate::say;

/// Soaks for `--hours H`, or until the full sizes are reached; `--fresh` forgets what was done before.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (limit, fresh) = options(arguments)?;
    let mut progress = Progress::read(fresh)?;
    if !progress.rows.is_empty() {
        say::progress(format_args!("going on with what was done on {}; --fresh begins anew", progress.commit));
    }
    let began = Instant::now();
    let outcome = soak(&mut progress, || limit.is_none_or(|limit| began.elapsed() < limit));
    say::line(format_args!("{progress}"));
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    say::line(format_args!("{minutes:.1} minutes on {}; run it again to go on", progress.commit));
    outcome
}

fn soak(progress: &mut Progress, goes_on: impl Fn() -> bool) -> anyhow::Result<()> {
    while goes_on() {
        let Some(row) = progress.next() else { return Ok(()) };
        let first = progress.of(row).count;
        let count = row.share.min(row.full - first);
        say::progress(format_args!("{}: {first} of {}, {count} more", row.name, row.full));
        let began = Instant::now();
        let counts = (row.run)(first, count).with_context(|| format!("{} after {first}", row.name))?;
        progress.add(row, count, began.elapsed().as_secs_f64(), counts)?;
    }
    Ok(())
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
    fn parts_of_an_hour_are_understood_and_nonsense_is_not() {
        let read = |line: &str| options(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(read("--hours 0.2 --fresh").unwrap(), (Some(Duration::from_secs(720)), true));
        assert_eq!(read("").unwrap(), (None, false));
        for wrong in ["--hours", "--hours soon", "--hours -1", "panes"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
