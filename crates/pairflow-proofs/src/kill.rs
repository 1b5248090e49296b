//! `cargo xtask kill`: real processes of the real program, killed, failed and raced.
//!
//! The tests of pairflow-faulty do the same with every change: 500 kills at random, a kill at every operation on the
//! disk, and one kind of failure at each. Here are all kinds of failure, and any number of kills.

use std::time::Instant;

use anyhow::{anyhow, bail, ensure};
use pairflow_testkit::kill::{
    Adoptions, Kills, Landing, Raced, Verb, WAYS, crowd, fail_everywhere, kill_adoptions, kill_at_random,
    kill_everywhere, kill_moves, race_processes, race_threads,
};

use crate::programs::{built, number};
use crate::say;

/// How many processes are killed at random if nothing is said.
const KILLS: u64 = 10_000;
/// How many rounds two threads, and two processes, race.
const RACES: (u64, u64) = (20_000, 500);
/// How many writers share one bubble, and how many records each writes.
const CROWD: (usize, usize) = (64, 100);

/// A part of the proof that can be run alone.
type Part = (&'static str, fn(u64) -> anyhow::Result<()>);

const PARTS: &[Part] = &[("random", random), ("points", points), ("errors", errors), ("races", races)];

/// Runs all parts with `--kills N` random kills, or the one after `--only`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (only, kills) = match words.as_slice() {
        [] => (None, KILLS),
        ["--kills", kills] => (None, number(kills)?),
        ["--only", part] => (Some(*part), KILLS),
        ["--only", part, "--kills", kills] | ["--kills", kills, "--only", part] => (Some(*part), number(kills)?),
        _ => bail!("usage: cargo xtask kill [--only random|points|errors|races] [--kills N]"),
    };
    let wanted = PARTS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    ensure!(wanted.clone().count() > 0, "there is no such part; there are random, points, errors, races");
    for (name, part) in wanted {
        let began = Instant::now();
        part(kills)?;
        say::line(format_args!("  {name} in {:.1} s\n", began.elapsed().as_secs_f32()));
    }
    Ok(())
}

fn random(kills: u64) -> anyhow::Result<()> {
    let began = Instant::now();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let wanted = Kills { total: kills, seed: u64::from(std::process::id()), workers };
    let histogram = kill_at_random(&built("pairflow")?, wanted).map_err(|why| anyhow!(why))?;
    let rate = histogram.total() as f64 / began.elapsed().as_secs_f64();
    let seed = wanted.seed;
    say::line(format_args!("{} kills -9 at random ({rate:.0}/s, seed {seed})\n{histogram}", histogram.total()));
    let between = histogram.at(Landing::BetweenWriteAndAck);
    ensure!(between * 10 >= kills, "only {between} kills landed between the first write and the acknowledgement");
    Ok(())
}

fn points(_: u64) -> anyhow::Result<()> {
    let program = built("pairflow-faulty")?;
    let placed = kill_everywhere(&program, &Verb::ALL).map_err(|why| anyhow!(why))?;
    say::line(format_args!("a kill at every operation on the disk\n{placed}"));
    for (name, killed) in [("adopt", kill_adoptions(&program)), ("adopt, moved", kill_moves(&program))] {
        let Adoptions { operations, own } = killed.map_err(|why| anyhow!(why))?;
        say::line(format_args!("  {name:<20}{operations:>12}{operations:>10}{own:>22}"));
    }
    Ok(())
}

fn errors(_: u64) -> anyhow::Result<()> {
    let failed = fail_everywhere(&built("pairflow-faulty")?, &Verb::ALL, &WAYS).map_err(|why| anyhow!(why))?;
    say::line(format_args!("{} at every operation on the disk\n{failed}", WAYS.join(", ")));
    Ok(())
}

fn races(_: u64) -> anyhow::Result<()> {
    let threads = race_threads(RACES.0).map_err(|why| anyhow!(why))?;
    let processes = race_processes(&built("pairflow")?, RACES.1).map_err(|why| anyhow!(why))?;
    say::line(format_args!("races, each with exactly one winner"));
    for (who, Raced { rounds, lost, refused }) in [("two threads", threads), ("two processes", processes)] {
        say::line(format_args!("  {who:<16}{rounds:>8} rounds{lost:>8} lost the race{refused:>8} came late"));
    }
    let (writers, each) = CROWD;
    let records = crowd(writers, each).map_err(|why| anyhow!(why))?;
    say::line(format_args!("  {writers} writers x {each} on one bubble: {records} records, no gap, chain verified"));
    Ok(())
}
