//! `cargo xtask kill`: real processes of the real program, killed, failed and raced.
//!
//! The sizes are those of the reliability plan: 10,000 kills at random of which at least a tenth has to land between
//! the first write and the acknowledgement, a kill and six kinds of failure at every operation on the disk of every
//! verb, and races with exactly one winner.

use std::time::Instant;

use anyhow::{anyhow, bail, ensure};
use pairflow_testkit::kill::{
    Adoptions, Histogram, Kills, Landing, Placed, Raced, Verb, crowd, fail_everywhere, kill_adoptions, kill_at_random,
    kill_everywhere, kill_moves, race_processes, race_threads,
};

use crate::proof::{INNER, built, number, run_optimised};
use crate::say;

/// How many random kills every change has to survive.
pub(crate) const GATE: u64 = 10_000;
/// How an operation can fail.
const WAYS: [&str; 6] = ["ENOSPC", "EIO", "EDQUOT", "EINTR", "EMFILE", "short"];
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
    let Some((&INNER, rest)) = words.split_first() else {
        return run_optimised("kill", arguments);
    };
    let (only, kills) = match rest {
        [] => (None, GATE),
        ["--kills", kills] => (None, number(kills)?),
        ["--only", part] => (Some(*part), GATE),
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
    let seed = u64::from(std::process::id());
    let histogram = kill_many(kills, seed)?;
    let rate = histogram.total() as f64 / began.elapsed().as_secs_f64();
    say::line(format_args!("{} kills -9 at random ({rate:.0}/s, seed {seed})\n{histogram}", histogram.total()));
    let between = histogram.at(Landing::BetweenWriteAndAck);
    ensure!(between * 10 >= kills, "only {between} kills landed between the first write and the acknowledgement");
    Ok(())
}

/// Kills many processes at random.
pub(crate) fn kill_many(kills: u64, seed: u64) -> anyhow::Result<Histogram> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    kill_at_random(&built("pairflow"), Kills { total: kills, seed, workers }).map_err(|why| anyhow!(why))
}

fn points(_: u64) -> anyhow::Result<()> {
    say::line(format_args!("a kill at every operation on the disk\n{}", kill_all_points()?));
    let program = built("pairflow-faulty");
    for (name, killed) in [("adopt", kill_adoptions(&program)), ("adopt, moved", kill_moves(&program))] {
        let Adoptions { operations, own } = killed.map_err(|why| anyhow!(why))?;
        say::line(format_args!("  {name:<20}{operations:>12}{operations:>10}{own:>22}"));
    }
    Ok(())
}

/// Kills every verb at every operation.
pub(crate) fn kill_all_points() -> anyhow::Result<Placed> {
    kill_everywhere(&built("pairflow-faulty"), &Verb::ALL).map_err(|why| anyhow!(why))
}

fn errors(_: u64) -> anyhow::Result<()> {
    let failed = fail_everywhere(&built("pairflow-faulty"), &Verb::ALL, &WAYS).map_err(|why| anyhow!(why))?;
    say::line(format_args!("{} at every operation on the disk\n{failed}", WAYS.join(", ")));
    Ok(())
}

fn races(_: u64) -> anyhow::Result<()> {
    let threads = race_many(RACES.0)?;
    let processes = race_processes(&built("pairflow"), RACES.1).map_err(|why| anyhow!(why))?;
    say::line(format_args!("races, each with exactly one winner"));
    for (who, Raced { rounds, lost, refused }) in [("two threads", threads), ("two processes", processes)] {
        say::line(format_args!("  {who:<16}{rounds:>8} rounds{lost:>8} lost the race{refused:>8} came late"));
    }
    let (writers, each) = CROWD;
    let records = crowd(writers, each).map_err(|why| anyhow!(why))?;
    say::line(format_args!("  {writers} writers x {each} on one bubble: {records} records, no gap, chain verified"));
    Ok(())
}

/// Has two threads race many times.
pub(crate) fn race_many(rounds: u64) -> anyhow::Result<Raced> {
    race_threads(rounds).map_err(|why| anyhow!(why))
}
