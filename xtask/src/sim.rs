//! `cargo xtask sim`: whole lives of bubbles in a world that is not real, with crashes anywhere.
//!
//! A seed is a life. The sizes are those of the reliability plan: 20,000 lives for every change, more behind `soak`.

use std::time::Instant;

use anyhow::{Context, bail};
use pairflow_testkit::sim::{Seeds, Tally, live, run as run_seeds};

use crate::say;

/// How many lives every change has to pass.
pub(crate) const GATE: u64 = 20_000;
/// How many commands a life has at most.
pub(crate) const STEPS: u32 = 100;

/// Lives `--seeds N` lives, beginning with `--first S`; or the one life of `--seed S`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().with_context(|| format!("'{text}' is not a number"));
    match words.as_slice() {
        [] => many(0, GATE),
        ["--seeds", count] => many(0, number(count)?),
        ["--seeds", count, "--first", first] => many(number(first)?, number(count)?),
        ["--seed", seed] => one(number(seed)?),
        _ => bail!("usage: cargo xtask sim [--seeds N [--first S] | --seed S]"),
    }
}

/// Lives many lives and prints what happened in them.
pub(crate) fn many(first: u64, count: u64) -> anyhow::Result<()> {
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let tally = run_seeds(Seeds { first, count, steps: STEPS, threads })?;
    let secs = began.elapsed().as_secs_f64();
    print(&tally);
    say::line(format_args!(
        "  {:.0} seeds/s on {threads} threads, seeds {first}..{}, {secs:.1} s",
        count as f64 / secs,
        first + count
    ));
    Ok(())
}

fn one(seed: u64) -> anyhow::Result<()> {
    let tally = live(seed, STEPS).map_err(|why| anyhow::anyhow!("seed {seed}: {why}"))?;
    print(&tally);
    Ok(())
}

fn print(tally: &Tally) {
    say::line(format_args!("{}", tally.to_string().trim_end()));
}
