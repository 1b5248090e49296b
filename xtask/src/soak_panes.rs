//! `cargo xtask soak panes`: the real agent programs in panes at the sizes of a release: whole runs in a row, notices by
//! the thousand, kills by the hundred. Prints the table that `docs/interactive.md` keeps.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use pairflow_testkit::pair::{self, Killed, Pair};

use crate::proof::{INNER, built, number, run_optimised};
use crate::{say, tidy};

/// What a release has to stand: whole runs one after the other and at once, notices to each program, kills.
const FULL: Sizes = Sizes { runs: 20, together: 5, notices: 1_000, kills: 200 };

#[derive(Debug, Clone, Copy)]
struct Sizes {
    runs: u64,
    together: u64,
    notices: u64,
    kills: u64,
}

/// Soaks with the full sizes, or with `--runs N`, `--together N`, `--notices N`, `--kills N`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [INNER, rest @ ..] => soak(sizes(rest)?),
        rest => {
            sizes(rest)?;
            run_optimised("soak", &[&["panes".to_owned()], arguments].concat())
        }
    }
}

fn sizes(words: &[&str]) -> anyhow::Result<Sizes> {
    let mut sizes = FULL;
    for pair in words.chunks(2) {
        match pair {
            ["--runs", n] => sizes.runs = number(n)?,
            ["--together", n] => sizes.together = number(n)?,
            ["--notices", n] => sizes.notices = number(n)?,
            ["--kills", n] => sizes.kills = number(n)?,
            _ => bail!("usage: cargo xtask soak panes [--runs N] [--together N] [--notices N] [--kills N]"),
        }
    }
    Ok(sizes)
}

fn soak(sizes: Sizes) -> anyhow::Result<()> {
    let (program, dir) = (built("pairflow"), tidy::root().join("target/tmp"));
    say::line(format_args!("| what | how much | result | time |\n|---|---|---|---|"));
    let began = Instant::now();
    let stories = Pair::of_stories(&program, &dir);
    let ids: Vec<_> = (1..=sizes.runs).map(|number| format!("run-{number}")).collect();
    pair::live_in_turn(&stories, &ids);
    let twice = stories.minds().begun().values().filter(|times| **times > 1).count();
    row("whole runs", sizes.runs, &format!("all committed, {twice} notices read twice"), began.elapsed());
    ensure!(twice == 0, "a notice was read twice");
    let began = Instant::now();
    let ids: Vec<_> = (1..=sizes.together).map(|number| format!("beside-{number}")).collect();
    let beside = Pair::of_stories(&program, &dir);
    pair::live_together(&beside, &ids);
    let twice = beside.minds().begun().values().filter(|times| **times > 1).count();
    row("runs side by side", sizes.together, &format!("all committed, {twice} notices read twice"), began.elapsed());
    ensure!(twice == 0, "a notice was read twice");
    let began = Instant::now();
    let told = pair::tell(&Pair::of_questions(&program, &dir), sizes.notices);
    for (kind, told) in told {
        let result = format!("{} read once, {} twice, {} sent again", told.once, told.twice, told.retries);
        row(&format!("notices to {kind:?}"), told.notices, &result, began.elapsed());
        ensure!(told.once == sizes.notices + 1 && told.twice == 0, "a notice was lost or read twice");
    }
    let began = Instant::now();
    let killed = pair::survive(&Pair::of_stories(&program, &dir), sizes.kills, 7);
    let Killed { servers, supervisors, stories, kept, handovers, promised, acknowledged, twice } = killed;
    let result = format!(
        "{servers} tmux servers, {supervisors} supervisors; {stories} stories, {handovers} hand-overs, each once; \
         {kept} lines and {promised} messages that agents knew of, none lost; {acknowledged} notices acknowledged once, \
         {twice} read twice"
    );
    row("kills", killed.total(), &result, began.elapsed());
    Ok(())
}

fn row(what: &str, count: u64, result: &str, took: Duration) {
    say::line(format_args!("| {what} | {count} | {result} | {} s |", took.as_secs()));
}
