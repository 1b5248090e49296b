//! P1, P4 and P5: starting the product, beside an empty program and beside Node with nothing to do; the status of a bubble
//! with a short and a long log, and after a crash; and checking every byte of a long log, beside reading, parsing and
//! hashing it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use pairflow_core::log::{Body, Event, Warning};
use pairflow_engine::clock::{Clock, SystemClock};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::measure::{Asked, Outcome, Row, Setting, in_turns, lifetime, timed};

const NODE: &str = "node -e 0";
/// A fortieth of what Node needs to start.
const NODE_SHARE: f64 = 1.0 / 40.0;

/// Starts the product, an empty program and Node in turns.
pub(super) fn measure_startup(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("startup", 10)?;
    let dir = fixture.repo.as_path();
    let mut version = || lifetime(&mut setting.pairflow(dir, &["--version"]));
    let mut status = || lifetime(&mut setting.pairflow(dir, &["status", "fixture"]));
    let mut empty = || lifetime(&mut setting.nothing(dir));
    let [version_took, status_took, empty_took] = in_turns(asked.rounds, [&mut version, &mut status, &mut empty])?;
    let main = "empty main";
    let mut rows = vec![
        Row::ratio("P1", "--version", main, (&version_took, &empty_took), 1.5),
        Row::ratio("P1", "status", main, (&status_took, &empty_took), 2.0),
    ];
    if asked.wants("P1b") {
        rows.push(beside_node(setting, asked, dir)?);
    }
    Ok(rows)
}

fn beside_node(setting: &Setting, asked: &Asked, dir: &Path) -> anyhow::Result<Row> {
    let what = "--version";
    let node = || setting.start(Path::new("node"), dir, &["-e", "0"]);
    if lifetime(&mut node()).is_err() {
        let result = Outcome::NotMeasured("node is not installed".to_owned());
        return Ok(Row { id: "P1b", what: what.to_owned(), against: NODE, result, goal: NODE_SHARE });
    }
    let mut version = || lifetime(&mut setting.pairflow(dir, &[what]));
    let mut node = || lifetime(&mut node());
    let [version_took, node_took] = in_turns(asked.fewer(10), [&mut version, &mut node])?;
    Ok(Row::ratio("P1b", what, NODE, (&version_took, &node_took), NODE_SHARE))
}

/// How many envelopes a short log has.
const FEW: u64 = 10;
/// How many envelopes a cache may be behind.
const BEHIND: u64 = 256;

/// Looks at a bubble with a long log and at one with a short log, in turns.
pub(super) fn measure_status(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let (long, short) = (setting.fixture("long", asked.envelopes)?, setting.fixture("short", FEW)?);
    let bytes = long.bubble.load()?.head.offset;
    let mut on_long = || lifetime(&mut setting.pairflow(&long.repo, &["status", "fixture"]));
    let mut on_short = || lifetime(&mut setting.pairflow(&short.repo, &["status", "fixture"]));
    let [on_long, on_short] = in_turns(asked.rounds, [&mut on_long, &mut on_short])?;
    let what = format!("status, {} MB, {} envelopes", bytes / 1_000_000, asked.envelopes);
    Ok(vec![Row::ratio("P4", what, "10 envelopes", (&on_long, &on_short), 1.2)])
}

/// Looks at a bubble whose cache is behind its log, as after a crash, and at the same one when it is not.
pub(super) fn measure_recovery(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("recovery", 1000)?;
    let state = fixture.bubble.log().files().state();
    let old = std::fs::read(&state)?;
    let mut log = fixture.bubble.log().lock(Duration::from_secs(1))?;
    for number in 0..BEHIND {
        let warning = Warning { command: "pass".to_owned(), reason: format!("attempt {number}"), unmet: Vec::new() };
        log.append(&[Event::own(1, Body::ProtocolWarning(warning))], SystemClock.now())?;
    }
    drop(log);
    let look = || lifetime(&mut setting.pairflow(&fixture.repo, &["status", "fixture"]));
    let mut after_crash = || {
        std::fs::write(&state, &old)?;
        look()
    };
    let mut usual = || look();
    let [after_crash, usual] = in_turns(asked.rounds, [&mut after_crash, &mut usual])?;
    let what = format!("status, {BEHIND} envelopes behind");
    Ok(vec![Row::ratio("P5b", what, "status", (&after_crash, &usual), 2.0)])
}

/// How often a long log is read.
const VERIFY_ROUNDS: usize = 15;

/// Verifies and reads in turns.
pub(super) fn measure_verify(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("verify", asked.envelopes)?;
    let log = fixture.bubble.log();
    let path = log.files().transcript();
    let mut verify = || timed(|| Ok(log.verify()?));
    let mut read = || timed(|| read_and_hash(&path));
    let [verify, read] = in_turns(VERIFY_ROUNDS.min(asked.rounds), [&mut verify, &mut read])?;
    let bytes = std::fs::metadata(&path)?.len();
    let what = format!("verify of {} MB", bytes / 1_000_000);
    Ok(vec![Row::ratio("P5", what, "read, borrowed parse, SHA-256 chain", (&verify, &read), 1.3)])
}

/// A line, with everything left where it is.
#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is not used; that it is read is what takes time")]
struct Line<'a> {
    seq: u64,
    id: &'a str,
    ts: &'a str,
    bubble_id: &'a str,
    sender: &'a str,
    recipient: &'a str,
    r#type: &'a str,
    round: u32,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(borrow)]
    refs: &'a RawValue,
    prev: &'a str,
    crc: &'a str,
}

fn read_and_hash(path: &Path) -> anyhow::Result<[u8; 32]> {
    let mut reader = BufReader::with_capacity(256 << 10, std::fs::File::open(path)?);
    let (mut line, mut count, mut chain) = (Vec::new(), 0, [0; 32]);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let parsed: Line<'_> = serde_json::from_slice(&line)?;
        count += 1;
        ensure!(parsed.seq == count, "line {count} says that it is line {}", parsed.seq);
        chain = Sha256::new().chain_update(chain).chain_update(&line).finalize().into();
        line.clear();
    }
    Ok(chain)
}
