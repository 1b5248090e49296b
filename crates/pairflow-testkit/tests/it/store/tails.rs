//! Logs that a crash, a disk or a tool has harmed, as commands meet them.

use pairflow_core::log::Envelope;
use pairflow_core::log::line::{LineError, MAX_LINE};
use pairflow_engine::store::{Repaired, Source, Storage, StoreError};
use pairflow_testkit::disk::SimDisk;
use pairflow_testkit::store::{NOW, agree, bubble, files, goes_on, log_on, moment, prepared, question, transcript};

/// A log whose last append has one line; returns the disk without that append in its cache, and where it begins.
fn sample() -> (SimDisk, Vec<Envelope>, usize) {
    let (disk, mut acked) = prepared(2);
    let log = log_on(disk.clone());
    let (cache, start) = (read(&disk, "state.json"), read(&disk, "transcript.ndjson").len());
    acked.extend(log.lock(NOW).unwrap().append(&[question("the last one")], moment(9)).unwrap());
    disk.plant(&files().state(), &cache);
    (disk, acked, start)
}

fn read(disk: &SimDisk, name: &str) -> Vec<u8> {
    disk.read(&files().dir.join(name)).unwrap().unwrap()
}

fn garbage() -> Vec<Vec<u8>> {
    let nuls = vec![0; 600];
    let fixed: [&[u8]; 8] =
        [b"", b"\n", &nuls, b"\0\0\n", b"\xf0\x9f\x98", br#""\ud83d"}"#, b"\r\n", b"]]}} \x1b[2J no\n line\n"];
    fixed.map(<[u8]>::to_vec).to_vec()
}

#[test]
fn a_last_record_cut_at_any_byte_is_set_aside_and_everything_before_it_stays() {
    let (disk, acked, start) = sample();
    let bytes = read(&disk, "transcript.ndjson");
    let before = &acked[..acked.len() - 1];
    for len in start..bytes.len() - 1 {
        for waste in garbage() {
            let disk = disk.fork();
            let harmed = [&bytes[..len], &waste].concat();
            disk.overwrite(&transcript(), &harmed);
            let log = log_on(disk.clone());
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
            assert_eq!(read(&disk, "transcript.ndjson"), bytes[..start]);
            assert_eq!(log.load().unwrap().unit, pairflow_testkit::store::fold(before));
        }
    }
}

#[test]
fn the_same_cut_of_an_acknowledged_record_stops_writes_and_changes_nothing() {
    let (disk, _, start) = sample();
    let bytes = read(&disk, "transcript.ndjson");
    drop(log_on(disk.clone()).lock(NOW).unwrap());
    for len in start..bytes.len() - 1 {
        let disk = disk.fork();
        disk.overwrite(&transcript(), &bytes[..len]);
        let log = log_on(disk.clone());
        for error in [log.load().unwrap_err(), log.lock(NOW).unwrap_err(), log.verify().unwrap_err()] {
            let StoreError::Damaged { offset, .. } = &error else { panic!("cut at {len}: {error}") };
            assert_eq!(*offset, start as u64);
            assert!(error.to_string().contains("pairflow doctor --repair"));
        }
        assert_eq!(read(&disk, "transcript.ndjson"), bytes[..len]);
    }
}

#[test]
fn a_lost_newline_is_added_and_no_record_is_lost() {
    let (disk, acked, _) = sample();
    let bytes = read(&disk, "transcript.ndjson");
    for acknowledged in [false, true] {
        let disk = disk.fork();
        let log = log_on(disk.clone());
        if acknowledged {
            log.refresh().unwrap();
        }
        disk.overwrite(&transcript(), &bytes[..bytes.len() - 1]);
        assert!(
            matches!(log.verify(), Err(StoreError::Unterminated { offset, .. }) if offset + 1 == bytes.len() as u64)
        );
        assert_eq!(agree(&log).unwrap(), acked);
        let locked = log.lock(NOW).unwrap();
        assert_eq!(locked.repaired(), Some(&Repaired::Newline { offset: bytes.len() as u64 - 1 }));
        drop(locked);
        assert_eq!(read(&disk, "transcript.ndjson"), bytes);
        goes_on(&log, &acked);
    }
}

#[test]
fn verify_fails_on_a_torn_tail_and_only_reads() {
    let (disk, _, start) = sample();
    let bytes = read(&disk, "transcript.ndjson");
    disk.overwrite(&transcript(), &bytes[..start + 40]);
    let cache = read(&disk, "state.json");
    let error = log_on(disk.clone()).verify().unwrap_err();
    assert!(matches!(error, StoreError::Torn { offset, len: 40, .. } if offset == start as u64), "{error}");
    assert_eq!((read(&disk, "transcript.ndjson"), read(&disk, "state.json")), (bytes[..start + 40].to_vec(), cache));
}

#[test]
fn torn_tails_at_the_same_place_are_all_kept() {
    let (disk, _, start) = sample();
    let bytes = read(&disk, "transcript.ndjson");
    for tail in ["first", "second", "first"] {
        disk.overwrite(&transcript(), &[&bytes[..start], tail.as_bytes()].concat());
        drop(log_on(disk.clone()).lock(NOW).unwrap());
    }
    let kept = disk.list_dir(&files().quarantine()).unwrap();
    let seq = log_on(disk.clone()).load().unwrap().head.seq + 1;
    assert_eq!(kept, [format!("{seq}-{start}-2.bin"), format!("{seq}-{start}.bin")]);
}

#[test]
fn damage_in_the_middle_is_told_with_its_place_and_repaired_only_on_request() {
    let (disk, acked, _) = sample();
    let log = log_on(disk.clone());
    log.refresh().unwrap();
    let bytes = read(&disk, "transcript.ndjson");
    let first_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut harmed = bytes.clone();
    harmed[first_line + 20] ^= 4;
    disk.overwrite(&transcript(), &harmed);
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
    let (disk, acked) = prepared(0);
    let log = log_on(disk.clone());
    let start = read(&disk, "transcript.ndjson").len();
    log.lock(NOW).unwrap().append(&[question("a"), question("b"), question("c")], moment(5)).unwrap();
    let mut bytes = read(&disk, "transcript.ndjson");
    let at = bytes.len() - 30;
    bytes[at] ^= 1;
    disk.overwrite(&transcript(), &bytes);
    assert!(matches!(log.load(), Err(StoreError::Damaged { line: 4, .. })));
    assert_eq!(log.repair().unwrap().bytes, start as u64);
    goes_on(&log, &acked);
}

#[test]
fn a_log_that_lost_acknowledged_records_is_damaged_until_it_is_repaired() {
    let (disk, acked, start) = sample();
    let log = log_on(disk.clone());
    log.refresh().unwrap();
    let bytes = read(&disk, "transcript.ndjson");
    disk.overwrite(&transcript(), &bytes[..start]);
    let error = log.load().unwrap_err();
    let reason = LineError::CutOff { acknowledged_to: bytes.len() as u64 };
    assert!(matches!(&error, StoreError::Damaged { reason: found, .. } if *found == reason), "{error}");
    let salvage = log.repair().unwrap();
    assert_eq!((salvage.bytes, salvage.damage.map(|damage| damage.reason)), (start as u64, Some(reason)));
    goes_on(&log, &acked[..acked.len() - 1]);
}

#[test]
fn a_log_without_any_sound_line_is_moved_aside_as_a_whole() {
    let (disk, _, _) = sample();
    disk.overwrite(&transcript(), b"not a log at all\n");
    let log = log_on(disk.clone());
    assert!(matches!(log.load(), Err(StoreError::Damaged { offset: 0, line: 1, .. })));
    assert_eq!(log.repair().unwrap().envelopes, 0);
    assert!(matches!(log.load(), Err(StoreError::Missing { .. })));
    disk.plant(&transcript(), b"");
    assert!(matches!(log.load(), Err(StoreError::Damaged { offset: 0, .. })));
}

#[test]
fn a_sound_log_needs_no_repair() {
    let (disk, acked, _) = sample();
    let log = log_on(disk.clone());
    let salvage = log.repair().unwrap();
    assert_eq!((salvage.envelopes, salvage.damage, salvage.moved), (acked.len() as u64, None, None));
    goes_on(&log, &acked);
}

#[test]
fn the_log_of_another_bubble_in_this_place_is_damage() {
    let (disk, _, _) = sample();
    let bytes = read(&disk, "transcript.ndjson");
    let other = String::from_utf8(bytes).unwrap().replace("login-race", "login-rice");
    disk.overwrite(&transcript(), other.as_bytes());
    assert!(matches!(log_on(disk).load(), Err(StoreError::Damaged { offset: 0, .. })));
}

#[test]
fn a_message_that_is_too_large_is_refused_before_anything_is_written() {
    let (disk, acked, _) = sample();
    let log = log_on(disk.clone());
    let mut locked = log.lock(NOW).unwrap();
    let large = question(&"x".repeat(MAX_LINE));
    assert!(matches!(locked.append(&[question("small"), large], moment(8)), Err(StoreError::TooLarge { .. })));
    let many = vec![question(&"x".repeat(MAX_LINE - 600)); 9];
    assert!(matches!(locked.append(&many, moment(8)), Err(StoreError::TooLarge { .. })));
    assert!(matches!(locked.append(&[], moment(8)), Err(StoreError::Nothing)));
    drop(locked);
    goes_on(&log, &acked);
}

#[test]
fn a_second_writer_is_told_that_the_bubble_is_held_and_a_second_bubble_that_it_exists() {
    let (disk, _, _) = sample();
    let log = log_on(disk.clone());
    let locked = log.lock(NOW).unwrap();
    assert!(matches!(log.lock(NOW), Err(StoreError::Busy { .. })));
    assert_eq!(log.load().unwrap().unit.id, bubble());
    drop(locked);
    assert!(matches!(log.create(&[question("again")], moment(0)), Err(StoreError::Exists { .. })));
}

#[test]
fn a_load_after_a_crash_reads_only_the_tail() {
    let (disk, acked, _) = sample();
    let log = log_on(disk.clone());
    let loaded = log.load().unwrap();
    assert_eq!((loaded.from, loaded.unit), (Source::Tail, pairflow_testkit::store::fold(&acked)));
    assert_eq!(log.refresh().unwrap().from, Source::Tail);
    assert_eq!(log.load().unwrap().from, Source::Cache);
}
