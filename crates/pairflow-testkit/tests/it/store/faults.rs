//! Any single operation fails, or is the last one of the process: nothing is half done, and the next run works.

use std::sync::Arc;

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::Envelope;
use pairflow_engine::store::{Appended, Log, StoreError};
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::store::{
    Counter, NOW, Sample, agree, files, fold, goes_on, log_on, moment, prepared, transcript,
};
use rustix::io::Errno;

/// Disks in every shape that a command may find, with what their logs hold.
fn shapes<M: Sample>() -> Vec<(&'static str, SimDisk, Appended<M>)> {
    let (clean, acked) = prepared::<M>(3);
    let bytes = pairflow_engine::store::Storage::read(&clean, &transcript::<M>()).unwrap().unwrap();
    let changed = |change: &dyn Fn(&SimDisk)| {
        let disk = clean.fork();
        change(&disk);
        disk
    };
    let torn = [bytes.as_slice(), b"{\"seq\":99,\"id\":\"msg_"].concat();
    let shapes = [
        ("no cache", changed(&|disk| disk.erase(&files::<M>().state()))),
        ("a broken cache", changed(&|disk| disk.plant(&files::<M>().state(), b"{\"state\":"))),
        ("a torn tail", changed(&|disk| disk.overwrite(&transcript::<M>(), &torn))),
        ("no newline", changed(&|disk| disk.overwrite(&transcript::<M>(), &bytes[..bytes.len() - 1]))),
        ("a clean log", clean.fork()),
    ];
    shapes.into_iter().map(|(name, disk)| (name, disk, acked.clone())).collect()
}

fn command<M: Sample>(log: &Log<M>) -> Result<Appended<M>, StoreError> {
    log.lock(NOW)?.append(&[M::event("what now?"), M::event("and then?")], moment(60))
}

/// Checks what a command that met a fault has left; returns the log's envelopes.
fn left_whole<M: Sample>(
    disk: &SimDisk,
    acked: &[Envelope<M::Body>],
    outcome: &Result<Appended<M>, StoreError>,
) -> Appended<M> {
    let left = agree(&log_on::<M>(disk.clone())).unwrap();
    assert!(left.starts_with(acked));
    match outcome {
        Ok(added) => assert_eq!(left[acked.len()..], added[..]),
        Err(StoreError::NotAppended { undone: false, .. }) => assert!([0, 2].contains(&(left.len() - acked.len()))),
        Err(_) => assert_eq!(left.len(), acked.len(), "a command that failed has changed the log"),
    }
    left
}

#[test]
fn every_failing_operation_leaves_the_log_as_it_was_or_as_it_should_be() {
    fail_every_operation::<BubbleState>();
    fail_every_operation::<Counter>();
}

fn fail_every_operation<M: Sample>() {
    let errors = [Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::INTR, Errno::MFILE];
    let faults: Vec<Fault> = errors.into_iter().map(Fault::Error).chain([Fault::Short]).collect();
    for (shape, disk, acked) in shapes::<M>() {
        for (n, fault) in faults.iter().enumerate() {
            for at in 1.. {
                let disk = disk.fork();
                let faulty = FaultyDisk::new(Arc::new(disk.clone()), at, fault.clone());
                let outcome = command::<M>(&log_on::<M>(faulty.clone()));
                if !faulty.struck() {
                    assert!(at > 8 && outcome.is_ok());
                    break;
                }
                let left = left_whole::<M>(&disk, &acked, &outcome);
                if at % 3 == 0 || outcome.is_err() {
                    goes_on(&log_on::<M>(disk.clone()), &left);
                }
                if let Err(error) = outcome {
                    let said = error.to_string();
                    assert!(said.contains("/repo/.pairflow/"), "{shape}, fault {n} at {at}: {said}");
                    assert!(n != 0 || said.contains("the disk is full"), "{shape} at {at}: {said}");
                }
            }
        }
    }
}

#[test]
fn a_failing_sync_acknowledges_nothing_and_stops_the_writer() {
    fail_sync::<BubbleState>();
    fail_sync::<Counter>();
}

fn fail_sync<M: Sample>() {
    let (disk, acked) = prepared::<M>(1);
    let mut refused = 0;
    for at in 1..30 {
        let disk = disk.fork();
        let faulty = FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Error(Errno::IO));
        let log = log_on::<M>(faulty);
        let Ok(mut locked) = log.lock(NOW) else { continue };
        let Err(StoreError::NotAppended { undone, .. }) = locked.append(&[M::event("?")], moment(60)) else { continue };
        refused += 1;
        assert!(undone);
        let again = locked.append(&[M::event("?")], moment(61));
        assert!(matches!(again, Err(StoreError::Poisoned { .. })));
        drop(locked);
        assert_eq!(agree(&log).unwrap(), acked);
    }
    assert_eq!(refused, 2, "the write and the sync");
}

#[test]
fn a_kill_at_every_operation_of_a_command_and_of_its_recovery_is_healed() {
    kill_every_operation::<BubbleState>();
}

#[test]
fn a_kill_at_every_operation_is_healed_for_another_machine_too() {
    kill_every_operation::<Counter>();
}

fn kill_every_operation<M: Sample>() {
    let mut kills = 0;
    for (shape, disk, acked) in shapes::<M>() {
        for first in 1.. {
            let disk = disk.fork();
            let dying = FaultyDisk::new(Arc::new(disk.clone()), first, Fault::Crash);
            let outcome = command::<M>(&log_on::<M>(dying.clone()));
            if !dying.struck() {
                break;
            }
            for power in [None, Some(first), Some(first + 1000)] {
                let disk = disk.fork();
                power.map_or_else(|| disk.kill(), |seed| disk.crash(seed));
                let left = agree(&log_on::<M>(disk.clone())).unwrap();
                let after = outcome.as_ref().map_or(2, |_| 0) + acked.len() + outcome.as_ref().map_or(0, Vec::len);
                assert!(left.len() == acked.len() || left.len() == after, "{shape}: killed at {first}");
                assert!(outcome.is_err() || left.len() == after, "{shape}: killed at {first}");
                kills += kill_recovery::<M>(&disk, &left);
            }
        }
    }
    assert!(kills > 1_000, "{kills}");
}

/// Kills the recovery at every operation, and loses the power or not; returns how often.
fn kill_recovery<M: Sample>(disk: &SimDisk, left: &[Envelope<M::Body>]) -> u64 {
    for second in 1.. {
        let disk = disk.fork();
        let dying = FaultyDisk::new(Arc::new(disk.clone()), second, Fault::Crash);
        drop(log_on::<M>(dying.clone()).lock(NOW));
        if !dying.struck() {
            seen_under_the_lock_stays::<M>(&disk, left);
            return second;
        }
        if second % 2 == 0 {
            disk.kill()
        } else {
            disk.crash(second)
        }
        let log = log_on::<M>(disk);
        let now = log.envelopes().unwrap();
        assert!(now == left || now.len() + 2 == left.len(), "recovery killed at {second}");
        let added = log.lock(NOW).unwrap().append(&[M::event("and now?")], moment(99)).unwrap();
        assert_eq!(log.verify().unwrap().state, fold::<M>(&[now, added].concat()));
    }
    0
}

/// Whoever takes the lock may act upon what it sees: from then on it must survive, even if its writer was killed
/// before it was synced.
fn seen_under_the_lock_stays<M: Sample>(disk: &SimDisk, left: &[Envelope<M::Body>]) {
    for seed in 0..8 {
        let disk = disk.fork();
        disk.crash(seed);
        assert_eq!(agree(&log_on::<M>(disk)).unwrap(), left);
    }
}
