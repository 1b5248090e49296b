//! P5: checking every byte of a long log, beside the least that anybody could do: read it, parse it, hash it.

use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::ensure;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::ask::Asked;
use super::sample::{in_turns, timed};
use super::setting::Setting;
use super::table::Row;

/// How often a long log is read.
const ROUNDS: usize = 15;

/// Verifies and reads in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("verify", asked.envelopes)?;
    let log = fixture.bubble.log();
    let path = log.files().transcript();
    let mut verify = || timed(|| Ok(log.verify()?));
    let mut read = || timed(|| read_and_hash(&path));
    let [verify, read] = in_turns(ROUNDS.min(asked.rounds), [&mut verify, &mut read])?;
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
