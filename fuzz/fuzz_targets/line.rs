//! The parser of the log, given anything at all.
//!
//! Nothing may make it panic. However the bytes arrive, whole or in pieces, it says the same. And since no fuzzer
//! guesses a checksum, the bytes are also taken as a line that lacks only its end: what is understood then has to
//! survive being written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::Body;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::line::{Expect, decode, encode};
use pairflow_core::log::scan::{Scan, scan};

fuzz_target!(|data: &[u8]| {
    let bubble: BubbleId = "fixture".parse().expect("this is a valid name");
    in_pieces(&bubble, data);
    sealed(&bubble, data);
});

/// A log that arrives in pieces is the log that arrives at once.
fn in_pieces(bubble: &BubbleId, data: &[u8]) {
    let acknowledged_to = data.first().copied().map_or(0, u64::from);
    let whole = scan(bubble, data, acknowledged_to);
    let (mut envelopes, mut scanning) = (Vec::new(), Scan::new(bubble, acknowledged_to));
    let middle = data.len() / 2;
    let pieces = scanning.feed(&data[..middle], &mut |envelope| envelopes.push(envelope)).and_then(|taken| {
        let more = scanning.feed(&data[taken..], &mut |envelope| envelopes.push(envelope))?;
        scanning.finish(&data[taken + more..], &mut |envelope| envelopes.push(envelope))
    });
    match (whole, pieces) {
        (Ok((all, end)), Ok(other)) => assert!(end == other && all == envelopes),
        (Err(one), Err(other)) => assert_eq!(one, other),
        (one, other) => panic!("{one:?} at once, {other:?} in pieces"),
    }
}

/// What is understood survives being written and read again.
fn sealed(bubble: &BubbleId, data: &[u8]) {
    let mut line = data.to_vec();
    line.extend_from_slice(format!(",\"prev\":\"{}\"", LineHash::NONE).as_bytes());
    let crc = crc32c::crc32c(&line);
    line.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}").as_bytes());
    let expect = Expect { bubble_id: bubble, seq: 1, prev: LineHash::NONE };
    let Ok(envelope) = decode::<Body>(&line, &expect) else { return };
    let mut written = encode(&envelope, &LineHash::NONE);
    assert_eq!(written.pop(), Some(b'\n'));
    assert_eq!(decode(&written, &expect), Ok(envelope));
}
