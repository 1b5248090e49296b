//! A whole log: which appends count, where it is torn, and where it is damaged.

use pairflow_core::log::Body;
use pairflow_core::log::frame::{LineError, LineHash, MAX_LINE};
use pairflow_core::log::line::{Expect, decode};
use pairflow_core::log::scan::{Damaged, End, Head, MAX_APPEND, Scan, Torn, scan};
use proptest::prelude::*;

use crate::support::log_samples::{Maker, bubble, question, seal, warning};

/// Three appends: one line, three lines, one line.
fn sample() -> Maker {
    let mut maker = Maker::default();
    maker.append(&[question("one")]);
    maker.append(&[question("two"), warning("three"), question("four")]);
    maker.append(&[question("five")]);
    maker
}

fn end(bytes: &[u8], acknowledged_to: u64) -> Result<End, Damaged> {
    scan(&bubble(), bytes, acknowledged_to).map(|(_, scanned)| scanned.end)
}

#[test]
fn a_log_of_another_format_is_refused_as_such_and_never_as_torn_or_damaged() {
    let text = String::from_utf8(sample().bytes).unwrap();
    for (number, found) in [("", 1), (",\"format\":1", 1), (",\"format\":9", 9)] {
        let old = text.lines().next().unwrap().replace(",\"format\":2", number);
        let first = seal(&old[..old.len() - 18]);
        for acknowledged_to in [0, 1, text.len() as u64] {
            let damaged = scan(&bubble(), &first, acknowledged_to).unwrap_err();
            assert_eq!((damaged.line, damaged.reason), (1, LineError::OtherFormat { found, read: 2 }));
        }
    }
    // Without its first line it is not an old log but a damaged one.
    let rest = text.split_once('\n').unwrap().1;
    let damaged = scan(&bubble(), rest.as_bytes(), 1).unwrap_err();
    assert_eq!(damaged.reason, LineError::Gap { expected: 1, found: 2 });
}

#[test]
fn a_whole_log_is_read_as_it_was_written() {
    let maker = sample();
    let (envelopes, scanned) = scan(&bubble(), &maker.bytes, maker.bytes.len() as u64).unwrap();
    assert_eq!(envelopes, maker.envelopes);
    assert_eq!(scanned.end, End::Clean);
    let Head { seq, offset, hash, last_len } = scanned.head;
    assert_eq!((seq, offset, hash), (5, maker.bytes.len() as u64, maker.hash));
    assert!(scanned.head.follows(&maker.bytes[(offset - last_len) as usize..]));
}

#[test]
fn an_append_counts_only_when_its_last_line_is_there() {
    let maker = sample();
    let second = maker.starts[1];
    for len in second + 1..maker.starts[2] {
        let (envelopes, scanned) = scan(&bubble(), &maker.bytes[..len], 0).unwrap();
        let only_newline_lost = len == maker.starts[2] - 1;
        let torn = End::Torn(Torn { offset: second as u64, len: (len - second) as u64 });
        assert_eq!(scanned.end, if only_newline_lost { End::Unterminated } else { torn });
        assert_eq!(envelopes.len(), if only_newline_lost { 4 } else { 1 });
    }
}

#[test]
fn a_last_line_that_lacks_only_its_newline_is_complete() {
    let maker = sample();
    let len = maker.bytes.len();
    let (envelopes, scanned) = scan(&bubble(), &maker.bytes[..len - 1], len as u64).unwrap();
    assert_eq!((envelopes, scanned.end), (maker.envelopes, End::Unterminated));
    assert_eq!((scanned.head.offset, scanned.head.hash), (len as u64, maker.hash));
}

#[test]
fn the_size_of_the_pieces_does_not_matter() {
    let maker = sample();
    for size in 1..200 {
        let (mut envelopes, mut rest) = (Vec::new(), Vec::new());
        let bubble = bubble();
        let mut scan = Scan::new(&bubble, 0);
        for piece in maker.bytes.chunks(size) {
            rest.extend_from_slice(piece);
            let taken = scan.feed(&rest, &mut |envelope| envelopes.push(envelope)).unwrap();
            rest.drain(..taken);
        }
        assert_eq!(scan.finish(&rest, &mut |_| panic!("nothing is left")).unwrap().end, End::Clean);
        assert_eq!(envelopes, maker.envelopes);
    }
}

#[test]
fn a_scan_goes_on_where_another_ended() {
    let maker = sample();
    let cut = maker.starts[2];
    let (_, first) = scan(&bubble(), &maker.bytes[..cut], 0).unwrap();
    let mut seen = Vec::new();
    let bubble = bubble();
    let mut scan = Scan::resume(&bubble, first.head, cut as u64);
    let taken = scan.feed(&maker.bytes[cut..], &mut |envelope| seen.push(envelope)).unwrap();
    let scanned = scan.finish(&maker.bytes[cut + taken..], &mut |_| {}).unwrap();
    assert_eq!((seen.as_slice(), scanned.head.hash), (&maker.envelopes[4..], maker.hash));
}

/// What a crash, a disk or a tool leaves behind a cut record.
fn garbage() -> Vec<(&'static str, Vec<u8>)> {
    let nuls = vec![0; 600];
    vec![
        ("nothing", vec![]),
        ("a newline", b"\n".to_vec()),
        ("NULs", nuls.clone()),
        ("NULs and a newline", [nuls, b"\n".to_vec()].concat()),
        ("half a character", b"\xf0\x9f\x98".to_vec()),
        ("half a surrogate pair", br#""\ud83d"}"#.to_vec()),
        ("a carriage return", b"\r\n".to_vec()),
        ("noise", (0..=255).rev().collect()),
        ("many newlines", b"\n\n\n".to_vec()),
    ]
}

#[test]
fn a_record_that_is_cut_at_any_byte_is_torn_and_nothing_else_is_lost() {
    let maker = sample();
    let start = maker.starts[2];
    for len in start..maker.bytes.len() - 1 {
        for (kind, waste) in garbage() {
            let bytes = [&maker.bytes[..len], &waste].concat();
            let (envelopes, scanned) = scan(&bubble(), &bytes, start as u64).unwrap();
            let torn = Torn { offset: start as u64, len: (bytes.len() - start) as u64 };
            let expected = if bytes.len() == start { End::Clean } else { End::Torn(torn) };
            assert_eq!((envelopes.len(), scanned.end), (4, expected), "cut at {len}, then {kind}");
        }
    }
}

#[test]
fn a_record_that_was_acknowledged_is_never_torn() {
    let maker = sample();
    let (start, all) = (maker.starts[2], maker.bytes.len() as u64);
    for len in start..maker.bytes.len() - 1 {
        for (kind, waste) in garbage() {
            let bytes = [&maker.bytes[..len], &waste].concat();
            let damaged = end(&bytes, all).unwrap_err();
            assert_eq!((damaged.offset, damaged.line), (start as u64, 5), "cut at {len}, then {kind}");
        }
    }
}

#[test]
fn a_log_that_is_shorter_than_what_was_acknowledged_is_damaged() {
    let maker = sample();
    let all = maker.bytes.len() as u64;
    let damaged = end(&maker.bytes[..maker.starts[2]], all).unwrap_err();
    assert_eq!(damaged.reason, LineError::CutOff { acknowledged_to: all });
    assert_eq!(damaged.offset, maker.starts[2] as u64);
    assert!(end(b"", 1).is_err());
    assert_eq!(end(b"", 0), Ok(End::Clean));
}

#[test]
fn a_later_append_proves_an_earlier_one() {
    let maker = sample();
    let mut bytes = maker.bytes.clone();
    bytes[maker.starts[1] + 30] ^= 1;
    let damaged = end(&bytes, 0).unwrap_err();
    assert_eq!((damaged.offset, damaged.line), (maker.starts[1] as u64, 2));
}

#[test]
fn the_remains_of_one_append_do_not_prove_its_beginning() {
    let mut maker = Maker::default();
    maker.append(&[question("one")]);
    maker.append(&[question("two"), warning("three"), question("four")]);
    let start = maker.starts[1];
    let mut bytes = maker.bytes.clone();
    bytes[start + 3..start + 60].fill(0);
    let torn = Torn { offset: start as u64, len: (bytes.len() - start) as u64 };
    assert_eq!(end(&bytes, 0), Ok(End::Torn(torn)));
}

#[test]
fn a_missing_a_repeated_and_a_moved_line_are_damage() {
    let mut maker = Maker::default();
    maker.append(&[question("a")]).append(&[question("b")]).append(&[question("c")]).append(&[question("d")]);
    let line = |n: usize| &maker.bytes[maker.starts[n]..maker.starts.get(n + 1).copied().unwrap_or(maker.bytes.len())];
    let cases = [vec![0, 2, 3], vec![0, 1, 1, 2, 3], vec![0, 2, 1, 3], vec![1, 2, 3], vec![0, 1, 3]];
    for order in cases {
        let bytes: Vec<u8> = order.iter().flat_map(|n| line(*n)).copied().collect();
        let right = order.iter().zip(0..).take_while(|(n, place)| *n == place).count();
        let damaged = end(&bytes, 0).unwrap_err();
        assert_eq!((damaged.offset, damaged.line), (maker.starts[right] as u64, right as u64 + 1), "{order:?}");
    }
}

#[test]
fn a_whole_record_in_a_wrong_shape_is_damage_and_not_torn() {
    let maker = sample();
    let start = maker.starts[2];
    let (before, last) = maker.bytes.split_at(start);
    let whole = last.strip_suffix(b"\n").unwrap();
    let crlf = [before, whole, b"\r\n"].concat();
    assert_eq!(end(&crlf, 0).unwrap_err().reason, LineError::CarriageReturn);
    let after_torn = [before, &whole[..50], last].concat();
    let glued = end(&after_torn, 0).unwrap_err();
    assert_eq!((glued.byte(), glued.offset), (Some(start as u64 + 50), start as u64));
    let two = [&before[..before.len() - 1], last].concat();
    assert!(matches!(end(&two, 0).unwrap_err().reason, LineError::Glued { .. }));
}

#[test]
fn a_file_that_passed_through_another_systems_editor_is_damaged_from_the_start() {
    let maker = sample();
    let crlf = String::from_utf8(maker.bytes).unwrap().replace('\n', "\r\n");
    let damaged = end(crlf.as_bytes(), 0).unwrap_err();
    assert_eq!(damaged, Damaged { offset: 0, line: 1, reason: LineError::CarriageReturn });
    assert_eq!(damaged.to_string(), "line 1, at byte 0, is damaged: the line ends in a carriage return");
}

#[test]
fn the_log_of_another_bubble_is_damage() {
    let other = "other".parse().unwrap();
    let damaged = scan(&other, &sample().bytes, 0).unwrap_err();
    assert_eq!(damaged.reason, LineError::Foreign { found: "login-race".to_owned() });
}

#[test]
fn an_append_that_does_not_count_down_is_damage() {
    let mut maker = Maker::default();
    maker.append(&[question("a"), question("b")]);
    let first_line = maker.bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut other = Maker { envelopes: maker.envelopes[..1].to_vec(), ..Maker::default() };
    other.hash = LineHash::of(&maker.bytes[..first_line - 1]);
    other.append(&[question("new")]);
    let bytes = [&maker.bytes[..first_line], &other.bytes].concat();
    assert_eq!(end(&bytes, 0), Ok(End::Clean), "one line that ends the append is all that is missing");
    let mut longer = Maker { envelopes: maker.envelopes[..1].to_vec(), hash: other.hash, ..Maker::default() };
    longer.hash = LineHash::of(&maker.bytes[..first_line - 1]);
    longer.append(&[question("new"), question("newer")]);
    let bytes = [&maker.bytes[..first_line], &longer.bytes].concat();
    assert_eq!(end(&bytes, 0).unwrap_err().reason, LineError::OutOfAppend);
}

#[test]
fn garbage_without_end_is_torn_up_to_the_size_of_an_append_and_damage_beyond() {
    let maker = sample();
    for (len, torn) in [(MAX_LINE + 10, true), (MAX_APPEND - 10, true), (MAX_APPEND + MAX_LINE + 10, false)] {
        let bytes = [maker.bytes.as_slice(), &vec![b'x'; len]].concat();
        let bubble = bubble();
        let mut scan = Scan::<Body>::new(&bubble, 0);
        let mut rest: Vec<u8> = Vec::new();
        let fed = bytes.chunks(1 << 18).try_for_each(|piece| {
            rest.extend_from_slice(piece);
            scan.feed(&rest, &mut |_| {}).map(|taken| drop(rest.drain(..taken)))
        });
        let scanned = fed.and_then(|()| scan.finish(&rest, &mut |_| {}));
        assert_eq!(scanned.is_ok(), torn, "{len}");
    }
}

#[test]
fn every_flipped_bit_of_a_log_of_64_kib_is_found_in_its_line() {
    let mut maker = Maker::default();
    maker.fill(64 << 10);
    let bytes = &mut maker.bytes;
    let bubble = bubble();
    let (mut flips, mut prev) = (0, LineHash::NONE);
    for (n, start) in maker.starts.iter().enumerate() {
        let end = maker.starts.get(n + 1).copied().unwrap_or(bytes.len());
        let expect = Expect { bubble_id: &bubble, seq: n as u64 + 1, prev };
        prev = LineHash::of(&bytes[*start..end - 1]);
        for (at, bit) in (*start..end).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            bytes[at] ^= 1 << bit;
            assert!(found(bytes, *start, &expect), "bit {bit} of byte {at}");
            bytes[at] ^= 1 << bit;
            flips += 1;
        }
    }
    assert_eq!(flips, 524_288);
}

/// Whether a reader finds damage in the line that begins at `start`, or that the log ends in the midst of it.
fn found(bytes: &[u8], start: usize, expect: &Expect<'_>) -> bool {
    let line = &bytes[start..];
    let len = memchr::memchr(b'\n', line).unwrap_or(line.len());
    decode::<Body>(&line[..len], expect).is_err()
}

#[test]
fn a_flipped_bit_is_told_with_the_offset_of_its_line_by_a_scan_of_the_whole_log() {
    let mut maker = Maker::default();
    maker.grow_to(6 << 10);
    let all = maker.bytes.len() as u64;
    for at in 0..maker.bytes.len() {
        let mut bytes = maker.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let start = *maker.starts.iter().rev().find(|start| **start <= at).unwrap();
        let damaged = end(&bytes, all).unwrap_err();
        assert_eq!(damaged.offset, start as u64, "byte {at}");
        let in_last = start == *maker.starts.last().unwrap();
        match end(&bytes, 0) {
            Ok(End::Torn(torn)) => assert!(in_last && torn.offset == start as u64, "byte {at}"),
            Ok(other) => panic!("byte {at}: {other:?}"),
            Err(damaged) => assert_eq!(damaged.offset, start as u64, "byte {at}"),
        }
    }
}

proptest! {
    #[test]
    fn no_change_of_a_log_is_taken_for_the_log(at in 0..2000_usize, put in proptest::collection::vec(any::<u8>(), 0..40), cut in 0..40_usize) {
        let maker = sample();
        let (from, to) = (at.min(maker.bytes.len()), (at + cut).min(maker.bytes.len()));
        let bytes = [&maker.bytes[..from], &put, &maker.bytes[to..]].concat();
        let read = scan(&bubble(), &bytes, 0);
        if let Ok((envelopes, scanned)) = &read {
            prop_assert!(maker.envelopes.starts_with(envelopes));
            prop_assert!(bytes == maker.bytes || scanned.end != End::Clean || envelopes.len() < maker.envelopes.len());
        }
        prop_assert!(bytes == maker.bytes || scan(&bubble(), &bytes, maker.bytes.len() as u64).map_or(true, |(all, _)| all == maker.envelopes));
    }
}
