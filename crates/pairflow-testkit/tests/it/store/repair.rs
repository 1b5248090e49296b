//! Mending is itself killed at every operation: nothing that was taken out of a log is ever lost.

use std::sync::Arc;

use pairflow_core::bubble::BubbleState;
use pairflow_engine::store::{Storage, StoreError};
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::store::{Counter, NOW, Sample, agree, files, goes_on, log_on, prepared, transcript};

/// Whether any file in quarantine has exactly these bytes.
fn quarantined<M: Sample>(disk: &SimDisk, bytes: &[u8]) -> bool {
    let dir = files::<M>().quarantine();
    let names = disk.list_dir(&dir).unwrap();
    names.iter().any(|name| disk.read(&dir.join(name)).unwrap().as_deref() == Some(bytes))
}

#[test]
fn the_bytes_of_a_torn_tail_are_in_the_log_or_in_quarantine_at_any_moment() {
    kill_mending::<BubbleState>();
    kill_mending::<Counter>();
}

fn kill_mending<M: Sample>() {
    let (start, acked) = prepared::<M>(1);
    let sound = start.read(&transcript::<M>()).unwrap().unwrap();
    let tail = b"{\"seq\":99,\"id\":\"half a rec".to_vec();
    let torn = [sound.as_slice(), &tail].concat();
    start.overwrite(&transcript::<M>(), &torn);
    for at in 1..40 {
        for seed in 0..12 {
            let disk = start.fork();
            drop(log_on::<M>(FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Crash)).lock(NOW));
            disk.crash(seed);
            let still = disk.read(&transcript::<M>()).unwrap().unwrap() == torn;
            assert!(still || quarantined::<M>(&disk, &tail), "killed at {at}, seed {seed}");
            goes_on(&log_on::<M>(disk.clone()), &acked);
            assert!(quarantined::<M>(&disk, &tail));
        }
    }
}

#[test]
fn a_repair_that_is_killed_anywhere_can_be_run_again_and_keeps_the_damaged_log() {
    kill_repair::<BubbleState>();
    kill_repair::<Counter>();
}

fn kill_repair<M: Sample>() {
    let (start, acked) = prepared::<M>(2);
    let mut harmed = start.read(&transcript::<M>()).unwrap().unwrap();
    let first_line = harmed.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    harmed[first_line + 20] ^= 4;
    start.overwrite(&transcript::<M>(), &harmed);
    for at in 1..40 {
        for seed in 0..12 {
            let disk = start.fork();
            let _ = log_on::<M>(FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Crash)).repair();
            disk.crash(seed);
            let log = log_on::<M>(disk.clone());
            if matches!(log.load(), Err(StoreError::Damaged { .. })) {
                assert_eq!(disk.read(&transcript::<M>()).unwrap().unwrap(), harmed, "killed at {at}, seed {seed}");
                log.repair().unwrap();
            }
            assert!(quarantined::<M>(&disk, &harmed), "killed at {at}, seed {seed}");
            assert_eq!(agree(&log).unwrap(), acked[..1]);
            goes_on(&log, &acked[..1]);
        }
    }
}
