//! The power goes at any moment: what was acknowledged is there, and the bubble is as before or as after the command.

use std::sync::Arc;

use pairflow_core::bubble::BubbleState;
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::store::{Counter, Sample, goes_on, log_on, lose_power, moment};

#[test]
fn a_loss_of_power_loses_nothing_that_was_acknowledged() {
    // `cargo xtask soak` goes on from there.
    lose_power::<BubbleState>(0..2_000);
    lose_power::<Counter>(0..2_000);
}

#[test]
fn a_bubble_is_created_whole_or_not_at_all() {
    create_and_lose_power::<BubbleState>();
    create_and_lose_power::<Counter>();
}

fn create_and_lose_power<M: Sample>() {
    for at in 1..=40 {
        for seed in 0..40 {
            let disk = SimDisk::new();
            let dying = FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Crash);
            let events = [M::event("first"), M::event("second")];
            let created = log_on::<M>(dying).create(&events, moment(0)).is_ok();
            disk.crash(seed);
            let log = log_on::<M>(disk.clone());
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
