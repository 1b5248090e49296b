//! `state.json` can be deleted, old, new, foreign or broken at any moment: the log tells the same state.

use std::path::Path;

use pairflow_core::log::Envelope;
use pairflow_core::unit::Unit;
use pairflow_engine::store::{BubbleFiles, Log, Source, Storage, StoreError};
use pairflow_testkit::disk::{Rng, SimDisk};

use crate::support::store::{NOW, agree, files, fold, goes_on, log_on, moment, question, some_events, transcript};

const CASES: usize = 10_000;

/// A log with its cache after every step.
struct History {
    disk: SimDisk,
    envelopes: Vec<Vec<Envelope>>,
    caches: Vec<Vec<u8>>,
    logs: Vec<Vec<u8>>,
    foreign: Vec<u8>,
}

fn history(steps: usize) -> History {
    let (disk, first) = crate::support::store::prepared(0);
    let foreign_log = Log::new(
        std::sync::Arc::new(disk.clone()),
        BubbleFiles::new(Path::new("/repo/.pairflow"), &"other".parse().unwrap()),
        "other".parse().unwrap(),
    );
    drop(foreign_log.create(&[question("other")], moment(0)).unwrap());
    let foreign = disk.read(&foreign_log.files().state()).unwrap().unwrap();
    let mut history = History { disk, envelopes: vec![first], caches: vec![], logs: vec![], foreign };
    let mut rng = Rng::new(3);
    for step in 0..steps {
        history.keep();
        let events = some_events(&mut rng);
        let added = log_on(history.disk.clone()).lock(NOW).unwrap().append(&events, moment(step as u64)).unwrap();
        let all = [history.envelopes[step].as_slice(), &added].concat();
        history.envelopes.push(all);
    }
    history.keep();
    history
}

impl History {
    fn keep(&mut self) {
        self.caches.push(self.disk.read(&files().state()).unwrap().unwrap());
        self.logs.push(self.disk.read(&transcript()).unwrap().unwrap());
    }

    /// Does something to the cache, or to log and cache; returns how many steps the log has then.
    fn harm(&self, disk: &SimDisk, rng: &mut Rng) -> usize {
        let (state, last) = (files().state(), self.caches.len() - 1);
        let any = rng.below(last + 1);
        let mut own = self.caches[last].clone();
        match rng.below(9) {
            0 => disk.erase(&state),
            1 => disk.plant(&state, &self.caches[any]),
            2 => {
                // The log was put back from a copy, the cache was not.
                disk.plant(&transcript(), &self.logs[any]);
                return any;
            }
            3 => disk.plant(&state, &self.foreign),
            4 => disk.plant(&state, &own[..rng.below(own.len())]),
            5 => {
                let at = rng.below(own.len());
                own[at] ^= 1 << rng.below(8);
                disk.plant(&state, &own);
            }
            6 => disk.overwrite(&transcript(), &self.logs[last]),
            7 => {
                disk.erase(&state);
                disk.create_dir(&state).unwrap();
            }
            _ => disk.plant(&state, &vec![0; rng.below(600)]),
        }
        last
    }
}

#[test]
fn whatever_happens_to_the_cache_the_log_tells_the_same_state() {
    let history = history(8);
    let states: Vec<Unit> = history.envelopes.iter().map(|envelopes| fold(envelopes)).collect();
    let mut rng = Rng::new(18);
    for case in 0..CASES {
        let disk = history.disk.fork();
        let steps = history.harm(&disk, &mut rng);
        let expected = &history.envelopes[steps];
        let log = log_on(disk.clone());
        let loaded = log.refresh().unwrap();
        assert_eq!(loaded.unit, states[steps], "case {case}");
        assert_eq!(loaded.head.seq, expected.len() as u64, "case {case}");
        if case % 20 == 0 {
            assert_eq!(agree(&log).unwrap(), *expected);
            goes_on(&log, expected);
        }
    }
}

#[test]
fn a_cache_that_is_made_again_has_the_same_bytes() {
    let history = history(5);
    let log = log_on(history.disk.clone());
    history.disk.erase(&files().state());
    assert_eq!(log.refresh().unwrap().from, Source::Log);
    assert_eq!(history.disk.read(&files().state()).unwrap().as_ref(), history.caches.last());
}

#[test]
fn a_cache_of_the_same_file_that_knows_more_than_the_log_is_proof_of_loss() {
    let history = history(4);
    history.disk.overwrite(&transcript(), &history.logs[2]);
    assert!(matches!(log_on(history.disk.clone()).load(), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_load_writes_nothing_and_a_refresh_only_the_cache() {
    let history = history(3);
    history.disk.erase(&files().state());
    let log = log_on(history.disk.clone());
    log.load().unwrap();
    assert!(history.disk.stat(&files().state()).unwrap().is_none());
    let held = log.lock(NOW).unwrap();
    history.disk.erase(&files().state());
    assert_eq!(log.refresh().unwrap().from, Source::Log);
    assert!(history.disk.stat(&files().state()).unwrap().is_none(), "somebody else holds the lock");
    drop(held);
    log.refresh().unwrap();
    assert_eq!(log.load().unwrap().from, Source::Cache);
}

#[test]
fn the_cache_shows_the_fields_of_the_state() {
    let history = history(1);
    let json: serde_json::Value = serde_json::from_slice(history.caches.last().unwrap()).unwrap();
    for field in ["state", "active_agent", "active_since", "active_role", "round_role_history", "last_command_at"] {
        assert!(json.get(field).is_some(), "{field} in {json}");
    }
    assert_eq!(json["cache"]["seq"], history.envelopes.last().unwrap().len());
}
