//! Whose a log is, of whatever machine: sealed, foreign, adopted, forged, rolled back, and of another version.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::Event;
use pairflow_core::log::seal::{JudgedSeals, SealState};
use pairflow_engine::store::{Foreign, Log, LogFiles, RealDisk, Registry, StateSource, Storage, StoreError};
use pairflow_testkit::disk::SimDisk;
use pairflow_testkit::store::{
    Counted, Counter, Dated, NOW, Sample, agree, bubble, dated, fold, goes_on, log_on, moment, transcript,
};

/// The log in a repository, for the user with this state directory.
fn log_of<M: Sample>(disk: &SimDisk, repo: &str, state: &str) -> Log<M> {
    let files = LogFiles::of::<M>(&Path::new(repo).join(".pairflow"), &bubble());
    Log::new(Arc::new(disk.clone()), files, bubble()).owned(registry(disk, state))
}

fn registry(disk: &SimDisk, state: &str) -> Registry {
    Registry::new(Arc::new(disk.clone()), state.into())
}

/// A log of three appends of the user with the state directory `/mine`, in the repository `/repo`.
fn own<M: Sample>() -> (SimDisk, Log<M>) {
    let disk = SimDisk::new();
    let log = log_of::<M>(&disk, "/repo", "/mine");
    let (mut locked, _) = log.create(&[M::event("first")], moment(0)).unwrap();
    locked.append(&[M::event("second"), M::event("third")], moment(1)).unwrap();
    locked.append(&[M::event("fourth")], moment(2)).unwrap();
    (disk, log)
}

fn read(disk: &SimDisk, path: &Path) -> Vec<u8> {
    disk.read(path).unwrap().unwrap()
}

fn why<M: Sample>(log: &Log<M>) -> Foreign {
    log.foreign().unwrap().expect("it is foreign")
}

#[test]
fn a_copied_log_is_foreign_until_it_is_adopted_and_the_original_stays_own() {
    adopt_copy::<BubbleState>();
    adopt_copy::<Counter>();
}

fn adopt_copy<M: Sample>() {
    let (disk, log) = own::<M>();
    let key = registry(&disk, "/mine").key().unwrap().unwrap();
    let sealed = |appends| JudgedSeals { worst: SealState::Own, appends };
    assert_eq!((log.foreign().unwrap(), log.seals(&key).unwrap()), (None, (sealed(3), 0)));
    let copy = log_of::<M>(&disk, "/copy", "/mine");
    for dir in copy.files().dir.ancestors().collect::<Vec<_>>().into_iter().rev() {
        disk.create_dir(dir).unwrap();
    }
    disk.plant(&copy.files().transcript(), &read(&disk, &log.files().transcript()));
    assert_eq!(why(&copy), Foreign::Copy(PathBuf::from("/repo")));
    assert!(matches!(copy.lock(NOW), Err(StoreError::Foreign { .. })));
    let before = agree(&copy).unwrap();
    let shown = copy.examine().unwrap().unwrap();
    assert_eq!(shown.state, fold::<M>(&before));
    drop(copy.adopt(&shown, &[M::adoption("/copy")], moment(5)).unwrap());
    assert_eq!((copy.foreign().unwrap(), copy.seals(&key).unwrap()), (None, (sealed(1), 3)));
    assert_eq!(copy.examine().unwrap(), None);
    assert_eq!(log.foreign().unwrap(), None);
    let adopted = copy.envelopes().unwrap();
    assert_eq!(adopted[..before.len()], before[..]);
    goes_on(&copy, &adopted);
    assert!(matches!(copy.adopt(&shown, &[M::adoption("/copy")], moment(6)), Err(StoreError::Changed { .. })));
}

#[test]
fn another_users_log_is_foreign_and_their_cache_is_not_believed() {
    share_log::<BubbleState>();
    share_log::<Counter>();
}

fn share_log<M: Sample>() {
    let (disk, log) = own::<M>();
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
    let theirs = log_of::<M>(&disk, "/repo", "/theirs");
    assert_eq!(why(&theirs), Foreign::Unknown);
    assert_eq!(theirs.load().unwrap().from, StateSource::Log);
    let shown = theirs.examine().unwrap().unwrap();
    drop(theirs.adopt(&shown, &[M::adoption("/repo")], moment(5)).unwrap());
    assert_eq!(theirs.foreign().unwrap(), None);
    assert_eq!(why(&log), Foreign::Forged(SealState::OtherKey));
    theirs.verify().unwrap();
}

#[test]
fn a_forged_a_shortened_and_a_replaced_log_are_foreign() {
    forge::<BubbleState>();
    forge::<Counter>();
}

fn forge<M: Sample>() {
    let (start, _) = own::<M>();
    let changed = |change: &dyn Fn(&SimDisk)| {
        let disk = start.fork();
        change(&disk);
        // Whatever vouches for the log beside its record is gone.
        disk.erase(&transcript::<M>().with_file_name("state.json"));
        log_of::<M>(&disk, "/repo", "/mine")
    };
    let forged = changed(&|disk| {
        log_on::<M>(disk.clone()).lock(NOW).unwrap().append(&[M::event("forged")], moment(7)).unwrap();
    });
    assert_eq!(why(&forged), Foreign::Forged(SealState::Unsealed));
    let bytes = read(&start, &transcript::<M>());
    let cut = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let shortened = changed(&|disk| disk.overwrite(&transcript::<M>(), &bytes[..cut]));
    assert_eq!(why(&shortened), Foreign::RolledBack(4));
    let replaced = changed(&|disk| {
        disk.erase(&transcript::<M>());
        drop(log_on::<M>(disk.clone()).create(&vec![M::event("another"); 9], moment(7)).unwrap());
    });
    assert!(matches!(why(&replaced), Foreign::Replaced { .. }));
    for log in [forged, shortened, replaced] {
        assert!(matches!(log.lock(NOW), Err(StoreError::Foreign { .. })));
    }
}

#[test]
fn machines_with_the_same_name_have_logs_locks_and_records_of_their_own() {
    let disk = SimDisk::new();
    let (bubble, counter) =
        (log_of::<BubbleState>(&disk, "/repo", "/mine"), log_of::<Counter>(&disk, "/repo", "/mine"));
    let held = bubble.create(&[BubbleState::event("first")], moment(0)).unwrap().0;
    drop(counter.create(&[Counter::event("first")], moment(0)).unwrap());
    counter.lock(NOW).unwrap().append(&[Counter::event("second")], moment(1)).unwrap();
    drop(held);
    assert_eq!((bubble.foreign().unwrap(), counter.foreign().unwrap()), (None, None));
    assert_eq!((bubble.load().unwrap().head.seq, counter.load().unwrap().state.total), (1, 2));
}

#[test]
fn a_log_of_another_format_is_refused_in_every_way_and_never_repaired() {
    open_dated::<BubbleState>(2);
    open_dated::<Counter>(3);
}

fn open_dated<M: Sample>(reads: u32) {
    for registered in [true, false] {
        let disk = SimDisk::new();
        let dir = LogFiles::of::<M>(Path::new("/repo/.pairflow"), &bubble());
        let old = Log::<Dated<M, 9>>::new(Arc::new(disk.clone()), dir, bubble());
        let old = if registered { old.owned(registry(&disk, "/mine")) } else { old };
        drop(old.create(&[dated(M::event("first")), dated(M::event("second"))], moment(0)).unwrap());
        assert_eq!(old.load().unwrap().head.seq, 2);
        let before = read(&disk, &transcript::<M>());
        let log = log_of::<M>(&disk, "/repo", "/mine");
        let errors = [
            log.load().map(drop),
            log.refresh().map(drop),
            log.lock(NOW).map(drop),
            log.verify().map(drop),
            log.envelopes().map(drop),
            log.examine().map(drop),
            log.repair().map(drop),
            log.salvageable().map(drop),
        ];
        for (n, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_err();
            let StoreError::OtherFormat { found, read, .. } = error else { panic!("way {n}: {error}") };
            assert_eq!((found, read), (9, reads));
        }
        assert_eq!(log.foreign().is_ok(), registered, "one's own is read before anything is done for it");
        assert_eq!(read(&disk, &transcript::<M>()), before);
    }
}

#[test]
fn who_decides_on_an_old_state_is_told_under_the_lock_and_no_update_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let files = LogFiles::of::<Counter>(&dir.path().join(".pairflow"), &bubble());
    let log: Log<Counter> = Log::new(Arc::new(RealDisk), files, bubble());
    drop(log.create(&[Counter::event("first")], moment(0)).unwrap());
    let expected = (0..60).fold(1_u64, |total, _| total + total % 7 + 1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..15).for_each(|n| decide_and_append(&log, n)));
        }
    });
    assert_eq!((log.verify().unwrap().state.total, log.load().unwrap().state.seq), (expected, 61));
}

/// Decides on the state that is seen without the lock, and again on the newest one if somebody else was faster.
fn decide_and_append(log: &Log<Counter>, n: u64) {
    // What is added follows from the sum, so a decision on an old sum would be wrong.
    let decide = |seen: &Counter| [Event::own(0, Counted::added(seen.total % 7 + 1, "next"))];
    let seen = log.load().unwrap();
    let mut decided = decide(&seen.state);
    let mut locked = log.lock(Duration::from_secs(60)).unwrap();
    if locked.loaded().head != seen.head {
        decided = decide(&locked.loaded().state);
    }
    locked.append(&decided, moment(n)).unwrap();
}
