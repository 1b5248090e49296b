//! `cargo xtask soak`: the proofs at the sizes of a release, for hours.
//!
//! Everything is done in turns, so that a soak that is ended early has done a fair share of each.

use std::time::{Duration, Instant};

use anyhow::bail;
use pairflow_testkit::kill::{Histogram, Landing};
use pairflow_testkit::sim::Tally;

use crate::proof::{INNER, number, run_optimised};
use crate::{kill, say, sim, soak_panes};

/// What a release has to stand: lives, kills, rounds of races.
const FULL: Done = Done { seeds: 10_000_000, kills: 1_000_000, races: 1_000_000, points: 1_000 };
/// What is done in one turn.
const TURN: Done = Done { seeds: 20_000, kills: 5_000, races: 5_000, points: 1 };

/// How much of each was done, or is to be.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    seeds: u64,
    kills: u64,
    races: u64,
    points: u64,
}

/// Soaks for `--hours H`, or until the full sizes are reached.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["panes", ..] => soak_panes::run(&arguments[1..]),
        [INNER, "panes", ..] => soak_panes::run(&[&arguments[..1], &arguments[2..]].concat()),
        [INNER] => soak(None),
        [INNER, "--hours", hours] => soak(Some(Duration::from_secs(number(hours)? * 3600))),
        [INNER, "--minutes", minutes] => soak(Some(Duration::from_secs(number(minutes)? * 60))),
        [] | ["--hours" | "--minutes", _] => run_optimised("soak", arguments),
        _ => bail!("usage: cargo xtask soak [--hours H | --minutes M | panes]"),
    }
}

fn soak(limit: Option<Duration>) -> anyhow::Result<()> {
    let began = Instant::now();
    let (mut done, mut tally, mut histogram) = (Done::default(), Tally::default(), Histogram::default());
    let goes_on = |done: &Done| done.seeds < FULL.seeds || done.kills < FULL.kills || done.races < FULL.races;
    while goes_on(&done) && limit.is_none_or(|limit| began.elapsed() < limit) {
        if done.seeds < FULL.seeds {
            // The first lives are those of every change; a soak lives others.
            tally.add(&sim::many(sim::GATE + done.seeds, TURN.seeds)?);
            done.seeds += TURN.seeds;
        }
        if done.kills < FULL.kills {
            histogram.add(&kill::kill_many(TURN.kills, done.kills + began.elapsed().as_secs())?);
            done.kills = histogram.total();
        }
        if done.races < FULL.races {
            done.races += kill::race_many(TURN.races)?.rounds;
        }
        done.points += kill::kill_all_points().map(|_| TURN.points)?;
        say::line(format_args!("{}", row(&done, began)));
    }
    say::line(format_args!("{tally}{histogram}"));
    say::line(format_args!("  between write and ack: {}", histogram.at(Landing::BetweenWriteAndAck)));
    say::line(format_args!("{}", row(&done, began)));
    Ok(())
}

fn row(done: &Done, began: Instant) -> String {
    let Done { seeds, kills, races, points } = done;
    let hours = began.elapsed().as_secs_f64() / 3600.0;
    format!(
        "{hours:.2} h: {seeds} of {} lives, {kills} of {} kills, {races} of {} races, {points} times every operation",
        FULL.seeds, FULL.kills, FULL.races
    )
}
