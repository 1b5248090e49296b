//! Harm to `state.json`: deleted, old, new, foreign or broken.

use std::path::Path;

use pairflow_core::log::{Envelope, Machine};
use pairflow_engine::store::{Log, LogFiles, Storage};

use super::samples::{NOW, Sample, agree, files, fold, goes_on, log_on, moment, prepared, some_events, transcript};
use crate::disk::{Rng, SimDisk};

/// Harms the cache, or log and cache, in so many ways; each time the log tells the same state.
///
/// # Panics
/// If it does not.
pub fn harm_caches<M: Sample>(seed: u64, cases: u64) {
    let history = history::<M>(8);
    let states: Vec<M> = history.envelopes.iter().map(|envelopes| fold::<M>(envelopes)).collect();
    let mut rng = Rng::new(seed);
    for case in 0..cases {
        let disk = history.disk.fork();
        let steps = history.harm(&disk, &mut rng);
        let expected = &history.envelopes[steps];
        let log = log_on::<M>(disk.clone());
        let loaded = log.refresh().unwrap();
        assert_eq!(loaded.state, states[steps], "seed {seed}, case {case}");
        assert_eq!(loaded.head.seq, expected.len() as u64, "seed {seed}, case {case}");
        if case % 20 == 0 {
            assert_eq!(agree(&log).unwrap(), *expected);
            goes_on(&log, expected);
        }
    }
}

/// A log with its cache after every step.
pub struct History<M: Machine> {
    /// The disk.
    pub disk: SimDisk,
    /// The records after every step.
    pub envelopes: Vec<Vec<Envelope<M::Body>>>,
    /// The caches.
    pub caches: Vec<Vec<u8>>,
    /// The logs.
    pub logs: Vec<Vec<u8>>,
    foreign: Vec<u8>,
}

/// Appends to a new log in so many steps.
///
/// # Panics
/// If the store does not do that.
pub fn history<M: Sample>(steps: usize) -> History<M> {
    let (disk, first) = prepared::<M>(0);
    let foreign_log = Log::<M>::new(
        std::sync::Arc::new(disk.clone()),
        LogFiles::of::<M>(Path::new("/repo/.pairflow"), &"other".parse().unwrap()),
        "other".parse().unwrap(),
    );
    drop(foreign_log.create(&[M::event("other")], moment(0)).unwrap());
    let foreign = disk.read(&foreign_log.files().state()).unwrap().unwrap();
    let mut history = History { disk, envelopes: vec![first], caches: vec![], logs: vec![], foreign };
    let mut rng = Rng::new(3);
    for step in 0..steps {
        history.keep();
        let events = some_events::<M>(&mut rng);
        let added = log_on::<M>(history.disk.clone()).lock(NOW).unwrap().append(&events, moment(step as u64)).unwrap();
        let all = [history.envelopes[step].as_slice(), &added].concat();
        history.envelopes.push(all);
    }
    history.keep();
    history
}

impl<M: Machine> History<M> {
    fn keep(&mut self) {
        self.caches.push(self.disk.read(&files::<M>().state()).unwrap().unwrap());
        self.logs.push(self.disk.read(&transcript::<M>()).unwrap().unwrap());
    }

    /// Does something to the cache, or to log and cache; returns how many steps the log has then.
    fn harm(&self, disk: &SimDisk, rng: &mut Rng) -> usize {
        let (state, last) = (files::<M>().state(), self.caches.len() - 1);
        let any = rng.below(last + 1);
        let mut own = self.caches[last].clone();
        match rng.below(9) {
            0 => disk.erase(&state),
            1 => disk.plant(&state, &self.caches[any]),
            2 => {
                // The log was put back from a copy, the cache was not.
                disk.plant(&transcript::<M>(), &self.logs[any]);
                return any;
            }
            3 => disk.plant(&state, &self.foreign),
            4 => disk.plant(&state, &own[..rng.below(own.len())]),
            5 => {
                let at = rng.below(own.len());
                own[at] ^= 1 << rng.below(8);
                disk.plant(&state, &own);
            }
            6 => disk.overwrite(&transcript::<M>(), &self.logs[last]),
            7 => {
                disk.erase(&state);
                disk.create_dir(&state).unwrap();
            }
            _ => disk.plant(&state, &vec![0; rng.below(600)]),
        }
        last
    }
}
