//! Logs and caches damaged by a crash, a loss of power, a disk or a tool, as commands meet them, and their repair.

use std::sync::Arc;

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::Envelope;
use pairflow_core::log::frame::{LineError, MAX_LINE};
use pairflow_engine::store::{Repaired, StateSource, Storage, StoreError};
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::store::{
    Counter, NOW, Sample, agree, bubble, files, fold, goes_on, harm_caches, history, log_on, lose_power, moment,
    prepared, transcript,
};

/// A log whose last append has one line; returns the disk without that append in its cache, and where it begins.
fn sample<M: Sample>() -> (SimDisk, Vec<Envelope<M::Body>>, usize) {
    let (disk, mut acked) = prepared::<M>(2);
    let log = log_on::<M>(disk.clone());
    let (cache, start) = (read::<M>(&disk, "state.json"), read::<M>(&disk, "transcript.ndjson").len());
    acked.extend(log.lock(NOW).unwrap().append(&[M::event("the last one")], moment(9)).unwrap());
    disk.plant(&files::<M>().state(), &cache);
    (disk, acked, start)
}

fn read<M: Sample>(disk: &SimDisk, name: &str) -> Vec<u8> {
    disk.read(&files::<M>().dir.join(name)).unwrap().unwrap()
}

fn garbage() -> Vec<Vec<u8>> {
    let nuls = vec![0; 600];
    let fixed: [&[u8]; 8] =
        [b"", b"\n", &nuls, b"\0\0\n", b"\xf0\x9f\x98", br#""\ud83d"}"#, b"\r\n", b"]]}} \x1b[2J no\n line\n"];
    fixed.map(<[u8]>::to_vec).to_vec()
}

#[test]
fn a_last_record_cut_at_any_byte_is_set_aside_and_everything_before_it_stays() {
    cut_last_record::<BubbleState>();
    cut_last_record::<Counter>();
}

fn cut_last_record<M: Sample>() {
    let (disk, acked, start) = sample::<M>();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    let before = &acked[..acked.len() - 1];
    for len in start..bytes.len() - 1 {
        for waste in garbage() {
            let disk = disk.fork();
            let harmed = [&bytes[..len], &waste].concat();
            disk.overwrite(&transcript::<M>(), &harmed);
            let log = log_on::<M>(disk.clone());
            let locked = log.lock(NOW).unwrap();
            match locked.repaired() {
                None => assert_eq!(harmed.len(), start),
                Some(Repaired::Newline { .. }) => panic!("cut at {len}: nothing whole is there"),
                Some(Repaired::SetAside { torn, kept }) => {
                    assert_eq!((torn.offset, torn.len), (start as u64, (harmed.len() - start) as u64));
                    assert_eq!(disk.read(kept).unwrap().unwrap(), harmed[start..]);
                }
            }
            drop(locked);
            assert_eq!(read::<M>(&disk, "transcript.ndjson"), bytes[..start]);
            assert_eq!(log.load().unwrap().state, fold::<M>(before));
        }
    }
}

#[test]
fn the_same_cut_of_an_acknowledged_record_stops_writes_and_changes_nothing() {
    cut_acknowledged_record::<BubbleState>();
    cut_acknowledged_record::<Counter>();
}

fn cut_acknowledged_record<M: Sample>() {
    let (disk, _, start) = sample::<M>();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    drop(log_on::<M>(disk.clone()).lock(NOW).unwrap());
    for len in start..bytes.len() - 1 {
        let disk = disk.fork();
        disk.overwrite(&transcript::<M>(), &bytes[..len]);
        let log = log_on::<M>(disk.clone());
        for error in [log.load().unwrap_err(), log.lock(NOW).unwrap_err(), log.verify().unwrap_err()] {
            let StoreError::Damaged { offset, .. } = &error else { panic!("cut at {len}: {error}") };
            assert_eq!(*offset, start as u64);
            assert!(error.to_string().contains("pairflow doctor --repair"));
        }
        assert_eq!(read::<M>(&disk, "transcript.ndjson"), bytes[..len]);
    }
}

#[test]
fn a_lost_newline_is_added_and_no_record_is_lost() {
    lose_newline::<BubbleState>();
    lose_newline::<Counter>();
}

fn lose_newline<M: Sample>() {
    let (disk, acked, _) = sample::<M>();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    for acknowledged in [false, true] {
        let disk = disk.fork();
        let log = log_on::<M>(disk.clone());
        if acknowledged {
            log.refresh().unwrap();
        }
        disk.overwrite(&transcript::<M>(), &bytes[..bytes.len() - 1]);
        assert!(
            matches!(log.verify(), Err(StoreError::Unterminated { offset, .. }) if offset + 1 == bytes.len() as u64)
        );
        assert_eq!(agree(&log).unwrap(), acked);
        let locked = log.lock(NOW).unwrap();
        assert_eq!(locked.repaired(), Some(&Repaired::Newline { offset: bytes.len() as u64 - 1 }));
        drop(locked);
        assert_eq!(read::<M>(&disk, "transcript.ndjson"), bytes);
        goes_on(&log, &acked);
    }
}

#[test]
fn verify_fails_on_a_torn_tail_and_only_reads() {
    verify_torn_tail::<BubbleState>();
    verify_torn_tail::<Counter>();
}

fn verify_torn_tail<M: Sample>() {
    let (disk, _, start) = sample::<M>();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    disk.overwrite(&transcript::<M>(), &bytes[..start + 40]);
    let cache = read::<M>(&disk, "state.json");
    let error = log_on::<M>(disk.clone()).verify().unwrap_err();
    assert!(matches!(error, StoreError::Torn { offset, len: 40, .. } if offset == start as u64), "{error}");
    assert_eq!(
        (read::<M>(&disk, "transcript.ndjson"), read::<M>(&disk, "state.json")),
        (bytes[..start + 40].to_vec(), cache)
    );
}

#[test]
fn torn_tails_at_the_same_place_are_all_kept() {
    tear_tail_repeatedly::<BubbleState>();
    tear_tail_repeatedly::<Counter>();
}

fn tear_tail_repeatedly<M: Sample>() {
    let (disk, _, start) = sample::<M>();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    for tail in ["first", "second", "first"] {
        disk.overwrite(&transcript::<M>(), &[&bytes[..start], tail.as_bytes()].concat());
        drop(log_on::<M>(disk.clone()).lock(NOW).unwrap());
    }
    let kept = disk.list_dir(&files::<M>().quarantine()).unwrap();
    let seq = log_on::<M>(disk.clone()).load().unwrap().head.seq + 1;
    assert_eq!(kept, [format!("{seq}-{start}-2.bin"), format!("{seq}-{start}.bin")]);
}

#[test]
fn damage_in_the_middle_is_told_with_its_place_and_repaired_only_on_request() {
    damage_middle::<BubbleState>();
    damage_middle::<Counter>();
}

fn damage_middle<M: Sample>() {
    let (disk, acked, _) = sample::<M>();
    let log = log_on::<M>(disk.clone());
    log.refresh().unwrap();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    let first_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut harmed = bytes.clone();
    harmed[first_line + 20] ^= 4;
    disk.overwrite(&transcript::<M>(), &harmed);
    let error = log.lock(NOW).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { line: 2, offset, .. } if offset == first_line as u64), "{error}");
    assert!(matches!(log.envelopes(), Err(StoreError::Damaged { line: 2, .. })));
    let salvage = log.repair().unwrap();
    assert_eq!((salvage.envelopes, salvage.bytes), (1, first_line as u64));
    assert_eq!(disk.read(&salvage.moved.unwrap()).unwrap().unwrap(), harmed);
    goes_on(&log, &acked[..1]);
}

#[test]
fn damage_in_the_middle_of_an_append_gives_up_the_whole_append() {
    damage_append::<BubbleState>();
    damage_append::<Counter>();
}

fn damage_append<M: Sample>() {
    let (disk, acked) = prepared::<M>(0);
    let log = log_on::<M>(disk.clone());
    let start = read::<M>(&disk, "transcript.ndjson").len();
    log.lock(NOW).unwrap().append(&[M::event("a"), M::event("b"), M::event("c")], moment(5)).unwrap();
    let mut bytes = read::<M>(&disk, "transcript.ndjson");
    let at = bytes.len() - 30;
    bytes[at] ^= 1;
    disk.overwrite(&transcript::<M>(), &bytes);
    assert!(matches!(log.load(), Err(StoreError::Damaged { line: 4, .. })));
    assert_eq!(log.repair().unwrap().bytes, start as u64);
    goes_on(&log, &acked);
}

#[test]
fn a_log_that_lost_acknowledged_records_is_damaged_until_it_is_repaired() {
    cut_off_log::<BubbleState>();
    cut_off_log::<Counter>();
}

fn cut_off_log<M: Sample>() {
    let (disk, acked, start) = sample::<M>();
    let log = log_on::<M>(disk.clone());
    log.refresh().unwrap();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    disk.overwrite(&transcript::<M>(), &bytes[..start]);
    let error = log.load().unwrap_err();
    let reason = LineError::CutOff { acknowledged_to: bytes.len() as u64 };
    assert!(matches!(&error, StoreError::Damaged { reason: found, .. } if *found == reason), "{error}");
    let salvage = log.repair().unwrap();
    assert_eq!((salvage.bytes, salvage.damage.map(|damage| damage.reason)), (start as u64, Some(reason)));
    goes_on(&log, &acked[..acked.len() - 1]);
}

#[test]
fn a_log_without_any_sound_line_is_moved_aside_as_a_whole() {
    replace_log_by_garbage::<BubbleState>();
    replace_log_by_garbage::<Counter>();
}

fn replace_log_by_garbage<M: Sample>() {
    let (disk, _, _) = sample::<M>();
    disk.overwrite(&transcript::<M>(), b"not a log at all\n");
    let log = log_on::<M>(disk.clone());
    assert!(matches!(log.load(), Err(StoreError::Damaged { offset: 0, line: 1, .. })));
    assert_eq!(log.repair().unwrap().envelopes, 0);
    assert!(matches!(log.load(), Err(StoreError::Missing { .. })));
    disk.plant(&transcript::<M>(), b"");
    assert!(matches!(log.load(), Err(StoreError::Damaged { offset: 0, .. })));
}

#[test]
fn a_sound_log_needs_no_repair() {
    repair_sound_log::<BubbleState>();
    repair_sound_log::<Counter>();
}

fn repair_sound_log<M: Sample>() {
    let (disk, acked, _) = sample::<M>();
    let log = log_on::<M>(disk.clone());
    let salvage = log.repair().unwrap();
    assert_eq!((salvage.envelopes, salvage.damage, salvage.moved), (acked.len() as u64, None, None));
    goes_on(&log, &acked);
}

#[test]
fn the_log_of_another_bubble_in_this_place_is_damage() {
    rename_log::<BubbleState>();
    rename_log::<Counter>();
}

fn rename_log<M: Sample>() {
    let (disk, _, _) = sample::<M>();
    let bytes = read::<M>(&disk, "transcript.ndjson");
    let other = String::from_utf8(bytes).unwrap().replace("login-race", "login-rice");
    disk.overwrite(&transcript::<M>(), other.as_bytes());
    assert!(matches!(log_on::<M>(disk).load(), Err(StoreError::Damaged { offset: 0, .. })));
}

#[test]
fn a_message_that_is_too_large_is_refused_before_anything_is_written() {
    append_too_much::<BubbleState>();
    append_too_much::<Counter>();
}

fn append_too_much<M: Sample>() {
    let (disk, acked, _) = sample::<M>();
    let log = log_on::<M>(disk.clone());
    let mut locked = log.lock(NOW).unwrap();
    let large = M::event(&"x".repeat(MAX_LINE));
    assert!(matches!(locked.append(&[M::event("small"), large], moment(8)), Err(StoreError::TooLarge { .. })));
    let many = vec![M::event(&"x".repeat(MAX_LINE - 600)); 9];
    assert!(matches!(locked.append(&many, moment(8)), Err(StoreError::TooLarge { .. })));
    assert!(matches!(locked.append(&[], moment(8)), Err(StoreError::Nothing)));
    drop(locked);
    goes_on(&log, &acked);
}

#[test]
fn a_second_writer_is_told_that_the_bubble_is_held_and_a_second_bubble_that_it_exists() {
    write_twice::<BubbleState>();
    write_twice::<Counter>();
}

fn write_twice<M: Sample>() {
    let (disk, _, _) = sample::<M>();
    let log = log_on::<M>(disk.clone());
    let locked = log.lock(NOW).unwrap();
    assert!(matches!(log.lock(NOW), Err(StoreError::Busy { .. })));
    assert_eq!(log.load().unwrap().state.id(), &bubble());
    drop(locked);
    assert!(matches!(log.create(&[M::event("again")], moment(0)), Err(StoreError::Exists { .. })));
}

#[test]
fn a_load_after_a_crash_reads_only_the_tail() {
    load_after_crash::<BubbleState>();
    load_after_crash::<Counter>();
}

fn load_after_crash<M: Sample>() {
    let (disk, acked, _) = sample::<M>();
    let log = log_on::<M>(disk.clone());
    let loaded = log.load().unwrap();
    assert_eq!((loaded.from, loaded.state), (StateSource::Tail, fold::<M>(&acked)));
    assert_eq!(log.refresh().unwrap().from, StateSource::Tail);
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
}

#[test]
fn whatever_happens_to_the_cache_the_log_tells_the_same_state() {
    // `cargo xtask soak` goes on with other seeds.
    harm_caches::<BubbleState>(18, 2_000);
    harm_caches::<Counter>(18, 2_000);
}

#[test]
fn a_cache_that_is_made_again_has_the_same_bytes() {
    make_cache_again::<BubbleState>();
    make_cache_again::<Counter>();
}

fn make_cache_again<M: Sample>() {
    let history = history::<M>(5);
    let log = log_on::<M>(history.disk.clone());
    history.disk.erase(&files::<M>().state());
    assert_eq!(log.refresh().unwrap().from, StateSource::Log);
    assert_eq!(history.disk.read(&files::<M>().state()).unwrap().as_ref(), history.caches.last());
}

#[test]
fn a_cache_of_the_same_file_that_knows_more_than_the_log_is_proof_of_loss() {
    shorten_log_under_cache::<BubbleState>();
    shorten_log_under_cache::<Counter>();
}

fn shorten_log_under_cache<M: Sample>() {
    let history = history::<M>(4);
    history.disk.overwrite(&transcript::<M>(), &history.logs[2]);
    assert!(matches!(log_on::<M>(history.disk.clone()).load(), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_load_writes_nothing_and_a_refresh_only_the_cache() {
    load_and_refresh::<BubbleState>();
    load_and_refresh::<Counter>();
}

fn load_and_refresh<M: Sample>() {
    let history = history::<M>(3);
    history.disk.erase(&files::<M>().state());
    let log = log_on::<M>(history.disk.clone());
    log.load().unwrap();
    assert!(history.disk.stat(&files::<M>().state()).unwrap().is_none());
    let held = log.lock(NOW).unwrap();
    history.disk.erase(&files::<M>().state());
    assert_eq!(log.refresh().unwrap().from, StateSource::Log);
    assert!(history.disk.stat(&files::<M>().state()).unwrap().is_none(), "somebody else holds the lock");
    drop(held);
    log.refresh().unwrap();
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
}

#[test]
fn the_cache_shows_the_fields_of_the_state() {
    let history = history::<BubbleState>(1);
    let json: serde_json::Value = serde_json::from_slice(history.caches.last().unwrap()).unwrap();
    for field in ["state", "active_agent", "active_since", "active_role", "round_role_history", "last_command_at"] {
        assert!(json.get(field).is_some(), "{field} in {json}");
    }
    assert_eq!(json["cache"]["seq"], history.envelopes.last().unwrap().len());
}

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
