//! Losses of power at any moment of an append.

use std::sync::Arc;

use pairflow_core::log::{Envelope, Machine};

use super::samples::{NOW, Sample, fold, log_on, moment, prepared, some_events};
use crate::disk::{Fault, FaultyDisk, Rng, SimDisk};

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
