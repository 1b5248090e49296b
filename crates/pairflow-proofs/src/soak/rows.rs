//! What a soak consists of: each row is done in shares of a few minutes at most, so that a short soak does a part of each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{anyhow, ensure};
use pairflow_core::bubble::BubbleState;
use pairflow_testkit::home::Home;
use pairflow_testkit::kill::swap;
use pairflow_testkit::kill::{
    Adoptions, Kills, Landing, Raced, Verb, WAYS, crowd, fail_everywhere, kill_adoptions, kill_at_random,
    kill_everywhere, kill_moves, race_processes, race_threads,
};
use pairflow_testkit::pair::{self, Killed, Pair};
use pairflow_testkit::store::{harm_caches, lose_power};
use pairflow_testkit::toys;

use crate::programs::{built, target};
use crate::sim;

/// What came of a share, by name.
pub(super) type Counts = BTreeMap<String, u64>;

/// One kind of proof.
pub(super) struct Row {
    /// What is counted.
    pub(super) name: &'static str,
    /// How many a release has to stand.
    pub(super) full: u64,
    /// How many are done in one go.
    pub(super) share: u64,
    /// Does `count` more, starting at number `first`.
    pub(super) run: fn(first: u64, count: u64) -> anyhow::Result<Counts>,
}

/// The first losses of power are those of every change; a soak has others.
const POWER_LOSSES: u64 = 2_000;

pub(super) const ROWS: &[Row] = &[
    Row { name: "simulated lives", full: 10_000_000, share: 5_000, run: lives },
    Row { name: "losses of power", full: 1_000_000, share: 20_000, run: power },
    Row { name: "harmed caches", full: 1_000_000, share: 20_000, run: caches },
    Row { name: "random kills", full: 1_000_000, share: 2_000, run: kills },
    Row { name: "kills at every operation", full: 1_000, share: 1, run: points },
    Row { name: "failures at every operation", full: 600, share: 1, run: failures },
    Row { name: "races of threads", full: 1_000_000, share: 5_000, run: races },
    Row { name: "races of processes", full: 100_000, share: 200, run: process_races },
    Row { name: "records of 64 writers", full: 1_000_000, share: 6_400, run: writers },
    Row { name: "files swapped during a check", full: 500, share: 50, run: swaps },
    Row { name: "bubbles of toys side by side", full: 500, share: 50, run: toys_together },
    Row { name: "stories of real agents", full: 200, share: 1, run: stories },
    Row { name: "real stories side by side", full: 100, share: 5, run: stories_together },
    Row { name: "notices to each real agent", full: 1_000, share: 20, run: notices },
    Row { name: "kills around real agents", full: 200, share: 5, run: agent_kills },
];

fn counts(all: &[(&str, u64)]) -> Counts {
    all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn lives(first: u64, count: u64) -> anyhow::Result<Counts> {
    // The first lives are those of every change; a soak lives others.
    let tally = sim::many(sim::GATE + first, count)?;
    Ok(counts(&["power losses", "processes killed"].map(|what| (what, tally.of(what)))))
}

fn power(first: u64, count: u64) -> anyhow::Result<Counts> {
    let first = POWER_LOSSES + first;
    lose_power::<BubbleState>(first..first + count);
    Ok(Counts::new())
}

fn caches(first: u64, count: u64) -> anyhow::Result<Counts> {
    harm_caches::<BubbleState>(first, count);
    Ok(Counts::new())
}

fn kills(first: u64, count: u64) -> anyhow::Result<Counts> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let wanted = Kills { total: count, seed: first, workers };
    let landed = kill_at_random(&built("pairflow")?, wanted).map_err(|why| anyhow!(why))?;
    let between = landed.at(Landing::BetweenWriteAndAck);
    ensure!(between * 10 >= count, "only {between} of {count} kills landed between the first write and the answer");
    Ok(counts(&[
        ("before the first write", landed.at(Landing::BeforeFirstWrite)),
        ("between write and answer", between),
        ("after the answer", landed.at(Landing::AfterAck)),
        ("torn tails", landed.torn),
    ]))
}

fn points(_: u64, _: u64) -> anyhow::Result<Counts> {
    let program = built("pairflow-faulty")?;
    let placed = kill_everywhere(&program, &Verb::ALL).map_err(|why| anyhow!(why))?;
    let Adoptions { operations, .. } = kill_adoptions(&program).map_err(|why| anyhow!(why))?;
    let moved = kill_moves(&program).map_err(|why| anyhow!(why))?;
    let kills = [placed.runs(), operations, moved.operations];
    ensure!(kills.iter().all(|count| *count > 0), "a verb, an adoption or a move has no operation: {kills:?}");
    Ok(counts(&[("kills", kills.iter().sum())]))
}

fn failures(first: u64, _: u64) -> anyhow::Result<Counts> {
    let way = WAYS[(first % WAYS.len() as u64) as usize];
    let failed = fail_everywhere(&built("pairflow-faulty")?, &Verb::ALL, &[way]).map_err(|why| anyhow!(why))?;
    ensure!(failed.runs() > 0, "no operation has failed");
    Ok(counts(&[("failures", failed.runs())]))
}

fn races(_: u64, count: u64) -> anyhow::Result<Counts> {
    raced(count, race_threads(count).map_err(|why| anyhow!(why))?)
}

fn process_races(_: u64, count: u64) -> anyhow::Result<Counts> {
    raced(count, race_processes(&built("pairflow")?, count).map_err(|why| anyhow!(why))?)
}

fn raced(count: u64, Raced { rounds, lost, refused }: Raced) -> anyhow::Result<Counts> {
    ensure!(rounds == count && lost + refused == rounds, "{rounds} rounds, {lost} lost, {refused} came late");
    Ok(counts(&[("lost the race", lost), ("came late", refused)]))
}

fn swaps(_: u64, count: u64) -> anyhow::Result<Counts> {
    let (wrong, tries) = swap(&Home::new(built("pairflow")?), count as usize);
    ensure!(wrong == 0 && tries as u64 >= count, "{wrong} receipts of {tries} swaps say that a broken tree passed");
    Ok(Counts::new())
}

fn writers(_: u64, count: u64) -> anyhow::Result<Counts> {
    let records = crowd(64, (count / 64) as usize).map_err(|why| anyhow!(why))?;
    ensure!(records as u64 >= count, "only {records} of {count} records are there");
    Ok(counts(&[("records", records as u64)]))
}

fn toys_together(_: u64, count: u64) -> anyhow::Result<Counts> {
    toys::live_together(&built("pairflow")?, count);
    Ok(Counts::new())
}

/// A home for the real agents, whose directories lie beside the build.
fn place() -> anyhow::Result<(PathBuf, PathBuf)> {
    Ok((built("pairflow")?, target()?.join("tmp")))
}

fn stories(first: u64, count: u64) -> anyhow::Result<Counts> {
    let (program, dir) = place()?;
    let pair = Pair::of_stories(&program, &dir);
    let ids: Vec<_> = (first..first + count).map(|number| format!("run-{number}")).collect();
    pair::live_in_turn(&pair, &ids);
    read_once(&pair, count)
}

fn stories_together(_: u64, count: u64) -> anyhow::Result<Counts> {
    let (program, dir) = place()?;
    let pair = Pair::of_stories(&program, &dir);
    // Each name begins with the one before it.
    let ids: Vec<_> = (1..=count).map(|times| "five".repeat(times as usize)).collect();
    pair::live_together(&pair, &ids);
    // One story comes before them, alone.
    read_once(&pair, count + 1)
}

fn read_once(pair: &Pair, stories: u64) -> anyhow::Result<Counts> {
    let begun = pair.minds().begun();
    ensure!(begun.len() as u64 == 6 * stories, "a story has six notices, and {stories} had {}", begun.len());
    let twice = begun.values().filter(|times| **times > 1).count();
    ensure!(twice == 0, "{twice} notices were read twice: {begun:?}");
    Ok(counts(&[("notices read once", begun.len() as u64)]))
}

fn notices(_: u64, count: u64) -> anyhow::Result<Counts> {
    let (program, dir) = place()?;
    let mut all = Counts::new();
    for (kind, told) in pair::tell(&Pair::of_questions(&program, &dir), count) {
        // The briefing is one more.
        ensure!(told.once == count + 1 && told.twice == 0, "a notice to {kind:?} was lost or read twice: {told:?}");
        all.insert(format!("read once by {kind:?}"), told.once);
        all.insert(format!("sent again to {kind:?}"), told.retries);
    }
    Ok(all)
}

fn agent_kills(first: u64, count: u64) -> anyhow::Result<Counts> {
    let (program, dir) = place()?;
    let killed = pair::survive(&Pair::of_stories(&program, &dir), count, first + 1);
    let Killed { servers, supervisors, stories, kept, handovers, promised, acknowledged, twice } = killed;
    ensure!(handovers == 5 * stories, "a hand-over was lost or is there twice: {killed:?}");
    let happened = [servers + supervisors, kept, promised, acknowledged];
    ensure!(happened.iter().all(|number| *number > 0), "the kills came at no work: {killed:?}");
    Ok(counts(&[
        ("tmux servers", servers),
        ("supervisors", supervisors),
        ("stories", stories),
        ("lines kept", kept),
        ("hand-overs once", handovers),
        ("messages kept", promised),
        ("notices acknowledged once", acknowledged),
        ("notices read twice", twice),
    ]))
}
