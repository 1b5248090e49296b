//! `cargo xtask sim`: whole lives of bubbles in a world that is not real, with crashes anywhere.
//!
//! A seed is a life. Every change lives the first 5,000; a soak lives others.

use std::sync::Once;
use std::time::Instant;

use anyhow::{anyhow, bail};
use pairflow_testkit::sim::{Seeds, Tally, live, present_seed, run as run_seeds};

use crate::programs::number;
use crate::say;

/// How many lives every change has to pass.
pub(crate) const GATE: u64 = 5_000;
/// How many commands a life has at most.
const STEPS: u32 = 80;

/// Has a panic in a simulated life name its seed.
static TELL_SEED: Once = Once::new();

/// Lives `--seeds N` lives, beginning with `--first S`; or the one life of `--seed S`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => gate(0, GATE),
        ["--seeds", count] => gate(0, number(count)?),
        ["--seeds", count, "--first", first] => gate(number(first)?, number(count)?),
        ["--seed", seed] => one(number(seed)?),
        _ => bail!("usage: cargo xtask sim [--seeds N [--first S] | --seed S]"),
    }
}

/// Lives many lives and prints what happened in them.
fn gate(first: u64, count: u64) -> anyhow::Result<()> {
    let began = Instant::now();
    let tally = many(first, count)?;
    let secs = began.elapsed().as_secs_f64();
    print(&tally);
    say::line(format_args!("  seeds {first}..{} in {secs:.1} s: {:.0} seeds/s", first + count, count as f64 / secs));
    Ok(())
}

/// Lives many lives.
pub(crate) fn many(first: u64, count: u64) -> anyhow::Result<Tally> {
    TELL_SEED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            if let Some(seed) = present_seed() {
                say::error(format_args!("repeat it with: cargo xtask sim --seed {seed}"));
            }
        }));
    });
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    Ok(run_seeds(Seeds { first, count, steps: STEPS, threads })?)
}

fn one(seed: u64) -> anyhow::Result<()> {
    print(&live(seed, STEPS).map_err(|why| anyhow!("seed {seed}: {why}"))?);
    Ok(())
}

fn print(tally: &Tally) {
    say::line(format_args!("{}", tally.to_string().trim_end()));
}
