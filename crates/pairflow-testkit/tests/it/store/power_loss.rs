//! The power goes at any moment: what was acknowledged is there, and the bubble is as before or as after the command.

use std::sync::Arc;

use pairflow_core::log::Envelope;
use pairflow_testkit::disk::{Fault, FaultyDisk, Rng, SimDisk};

use crate::support::store::{NOW, fold, goes_on, log_on, moment, prepared, question, some_events};

const SEEDS: u64 = 20_000;

/// A bubble's life under one seed.
struct Life {
    rng: Rng,
    disk: SimDisk,
    acked: Vec<Envelope>,
}

impl Life {
    /// Appends for a while; processes come, go and are killed.
    fn live(&mut self) {
        for n in 0..self.rng.below(2) {
            let mut locked = log_on(self.disk.clone()).lock(NOW).unwrap();
            for _ in 0..=self.rng.below(2) {
                let events = some_events(&mut self.rng);
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
        let events = some_events(&mut self.rng);
        let appended = log_on(dying).lock(NOW).and_then(|mut locked| locked.append(&events, moment(50)));
        if let Ok(envelopes) = appended {
            self.acked.extend(envelopes);
        }
        self.disk.crash(self.rng.number());
        let log = log_on(self.disk.clone());
        let left = log.envelopes().unwrap();
        assert!(left.starts_with(&self.acked), "an acknowledged message is lost");
        let whole = left.len() == self.acked.len() || left.len() == self.acked.len() + events.len();
        assert!(whole, "the log is neither as before the command nor as after it");
        // What is seen under the lock is made to stay, whoever wrote it.
        let locked = log.lock(NOW).unwrap();
        assert_eq!(locked.loaded().unit, fold(&left));
        self.acked = left;
    }
}

fn run(seed: u64, (disk, acked): &(SimDisk, Vec<Envelope>)) {
    let mut life = Life { rng: Rng::new(seed), disk: disk.fork(), acked: acked.clone() };
    life.live();
    life.die();
    if life.rng.once_in(4) {
        life.die();
    }
    if life.rng.once_in(2) {
        return;
    }
    let log = log_on(life.disk.clone());
    life.acked.extend(log.lock(NOW).unwrap().append(&[question("and now?")], moment(99)).unwrap());
    let verified = log.verify().unwrap();
    assert_eq!((verified.envelopes, &verified.unit), (life.acked.len() as u64, &log.load().unwrap().unit));
}

#[test]
fn twenty_thousand_losses_of_power_lose_nothing_that_was_acknowledged() {
    let start = prepared(0);
    let part = |first: u64| {
        let start = &start;
        move || {
            for seed in (first..SEEDS).step_by(2) {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed, start)));
                assert!(outcome.is_ok(), "seed {seed}");
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(part(0));
        scope.spawn(part(1));
    });
}

#[test]
fn a_bubble_is_created_whole_or_not_at_all() {
    for at in 1..=40 {
        for seed in 0..40 {
            let disk = SimDisk::new();
            let dying = FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Crash);
            let events = [question("first"), question("second")];
            let created = log_on(dying).create(&events, moment(0)).is_ok();
            disk.crash(seed);
            let log = log_on(disk.clone());
            match log.load() {
                Ok(loaded) => assert_eq!(loaded.head.seq, 2),
                Err(error) => {
                    assert!(!created, "operation {at}, seed {seed}: {error}");
                    assert!(error.to_string().starts_with("there is no bubble login-race"), "{error}");
                    log.create(&events, moment(0)).unwrap();
                }
            }
            goes_on(&log, &log.envelopes().unwrap());
        }
    }
}
