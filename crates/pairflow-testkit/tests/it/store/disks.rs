//! The store on real and failing disks: modes, kernel locks, links, many writers, artifacts, and each operation failed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::Envelope;
use pairflow_engine::store::storage::LockMode;
use pairflow_engine::store::{
    Appended, ArtifactError, Artifacts, Log, LogFiles, RealDisk, Repaired, StateSource, Storage, StoreError,
};
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::store::{
    Counter, NOW, Sample, agree, bubble, files, fold, goes_on, log_on, moment, prepared, question, transcript,
};
use rustix::io::Errno;

fn real_log(root: &Path) -> Log {
    Log::new(Arc::new(RealDisk), LogFiles::of::<BubbleState>(&root.join(".pairflow"), &bubble()), bubble())
}

fn created(root: &Path) -> Log {
    let log = real_log(root);
    drop(log.create(&[question("first")], moment(0)).unwrap());
    log
}

#[test]
fn a_log_is_written_read_torn_and_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
    let added = log.lock(NOW).unwrap().append(&[question("a"), question("b")], moment(1)).unwrap();
    assert_eq!(added.iter().map(|envelope| envelope.seq).collect::<Vec<_>>(), [2, 3]);
    let path = log.files().transcript();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"seq\":4,");
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(log.verify(), Err(StoreError::Torn { len: 9, .. })));
    let locked = log.lock(NOW).unwrap();
    let Some(Repaired::SetAside { kept, .. }) = locked.repaired() else { panic!("a torn tail is set aside") };
    assert_eq!(fs::read(kept).unwrap(), b"{\"seq\":4,");
    drop(locked);
    goes_on(&log, &log.envelopes().unwrap());
}

#[test]
fn files_and_directories_are_the_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    log.project("inbox.ndjson", b"").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files = log.files();
    for file in [files.transcript(), files.state(), files.inbox(), files.lock.clone()] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    for dir in [files.dir.clone(), files.artifacts(), dir.path().join(".pairflow")] {
        assert_eq!(mode(&dir), 0o700, "{}", dir.display());
    }
    let strays = fs::read_dir(&files.dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(strays.count(), 0);
}

#[test]
fn an_untouched_log_is_not_read_and_a_touched_one_is_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
    let path = log.files().transcript();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    // Clocks of file systems are coarse: what is done at once may look as if it was done before.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_modified(later).unwrap();
    assert_eq!(log.load().unwrap().from, StateSource::Log);
    log.refresh().unwrap();
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
}

#[test]
fn the_lock_names_its_holder_and_waits_no_longer_than_asked() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    let held = log.lock(NOW).unwrap();
    let before = Instant::now();
    let error = log.lock(Duration::from_millis(30)).unwrap_err();
    assert!(before.elapsed() >= Duration::from_millis(30));
    let StoreError::Busy { holder, .. } = &error else { panic!("{error}") };
    if Path::new("/proc/locks").exists() {
        assert_eq!(*holder, Some(std::process::id()));
        assert!(error.to_string().contains(&format!("process {}", std::process::id())));
    }
    drop(held);
    log.lock(NOW).unwrap();
}

#[test]
fn a_lock_file_that_was_replaced_by_hand_does_not_let_two_in() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.lock");
    let first = RealDisk.lock(&path, LockMode::Exclusive, NOW).unwrap().unwrap();
    let old = fs::metadata(&path).unwrap().ino();
    fs::remove_file(&path).unwrap();
    let second = RealDisk.lock(&path, LockMode::Exclusive, NOW).unwrap().unwrap();
    assert_ne!(fs::metadata(&path).unwrap().ino(), old);
    assert!(RealDisk.lock(&path, LockMode::Exclusive, NOW).unwrap().is_none());
    drop((first, second));
    let shared = RealDisk.lock(&path, LockMode::Shared, NOW).unwrap().unwrap();
    let also = RealDisk.lock(&path, LockMode::Shared, NOW).unwrap().unwrap();
    assert!(RealDisk.lock(&path, LockMode::Exclusive, NOW).unwrap().is_none());
    drop((shared, also));
}

#[test]
fn many_writers_and_readers_make_one_log_without_gaps() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let log = log.clone();
            scope.spawn(move || {
                for n in 0..15 {
                    let text = format!("writer {writer}, message {n}");
                    let mut locked = log.lock(Duration::from_secs(60)).unwrap();
                    locked.append(&[question(&text), question("more")], moment(n)).unwrap();
                }
            });
        }
        for _ in 0..2 {
            let log = log.clone();
            scope.spawn(move || {
                let mut seen = 0;
                while seen < 1 + 6 * 15 * 2 {
                    let now = log.load().unwrap().head.seq;
                    assert!(now >= seen, "a reader saw the log shrink");
                    seen = now;
                }
            });
        }
    });
    assert_eq!(agree(&log).unwrap().len(), 1 + 6 * 15 * 2);
    log.verify().unwrap();
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    let secret = dir.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    fs::remove_file(log.files().state()).unwrap();
    symlink(&secret, log.files().state()).unwrap();
    log.refresh().unwrap();
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert!(fs::symlink_metadata(log.files().state()).unwrap().is_file(), "the link was replaced by the cache");
    fs::remove_file(log.files().transcript()).unwrap();
    symlink(&secret, log.files().transcript()).unwrap();
    assert!(log.load().is_err());
    assert!(log.lock(NOW).is_err());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
}

#[test]
fn projections_cannot_leave_their_directory_or_replace_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    for name in ["", "..", ".hidden", "../x", "a/b", "/etc/passwd", "transcript.ndjson", "state.json", "a\0b"] {
        assert!(matches!(log.project(name, b"x"), Err(StoreError::BadName { .. })), "{name:?}");
    }
    log.project("inbox.ndjson", b"one\n").unwrap();
    log.project("inbox.ndjson", b"two\n").unwrap();
    assert_eq!(fs::read(log.files().inbox()).unwrap(), b"two\n");
}

#[test]
fn an_artifact_named_by_its_hash_is_written_once_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = created(dir.path()).artifacts();
    let name = artifacts.put_hashed("receipts", "txt", b"all green\n").unwrap();
    assert_eq!(name, "receipts/1eef57a46547bb733838e27741c428a371e0c7d37124c9dec3e7fad74b03f01d.txt");
    let path = artifacts.resolve(&format!("artifact://{name}")).unwrap();
    let written = fs::metadata(&path).unwrap().ino();
    assert_eq!(artifacts.put_hashed("receipts", "txt", b"all green\n").unwrap(), name);
    assert_eq!(fs::metadata(&path).unwrap().ino(), written, "it was there already");
    artifacts.check(&name).unwrap();
    fs::write(&path, "all red\n").unwrap();
    assert!(matches!(artifacts.check(&name), Err(ArtifactError::Changed { .. })));
    artifacts.put_hashed("receipts", "txt", b"all green\n").unwrap();
    artifacts.check(&name).unwrap();
    artifacts.put("done-package.md", b"# Done").unwrap();
    assert!(matches!(artifacts.check("done-package.md"), Err(ArtifactError::NotHashed { .. })));
    assert!(matches!(artifacts.check(&name.replace('a', "b")), Err(ArtifactError::Missing { .. })));
}

#[test]
fn a_reference_leads_to_a_plain_file_beneath_the_artifacts_or_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    let artifacts: Artifacts = log.artifacts();
    artifacts.put("round-003.diff", b"diff").unwrap();
    artifacts.put("messages/001-codex-pass.md", b"hello").unwrap();
    let home = log.files().artifacts();
    let resolved = |reference: &str| artifacts.resolve(reference);
    assert_eq!(resolved("artifact://round-003.diff").unwrap(), home.join("round-003.diff"));
    assert_eq!(resolved("artifact://diff/round-3.patch").unwrap(), home.join("round-003.diff"));
    assert_eq!(resolved("artifact://messages/001-codex-pass.md").unwrap(), home.join("messages/001-codex-pass.md"));
    let long = format!("artifact://{}", "x".repeat(4096));
    let bad = [
        "..",
        "../state.json",
        "a/../../state.json",
        "/etc/passwd",
        "",
        ".",
        "a//b",
        ".hidden",
        "-rf",
        "a\0b",
        "%2e%2e/x",
        "a\\b",
        "ü",
        "a b",
    ];
    for name in bad.map(|name| format!("artifact://{name}")).iter().chain([&long]) {
        assert!(matches!(resolved(name), Err(ArtifactError::BadName { .. })), "{name:?}");
    }
    for other in ["round-003.diff", "file:///etc/passwd", "ARTIFACT://x", " artifact://x"] {
        assert!(matches!(resolved(other), Err(ArtifactError::NotAReference { .. })), "{other:?}");
    }
    assert!(matches!(resolved("artifact://round-009.diff"), Err(ArtifactError::Missing { .. })));
    assert!(matches!(resolved("artifact://messages"), Err(ArtifactError::NotPlain { .. })));
}

#[test]
fn a_link_among_the_artifacts_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let log = created(dir.path());
    let artifacts = log.artifacts();
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    symlink(&outside, log.files().artifacts().join("messages")).unwrap();
    symlink(outside.join("secret.txt"), log.files().artifacts().join("round-001.diff")).unwrap();
    for name in ["messages/secret.txt", "round-001.diff", "messages/new.txt"] {
        assert!(
            matches!(artifacts.resolve(&format!("artifact://{name}")), Err(ArtifactError::NotPlain { .. })),
            "{name}"
        );
        assert!(matches!(artifacts.put(name, b"x"), Err(ArtifactError::NotPlain { .. })), "{name}");
        assert!(matches!(artifacts.read(name), Err(ArtifactError::NotPlain { .. })), "{name}");
    }
    assert_eq!(fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret");
}

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

/// A process that takes the lock may act on what it sees: from then on it must survive, even if its writer was killed
/// before it was synced.
fn seen_under_the_lock_stays<M: Sample>(disk: &SimDisk, left: &[Envelope<M::Body>]) {
    for seed in 0..8 {
        let disk = disk.fork();
        disk.crash(seed);
        assert_eq!(agree(&log_on::<M>(disk)).unwrap(), left);
    }
}
