//! `cargo xtask soak`: the proofs at the sizes of a release, for hours or until the full sizes are reached.
//!
//! Each row is done in shares of a few minutes at most, so that a short soak does a part of each. What was done is kept in
//! a file beside the build, so that the next soak of the same commit continues there.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use pairflow_core::bubble::BubbleState;
use pairflow_testkit::home::Home;
use pairflow_testkit::kill::{
    Adoptions, Kills, Landing, Raced, Verb, WAYS, crowd, fail_everywhere, kill_adoptions, kill_at_random,
    kill_everywhere, kill_moves, race_processes, race_threads, swap,
};
use pairflow_testkit::pair::{Killed, Pair};
use pairflow_testkit::store::{harm_caches, lose_power};
use pairflow_testkit::{pair, toys};
use serde::{Deserialize, Serialize};

use crate::programs::{built, target};
use crate::{say, sim};

/// Soaks for `--hours H`, or until the full sizes are reached; `--fresh` forgets what was done before.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (limit, fresh) = options(arguments)?;
    let mut progress = Progress::read(fresh)?;
    if !progress.rows.is_empty() {
        say::progress(format_args!("continuing at {}; --fresh starts again from nothing", progress.commit));
    }
    let began = Instant::now();
    let outcome = soak(&mut progress, || limit.is_none_or(|limit| began.elapsed() < limit));
    if let Err(error) = &outcome {
        progress.fail(format!("{error:#}"))?;
    }
    say::line(format_args!("{progress}"));
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let end = match (&outcome, progress.next()) {
        (Err(_), _) => "failed",
        (Ok(()), Some(_)) => "the time is up; run it again to continue",
        (Ok(()), None) => "everything is done",
    };
    say::line(format_args!("{minutes:.1} minutes on {}: {end}", progress.commit));
    ensure!(progress.failed.is_empty(), "a proof has failed at this commit; --fresh starts again from nothing");
    outcome
}

fn soak(progress: &mut Progress, goes_on: impl Fn() -> bool) -> anyhow::Result<()> {
    while goes_on() {
        let Some(row) = progress.next() else { return Ok(()) };
        let first = progress.of(row).count;
        let count = row.share.min(row.full - first);
        say::progress(format_args!("{}: {first} of {}, {count} more", row.name, row.full));
        let began = Instant::now();
        let counts = share(row, first, count).with_context(|| format!("{} after {first}", row.name))?;
        progress.add(row, count, began.elapsed().as_secs_f64(), counts)?;
    }
    Ok(())
}

/// Does a share of a row. Some rows fail by panicking, as tests do.
fn share(row: &Row, first: u64, count: u64) -> anyhow::Result<Counts> {
    let done = std::panic::catch_unwind(|| (row.run)(first, count));
    // What it said has been printed already.
    done.unwrap_or_else(|_| bail!("it panicked, see above"))
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

/// What came of a share, by name.
type Counts = BTreeMap<String, u64>;

/// One kind of proof.
struct Row {
    /// What is counted.
    name: &'static str,
    /// How many a release has to stand.
    full: u64,
    /// How many are done in one go.
    share: u64,
    /// Does `count` more, starting at number `first`.
    run: fn(first: u64, count: u64) -> anyhow::Result<Counts>,
}

/// The first losses of power are those of every change; a soak has others.
const POWER_LOSSES: u64 = 2_000;

const ROWS: &[Row] = &[
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
    let begun = pair.model_script().begun();
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

/// How `git describe` marks a tree with changes.
const DIRTY: &str = "-dirty";

/// What was done of one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Done {
    /// How many.
    count: u64,
    /// How long that took.
    secs: f64,
    /// What came of it.
    counts: Counts,
}

/// What was done of all rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Progress {
    /// The commit that it was done with.
    commit: String,
    /// By the name of the row.
    rows: BTreeMap<String, Done>,
    /// What failed. It is not forgotten by doing the same share again.
    #[serde(default)]
    failed: Vec<String>,
    #[serde(skip)]
    file: PathBuf,
}

impl Progress {
    /// Reads what was done at the present commit, or starts from nothing. A tree with changes has no commit, so what was
    /// done with it is never continued.
    fn read(fresh: bool) -> anyhow::Result<Self> {
        let kept = target()?.join("soak.json");
        Self::at(kept, present_commit()?, fresh)
    }

    fn at(file: PathBuf, commit: String, fresh: bool) -> anyhow::Result<Self> {
        let again = || "`cargo xtask soak --fresh` starts again from nothing";
        let kept = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            _ if fresh => None,
            read => {
                let text = read.with_context(|| format!("cannot read {}; {}", file.display(), again()))?;
                let kept: Self = serde_json::from_str(&text)
                    .with_context(|| format!("{} is not the progress of a soak; {}", file.display(), again()))?;
                Some(kept)
            }
        };
        let other = kept.as_ref().filter(|kept| kept.commit != commit || commit.ends_with(DIRTY));
        if let Some(kept) = other {
            say::progress(format_args!("{} was done at {}: starting from nothing", file.display(), kept.commit));
        }
        Ok(match kept.filter(|kept| kept.commit == commit && !commit.ends_with(DIRTY)) {
            Some(kept) => Self { file, ..kept },
            None => Self { file, commit, ..Self::default() },
        })
    }

    /// Returns what was done of a row.
    fn of(&self, row: &Row) -> Done {
        self.rows.get(row.name).cloned().unwrap_or_default()
    }

    /// Adds a share, and writes it down.
    fn add(&mut self, row: &Row, count: u64, secs: f64, counts: Counts) -> anyhow::Result<()> {
        let done = self.rows.entry(row.name.to_owned()).or_default();
        done.count += count;
        done.secs += secs;
        for (name, more) in counts {
            *done.counts.entry(name).or_default() += more;
        }
        self.write()
    }

    /// Keeps a failure.
    fn fail(&mut self, what: String) -> anyhow::Result<()> {
        self.failed.push(what);
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("progress is plain data")?;
        replace(&self.file, &text).with_context(|| format!("cannot write {}", self.file.display()))
    }

    /// Returns the row that has had the least time, among those that are not done.
    fn next(&self) -> Option<&'static Row> {
        let open = ROWS.iter().filter(|row| self.of(row).count < row.full);
        open.min_by(|one, other| self.of(one).secs.total_cmp(&self.of(other).secs))
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | done | of | time | result |\n|---|---|---|---|---|")?;
        for row in ROWS {
            let Done { count, secs, counts } = self.of(row);
            let result: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
            writeln!(f, "| {} | {count} | {} | {secs:.0} s | {} |", row.name, row.full, result.join(", "))?;
        }
        self.failed.iter().try_for_each(|what| writeln!(f, "FAILED: {what}"))
    }
}

fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let beside = file.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, file)
}

/// The commit that is checked out, with a mark if files differ from it.
fn present_commit() -> anyhow::Result<String> {
    let words = ["describe", "--always", "--abbrev=40", "--dirty"];
    let output = Command::new("git").args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.context("cannot start git")?;
    anyhow::ensure!(output.status.success(), "git {} failed", words.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_panics_or_fails_fails_its_share() {
        let row = |run| Row { name: "x", full: 1, share: 1, run };
        let told = |row: Row| share(&row, 0, 1).map_err(|error| error.to_string());
        assert_eq!(told(row(|_, _| panic!("a promise is broken"))), Err("it panicked, see above".to_owned()));
        assert_eq!(told(row(|_, _| bail!("no disk"))), Err("no disk".to_owned()));
        assert_eq!(told(row(|_, _| Ok(Counts::new()))), Ok(Counts::new()));
    }

    #[test]
    fn parts_of_an_hour_are_understood_and_nonsense_is_not() {
        let read = |line: &str| options(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(read("--hours 0.2 --fresh").unwrap(), (Some(Duration::from_secs(720)), true));
        assert_eq!(read("").unwrap(), (None, false));
        for wrong in ["--hours", "--hours soon", "--hours -1", "panes"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_row_with_the_least_time_is_next_and_a_row_that_is_done_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut progress = Progress { file: dir.path().join("soak.json"), ..Progress::default() };
        assert_eq!(progress.next().map(|row| row.name), Some(ROWS[0].name));
        progress.add(&ROWS[0], 1, 9.0, Counts::new()).unwrap();
        assert_eq!(progress.next().map(|row| row.name), Some(ROWS[1].name));
        for row in &ROWS[1..] {
            progress.add(row, row.full, 1.0, Counts::new()).unwrap();
        }
        assert_eq!(progress.next().map(|row| row.name), Some(ROWS[0].name));
        progress.add(&ROWS[0], ROWS[0].full, 1.0, Counts::new()).unwrap();
        assert!(progress.next().is_none());
    }

    #[test]
    fn progress_is_continued_at_its_own_commit_only_and_never_lost_in_silence() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("soak.json");
        let read = |commit: &str, fresh| Progress::at(file.clone(), commit.to_owned(), fresh);
        read("one", false).unwrap().add(&ROWS[0], 7, 1.0, Counts::new()).unwrap();
        let done = |commit: &str, fresh| read(commit, fresh).unwrap().of(&ROWS[0]).count;
        assert_eq!([done("one", false), done("one", true), done("two", false)], [7, 0, 0]);
        read("one", false).unwrap().fail("a race had two winners".to_owned()).unwrap();
        assert_eq!(read("one", false).unwrap().failed, ["a race had two winners"]);
        read("one-dirty", false).unwrap().add(&ROWS[0], 7, 1.0, Counts::new()).unwrap();
        assert_eq!(done("one-dirty", false), 0, "another change may have been there");
        std::fs::write(&file, "{").unwrap();
        assert!(read("one", false).unwrap_err().to_string().contains("--fresh"));
        assert_eq!(done("one", true), 0);
    }

    #[test]
    fn shares_are_added_up_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut progress = Progress { file: dir.path().join("soak.json"), ..Progress::default() };
        let won = |count| Counts::from([("won".to_owned(), count)]);
        progress.add(&ROWS[0], 2, 0.5, won(3)).unwrap();
        progress.add(&ROWS[0], 1, 0.5, won(4)).unwrap();
        let kept: Progress = serde_json::from_slice(&std::fs::read(&progress.file).unwrap()).unwrap();
        assert_eq!(kept.of(&ROWS[0]), Done { count: 3, secs: 1.0, counts: won(7) });
        assert!(progress.to_string().contains("| simulated lives | 3 | 10000000 | 1 s | 7 won |"), "{progress}");
    }
}
