//! P4 and P5b: looking at a bubble costs the same however long its log is, and little more after a crash.

use pairflow_core::log::{Body, Event, Warning};
use pairflow_engine::clock::{Clock, SystemClock};
use std::time::Duration;

use super::ask::Asked;
use super::sample::in_turns;
use super::setting::{Setting, lifetime};
use super::table::Row;

/// How many envelopes a short log has.
const FEW: u64 = 10;
/// How many envelopes a cache may be behind.
const BEHIND: u64 = 256;

/// Looks at a bubble with a long log and at one with a short log, in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
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
