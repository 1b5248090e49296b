//! `cargo xtask lab`: modelled agents in front of the real rules, beside what others would do with the same agents.
//!
//! A seed is a task. The figures stand in lab/params.toml; docs/convergence.md explains the model and the table.

use std::time::Instant;

use anyhow::{Context, bail, ensure};
use pairflow_testkit::lab::{Params, gates, measure, render, render_gates, render_sensitivity, sensitivity};

use crate::programs::number;
use crate::say;

/// How many tasks are tried if nothing is said.
const SEEDS: u64 = 10_000;
/// The sensitivity table has so many times fewer tasks a line.
const COARSER: u64 = 50;

/// Measures with `--seeds N` tasks and the figures of `--params FILE`; fails if a promise does not hold.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (params, seeds) = options(arguments)?;
    let began = Instant::now();
    let lab = measure(&params, seeds);
    let secs = began.elapsed().as_secs_f64();
    let gates = gates(&lab);
    say::line(format_args!("{}", render(&lab)));
    say::line(format_args!("{}", render_gates(&gates)));
    let coarse = (seeds / COARSER).max(1);
    let tried = sensitivity(&params, coarse);
    say::line(format_args!("Each figure at half and at one and a half, {coarse} tasks a line:\n"));
    say::line(format_args!("{}", render_sensitivity(&lab, &tried)));
    say::progress(format_args!("{seeds} seeds in {secs:.1} s, all in {:.1} s", began.elapsed().as_secs_f64()));
    let failed = gates.iter().filter(|gate| !gate.holds).count();
    ensure!(failed == 0, "{failed} of {} promises do not hold", gates.len());
    Ok(())
}

/// Reads the command line.
fn options(arguments: &[String]) -> anyhow::Result<(Params, u64)> {
    let (mut params, mut seeds) = (Params::default(), SEEDS);
    for pair in arguments.chunks(2) {
        match pair {
            [name, file] if name == "--params" => {
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
                params = params.read(&text).with_context(|| format!("in {file}"))?;
            }
            [name, count] if name == "--seeds" => seeds = number(count)?,
            _ => bail!("usage: cargo xtask lab [--params FILE] [--seeds N]"),
        }
    }
    ensure!(seeds > 0, "at least one seed is needed");
    Ok((params, seeds))
}
