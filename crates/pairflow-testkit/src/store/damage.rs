//! Damage to a store: losses of power at any moment of an append, and a `state.json` that is gone, old, foreign or broken.

use std::path::Path;
use std::sync::Arc;

use pairflow_core::log::{Envelope, Machine};
use pairflow_engine::store::{Log, LogFiles, Storage};

use super::samples::{NOW, Sample, agree, files, fold, goes_on, log_on, moment, prepared, some_events, transcript};
use crate::disk::{Fault, FaultyDisk, Rng, SimDisk};

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

/// Loses the power once or twice in each of these lives of a log; nothing that was acknowledged is lost.
///
/// # Panics
/// If anything is, with the seed of that life.
pub fn lose_power<M: Sample>(seeds: std::ops::Range<u64>) {
    let start = prepared::<M>(0);
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (seeds, start) = (seeds.clone(), &start);
            scope.spawn(move || {
                for seed in seeds.skip(thread as usize).step_by(threads as usize) {
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run::<M>(seed, start)));
                    assert!(outcome.is_ok(), "power was lost with seed {seed}");
                }
            });
        }
    });
}

/// A log's life under one seed.
struct Life<M: Machine> {
    rng: Rng,
    disk: SimDisk,
    acked: Vec<Envelope<M::Body>>,
}

impl<M: Sample> Life<M> {
    /// Appends for a while; processes come, go and are killed.
    fn live(&mut self) {
        for n in 0..self.rng.below(2) {
            let mut locked = log_on::<M>(self.disk.clone()).lock(NOW).unwrap();
            for _ in 0..=self.rng.below(2) {
                let events = some_events::<M>(&mut self.rng);
                self.acked.extend(locked.append(&events, moment(10 + n as u64)).unwrap());
            }
            if self.rng.once_in(4) {
                self.disk.kill();
            }
        }
    }

    /// Dies somewhere in a command, loses the power, and checks what is left.
    fn die(&mut self) {
        let at = self.rng.below(16) as u64 + 1;
        let dying = FaultyDisk::new(Arc::new(self.disk.clone()), at, Fault::Crash);
        let events = some_events::<M>(&mut self.rng);
        let appended = log_on::<M>(dying).lock(NOW).and_then(|mut locked| locked.append(&events, moment(50)));
        if let Ok(envelopes) = appended {
            self.acked.extend(envelopes);
        }
        self.disk.crash(self.rng.number());
        let log = log_on::<M>(self.disk.clone());
        let left = log.envelopes().unwrap();
        assert!(left.starts_with(&self.acked), "an acknowledged message is lost");
        let whole = left.len() == self.acked.len() || left.len() == self.acked.len() + events.len();
        assert!(whole, "the log is neither as before the command nor as after it");
        // A process that holds the lock syncs what it sees there, also lines of another writer.
        let locked = log.lock(NOW).unwrap();
        assert_eq!(locked.loaded().state, fold::<M>(&left));
        self.acked = left;
    }
}

fn run<M: Sample>(seed: u64, (disk, acked): &(SimDisk, Vec<Envelope<M::Body>>)) {
    let mut life = Life::<M> { rng: Rng::new(seed), disk: disk.fork(), acked: acked.clone() };
    life.live();
    life.die();
    if life.rng.once_in(4) {
        life.die();
    }
    if life.rng.once_in(2) {
        return;
    }
    let log = log_on::<M>(life.disk.clone());
    life.acked.extend(log.lock(NOW).unwrap().append(&[M::event("and now?")], moment(99)).unwrap());
    let verified = log.verify().unwrap();
    assert_eq!((verified.envelopes, &verified.state), (life.acked.len() as u64, &log.load().unwrap().state));
}
