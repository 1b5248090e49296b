//! P2 and P2d: one durable hand-over, from the start of its process to its end, and how often it waits for the disk.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use pairflow_core::bubble::PassCommand;
use pairflow_engine::engine::Engine;
use pairflow_engine::perform::head_seen;
use pairflow_testkit::fixture::Fixture;

use super::ask::Asked;
use super::counting::Counting;
use super::life::Again;
use super::sample::{Times, in_turns, timed};
use super::setting::{Setting, lifetime};
use super::table::{Outcome, Row};

/// How many envelopes a bubble has that has been at work for a while.
const WARM: u64 = 100;
/// As long as the line of a hand-over.
const LINE: [u8; 400] = [b'x'; 400];
/// How often a hand-over may wait for the disk.
const SYNCS: f64 = 1.0;

/// Executor over, starts an empty program, and appends a line with a sync, in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let again = Again::new(setting.fixture("pass", WARM)?)?;
    let dir = again.fixture.worktree.as_path();
    let file = beside(&again.transcript())?;
    let mut pass = || {
        let took = lifetime(&mut again.pass(setting))?;
        again.put_back()?;
        Ok(took)
    };
    let mut empty = || lifetime(&mut setting.nothing(dir));
    let mut append = || appended(&file);
    let [pass, empty, append] = in_turns(asked.rounds, [&mut pass, &mut empty, &mut append])?;
    let result = Outcome::Ratio {
        measured: [pass.p50(), pass.min()],
        against: [sum(&empty, &append, Times::p50), sum(&empty, &append, Times::min)],
    };
    let against = "empty main + append and fdatasync";
    Ok(vec![Row { id: "P2", what: "pass".to_owned(), against, result, goal: 1.6 }])
}

/// Counts the syncs of one hand-over: as the kernel sees them, or else as the disk of the engine does.
pub(super) fn count_syncs(setting: &Setting, _: &Asked) -> anyhow::Result<Vec<Row>> {
    let again = Again::new(setting.fixture("syncs", WARM)?)?;
    let traced = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    let (what, syncs) = if traced {
        ("syncs of one pass", traced_syncs(setting, &again)?)
    } else {
        ("syncs of one pass (counted by the engine, there is no strace)", engine_syncs(&again.fixture)?)
    };
    ensure!(syncs > 0, "the hand-over was not synced at all");
    Ok(vec![Row { id: "P2d", what: what.to_owned(), against: "", result: Outcome::Count(syncs), goal: SYNCS }])
}

fn traced_syncs(setting: &Setting, again: &Again) -> anyhow::Result<u32> {
    let trace = setting.path("syncs.trace");
    let pass = again.pass(setting);
    let mut strace = setting.start(Path::new("strace"), &again.fixture.worktree, &[]);
    strace.args(["-f", "-q", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs", "-o"]).arg(&trace);
    strace.arg(pass.get_program()).args(pass.get_args());
    strace.envs(pass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    lifetime(&mut strace)?;
    let text = std::fs::read_to_string(&trace).context("strace left no trace")?;
    Ok(u32::try_from(text.lines().filter(|line| line.contains("sync")).count())?)
}

fn engine_syncs(fixture: &Fixture) -> anyhow::Result<u32> {
    let disk = Counting::default();
    let engine = Engine { disk: Arc::new(disk.clone()), ..fixture.bubble.engine.clone() };
    let head = head_seen(&fixture.bubble, &fixture.state)?;
    let pass = PassCommand::new(fixture.agent.clone(), "moved the retry into one place", head);
    engine.bubble(&fixture.repo, &fixture.bubble.id)?.apply(&pairflow_core::bubble::Command::Pass(pass))?;
    Ok(disk.syncs())
}

/// A file in the directory of the log, so that both are written on the same disk.
fn beside(transcript: &Path) -> anyhow::Result<File> {
    let path = transcript.with_file_name("plain-append");
    Ok(OpenOptions::new().create(true).append(true).open(path)?)
}

fn appended(mut file: &File) -> anyhow::Result<Duration> {
    timed(|| {
        file.write_all(&LINE)?;
        Ok(file.sync_data()?)
    })
}

fn sum(one: &Times, other: &Times, of: fn(&Times) -> Duration) -> Duration {
    of(one) + of(other)
}

#[cfg(test)]
mod tests {
    use pairflow_engine::clock::{Clock, SystemClock};
    use pairflow_testkit::fixture::{Wanted, make};

    use super::*;

    #[test]
    fn one_hand_over_waits_for_the_disk_once() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = Wanted {
            dir: &dir.path().join("repo"),
            envelopes: 20,
            files: 1,
            now: SystemClock.now(),
            state: &dir.path().join("state"),
        };
        assert_eq!(engine_syncs(&make(wanted).unwrap()).unwrap(), 1);
    }
}
