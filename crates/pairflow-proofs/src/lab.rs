//! `cargo xtask lab`: modelled agents under the real rules, beside what others would do with the same agents.
//!
//! A seed is a task. The figures are in lab/params.toml and lab/hard.toml; docs/convergence.md explains the model.

use std::time::Instant;

use anyhow::{Context, bail, ensure};
use pairflow_testkit::lab::{
    Drawn, Measured, Params, gates, measure, populations, render, render_gates, render_populations, render_sensitivity,
    sensitivity,
};

use crate::programs::number;
use crate::say;

/// How many tasks are tried without `--seeds`.
const SEEDS: u64 = 10_000;
/// A random population has so many times fewer tasks.
const POPULATION: u64 = 5;
/// A line of the sensitivity table has so many times fewer tasks.
const COARSER: u64 = 50;
/// The random populations that the promises are about.
const DRAWN: Drawn = Drawn { count: 40, sigma: 0.4, seed: 1 };

/// What the command line asks for.
struct Wanted {
    params: Option<Params>,
    seeds: u64,
    drawn: Option<Drawn>,
}

/// Without a population: measures the default and the hard one and random ones, and fails if a promise does not hold.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let wanted = options(arguments)?;
    let seeds = wanted.seeds;
    let began = Instant::now();
    let tasks = (seeds / POPULATION).max(1);
    match (wanted.params, wanted.drawn) {
        (params, Some(drawn)) => {
            let drawn = populations(&params.unwrap_or_default(), drawn, tasks);
            say::line(format_args!("{tasks} tasks a population\n\n{}", render_populations(&drawn)));
        }
        (Some(params), None) => say::line(format_args!("{}", render(&measure(&params, seeds)))),
        (None, None) => promises(seeds, tasks)?,
    }
    say::progress(format_args!("{:.1} s", began.elapsed().as_secs_f64()));
    Ok(())
}

fn promises(seeds: u64, tasks: u64) -> anyhow::Result<()> {
    let params = Params::default();
    let measured = Measured {
        default: measure(&params, seeds),
        hard: measure(&Params::hard(), seeds),
        hasty: measure(&params.with("patience", 0.0), seeds),
        populations: populations(&params, DRAWN, tasks),
    };
    say::line(format_args!("The default population, {seeds} tasks:\n\n{}", render(&measured.default)));
    say::line(format_args!("The hard population, {seeds} tasks:\n\n{}", render(&measured.hard)));
    say::line(format_args!(
        "{} random populations, {tasks} tasks each:\n\n{}",
        DRAWN.count,
        render_populations(&measured.populations)
    ));
    let coarse = (seeds / COARSER).max(1);
    let tried = sensitivity(&params, coarse);
    say::line(format_args!("Each figure at half and at one and a half, {coarse} tasks a line:\n"));
    say::line(format_args!("{}", render_sensitivity(&measured.default, &tried)));
    let gates = gates(&measured);
    say::line(format_args!("{}", render_gates(&gates)));
    let failed = gates.iter().filter(|gate| !gate.holds).count();
    ensure!(failed == 0, "{failed} of {} promises do not hold", gates.len());
    Ok(())
}

/// Reads the command line.
fn options(arguments: &[String]) -> anyhow::Result<Wanted> {
    let mut wanted = Wanted { params: None, seeds: SEEDS, drawn: None };
    for pair in arguments.chunks(2) {
        let drawn = || wanted.drawn.unwrap_or(DRAWN);
        match pair {
            [name, file] if name == "--params" => {
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
                let base = wanted.params.unwrap_or_default();
                wanted.params = Some(base.read(&text).with_context(|| format!("in {file}"))?);
            }
            [name, count] if name == "--seeds" => wanted.seeds = number(count)?,
            [name, count] if name == "--populations" => {
                wanted.drawn = Some(Drawn { count: number(count)?, ..drawn() });
            }
            [name, sigma] if name == "--sigma" => {
                let sigma = sigma.parse().with_context(|| format!("--sigma takes a number, not {sigma}"))?;
                wanted.drawn = Some(Drawn { sigma, ..drawn() });
            }
            [name, seed] if name == "--seed" => wanted.drawn = Some(Drawn { seed: number(seed)?, ..drawn() }),
            _ => bail!("usage: cargo xtask lab [--params FILE] [--seeds N] [--populations N --sigma S --seed K]"),
        }
    }
    ensure!(wanted.seeds > 0, "at least one seed is needed");
    Ok(wanted)
}
