//! One line of the log: what is written is read again, and nothing else is taken for it.

use pairflow_core::facts::Answers;
use pairflow_core::ids::{MsgId, Party};
use pairflow_core::log::frame::{LineError, LineHash, MAX_LINE};
use pairflow_core::log::line::{Expect, decode, encode};
use pairflow_core::log::{
    Body, Control, ControlAction, Delivery, Envelope, Event, Intent, Lifecycle, Pass, Reply, RetryKey,
};
use pairflow_core::time::{Moment, Timestamp};
use proptest::prelude::*;

use crate::support::log_samples::{Maker, bubble, moment, question, seal, warning};

fn envelope(event: Event) -> Envelope {
    Envelope { seq: 1, id: Envelope::name(1, moment(0)), at: moment(0), bubble_id: bubble(), more: 0, event }
}

fn read(line: &[u8]) -> Result<Envelope, LineError> {
    decode(line, &Expect { bubble_id: &bubble(), seq: 1, prev: LineHash::NONE })
}

fn written(event: Event) -> String {
    let bytes = encode(&envelope(event), &LineHash::NONE);
    String::from_utf8(bytes).unwrap().strip_suffix('\n').unwrap().to_owned()
}

/// Returns a line without its checksum, to be changed and sealed again.
fn open(event: Event) -> String {
    let line = written(event);
    line[..line.len() - 18].to_owned()
}

#[test]
fn a_line_has_the_fields_of_the_protocol_in_a_fixed_order() {
    let mut event = question("Which one?");
    event.refs = vec!["artifact://round-001.diff".to_owned()];
    event.in_reply_to = Some(MsgId("msg_20261106_000".to_owned()));
    event.key = Some(RetryKey("abc".to_owned()));
    insta::assert_snapshot!(written(event), @r#"{"seq":1,"id":"msg_20261106_001","ts":"2026-11-06T21:20:00.000Z","bubble_id":"login-race","sender":"orchestrator","recipient":"human","type":"HUMAN_QUESTION","round":1,"payload":{"question":"Which one?","kind":"question"},"refs":["artifact://round-001.diff"],"up":5000,"format":2,"in_reply_to":"msg_20261106_000","key":"abc","prev":"00000000000000000000000000000000","crc":"c7c00a27"}"#);
}

#[test]
fn fields_that_say_nothing_are_left_out() {
    let line = written(question("?"));
    for name in ["in_reply_to", "key", "more", "nth"] {
        assert!(!line.contains(&format!("\"{name}\"")), "{name} in {line}");
    }
}

#[test]
fn the_first_line_alone_names_the_format() {
    let mut maker = Maker::default();
    maker.append(&[question("one"), question("two")]);
    maker.append(&[question("three")]);
    let text = String::from_utf8(maker.bytes).unwrap();
    assert_eq!(text.lines().map(|line| line.contains(",\"format\":2")).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn a_log_of_another_format_is_told_apart_before_anything_else_is_understood() {
    let line = open(question("?"));
    let other = |format: &str| {
        let changed = line.replace(",\"format\":2", format).replace("\"HUMAN_QUESTION\"", "\"OF_ANOTHER_TIME\"");
        read(&seal(&changed)).unwrap_err()
    };
    assert_eq!(other(""), LineError::OtherFormat { found: 1, read: 2 });
    assert_eq!(other(",\"format\":1"), LineError::OtherFormat { found: 1, read: 2 });
    assert_eq!(other(",\"format\":3"), LineError::OtherFormat { found: 3, read: 2 });
    for wrong in [",\"format\":2", ",\"format\":\"2\"", ",\"format\":-1", ",\"format\":2,\"format\":2"] {
        assert!(matches!(other(wrong), LineError::NotAnEnvelope { .. }), "{wrong}");
    }
}

#[test]
fn a_format_that_is_no_number_is_not_read_over() {
    for wrong in ["\"2\"", "2.5", "[2]", "{}"] {
        let line = open(question("?")).replace("\"format\":2", &format!("\"format\":{wrong}"));
        assert!(matches!(read(&seal(&line)), Err(LineError::NotAnEnvelope { .. })), "{wrong}");
    }
}

#[test]
fn fields_of_a_newer_version_are_accepted_and_stay_in_the_line() {
    let line = open(question("?"))
        .replace("{\"question\"", "{\"tone\":{\"deep\":[1,2.5,null,true]},\"question\"")
        .replace(",\"up\"", ",\"state\":\"u1\",\"priority\":3,\"requires_response\":true,\"up\"");
    let sealed = seal(&line);
    assert_eq!(read(&sealed), Ok(envelope(question("?"))));
    assert!(String::from_utf8(sealed).unwrap().contains("\"priority\":3"));
}

#[test]
fn a_payload_before_its_type_is_read_too() {
    let line = open(question("?"));
    let payload = "\"payload\":{\"question\":\"?\",\"kind\":\"question\"},";
    let moved = line.replace(payload, "").replace("\"id\":", &format!("{payload}\"id\":"));
    assert_eq!(read(&seal(&moved)), Ok(envelope(question("?"))));
}

#[test]
fn a_line_of_another_place_is_refused() {
    let line = open(question("?"));
    let refused = |from: &str, to: &str| {
        assert!(line.contains(from), "{from}");
        read(&seal(&line.replacen(from, to, 1))).unwrap_err()
    };
    assert_eq!(refused("login-race", "other"), LineError::Foreign { found: "other".to_owned() });
    assert_eq!(refused("\"seq\":1", "\"seq\":2"), LineError::Gap { expected: 1, found: 2 });
    let chain = LineError::Chain { expected: LineHash::NONE, found: format!("{:031}1", 0) };
    assert_eq!(refused(&format!("{:032}", 0), &format!("{:031}1", 0)), chain);
    for name in ["msg_20261106_002", "msg_20261106_1", "msg_20261106_0001", "msg_20261107_001", "20261106_001", ""] {
        assert_eq!(refused("msg_20261106_001", name), LineError::WrongId { found: name.to_owned() });
    }
}

#[test]
fn a_line_that_is_no_envelope_is_refused_with_the_place() {
    let line = open(question("?"));
    let cases = [
        ("\"round\":1,", "\"round\":1,\"round\":1,", "duplicate field `round`"),
        ("\"round\":1,", "\"round\":1,\"zeal\":1,\"zeal\":2,", "duplicate field `zeal`"),
        ("\"question\":\"?\"", "\"question\":\"?\",\"question\":\"!\"", "duplicate field `question`"),
        ("\"round\":1,", "", "missing field `round`"),
        ("\"payload\":{\"question\":\"?\",\"kind\":\"question\"},", "", "missing field `payload`"),
        ("\"round\":1,", "\"round\":-1,", "invalid value"),
        ("\"round\":1,", "\"round\":1e400,", "number out of range"),
        ("HUMAN_QUESTION", "HUMAN_WISH", "unknown variant `HUMAN_WISH`"),
        ("\"question\":\"?\"", "\"question\":\"\\ud83d\"", "hex escape"),
        ("\"round\":1,", "\"round\":1,\"zeal\":\"\\udc00\",", "surrogate"),
        ("\"question\":\"?\"", "\"question\":\"?\",\"mood\":\"\\ud83dx\"", "hex escape"),
        ("\"sender\":\"orchestrator\"", "\"sender\":\"Not A Name\"", "agent name"),
        ("2026-11-06T21:20:00.000Z", "yesterday", "RFC 3339"),
        ("{\"seq\"", "[{\"seq\"", "invalid type"),
        ("\"refs\":[]", "\"refs\":[", "expected"),
    ];
    for (from, to, said) in cases {
        assert!(line.contains(from), "{from}");
        match read(&seal(&line.replacen(from, to, 1))) {
            Err(LineError::NotAnEnvelope { what, at }) => {
                assert!(what.contains(said) && at < line.len() + to.len() + 18, "{from} -> {to}: {what} at {at}");
            }
            other => panic!("{from} -> {to}: {other:?}"),
        }
    }
}

#[test]
fn deep_nesting_does_not_break_the_stack() {
    for field in [",\"x\":\"\\u0041\",\"deep\":", ",\"deep\":"] {
        let deep = format!("{field}{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let line = open(question("?")).replace(",\"up\"", &format!("{deep},\"up\""));
        let read = read(&seal(&line));
        assert!(read.is_ok() || matches!(read, Err(LineError::NotAnEnvelope { .. })));
    }
}

#[test]
fn a_line_whose_bytes_were_changed_says_what_happened_to_it() {
    let whole = written(question("half a character: ü")).into_bytes();
    let glued = [whole.as_slice(), &whole].concat();
    let crlf = [whole.as_slice(), b"\r"].concat();
    let mut nul = whole.clone();
    nul[40] = 0;
    let cut = whole.iter().rposition(|byte| *byte == 0xc3).unwrap();
    let half = [&whole[..=cut], &whole[cut + 2..]].concat();
    assert_eq!(read(&glued), Err(LineError::Glued { at: whole.len() }));
    assert_eq!(read(&crlf), Err(LineError::CarriageReturn));
    assert_eq!(read(&nul), Err(LineError::Nul { at: 40 }));
    assert_eq!(read(&half), Err(LineError::NotUtf8 { at: cut }));
    assert_eq!(read(b""), Err(LineError::NoChecksum));
    assert_eq!(read(&whole[..whole.len() - 1]), Err(LineError::NoChecksum));
    let said = read(&String::from_utf8(whole).unwrap().replace("half", "full").into_bytes()).unwrap_err().to_string();
    assert!(said.starts_with("the checksum says "), "{said}");
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    assert_eq!(read(&vec![b' '; MAX_LINE]), Err(LineError::TooLong));
    let room = MAX_LINE - 1 - written(question("")).len();
    let longest = written(question(&"x".repeat(room)));
    assert_eq!(longest.len(), MAX_LINE - 1);
    assert!(read(longest.as_bytes()).is_ok());
    assert_eq!(read(written(question(&"x".repeat(room + 1))).as_bytes()), Err(LineError::TooLong));
}

#[test]
fn every_time_and_number_makes_a_name_that_fits() {
    for millis in [i64::MIN, -62_167_219_200_000, -1, 0, 951_782_400_000, 1_794_000_000_123, i64::MAX] {
        for seq in [1, 9, 99, 100, 999, 1000, 123_456_789, u64::MAX] {
            let at = Moment { ts: Timestamp::from_millis(millis), up: u64::MAX };
            let whole = Envelope { seq, id: Envelope::name(seq, at), at, ..envelope(question("?")) };
            let bytes = encode(&whole, &LineHash::NONE);
            let expect = Expect { bubble_id: &bubble(), seq, prev: LineHash::NONE };
            assert_eq!(decode(&bytes[..bytes.len() - 1], &expect), Ok(whole));
        }
    }
}

#[test]
fn a_hash_has_one_spelling() {
    let hash = LineHash::of(b"a line");
    assert_eq!(hash.to_string().parse(), Ok(hash));
    for bad in ["", "+0000000000000000000000000000000", &hash.to_string().to_uppercase(), &format!("{hash}0"), "xyz"] {
        assert!(bad.parse::<LineHash>().is_err(), "{bad}");
    }
}

#[test]
fn lines_of_one_append_count_down_and_say_which_one_they_are() {
    let mut maker = Maker::default();
    maker.append(&[question("a"), warning("b"), question("c")]);
    let text = String::from_utf8(maker.bytes.clone()).unwrap();
    let ends: Vec<&str> =
        text.lines().map(|line| line[line.find("\"up\"").unwrap()..].split(",\"prev").next().unwrap()).collect();
    assert_eq!(
        ends,
        ["\"up\":5000,\"format\":2,\"more\":2", "\"up\":5000,\"more\":1,\"nth\":1", "\"up\":5000,\"nth\":2"]
    );
}

fn party() -> impl Strategy<Value = Party> {
    prop_oneof![
        Just(Party::Human),
        Just(Party::Orchestrator),
        "[a-z][a-z0-9_-]{0,8}".prop_map(|name| name.parse().unwrap())
    ]
}

fn body() -> impl Strategy<Value = Body> {
    let text = any::<String>();
    prop_oneof![
        text.prop_map(|text| question(&text).body),
        any::<String>().prop_map(|text| warning(&text).body),
        any::<String>().prop_map(|message| Body::HumanReply(Reply { message, decision: None })),
        any::<String>().prop_map(|summary| Body::Pass(Pass {
            summary,
            pass_intent: Intent::Review,
            findings: Some(vec![]),
            answers: Answers::default(),
            explanation: None,
            steps: Vec::new(),
            discuss: false,
            reviewed: vec![1, 2],
            judgement: None,
            acceptance: false,
        })),
        any::<String>().prop_map(|reason| Body::Lifecycle(Lifecycle::Failed { reason })),
        any::<String>().prop_map(|reason| Body::Control(Control {
            action: ControlAction::Halt,
            reason,
            waived: None,
            until: None
        })),
        (any::<u64>(), any::<bool>()).prop_map(|(notice, acknowledged)| Body::Delivery(Delivery {
            notice,
            attempt: 0,
            acknowledged
        })),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        parties in (party(), party()),
        body in body(),
        refs in proptest::collection::vec(any::<String>(), 0..3),
        marks in (any::<Option<String>>(), any::<Option<String>>()),
        numbers in (any::<u32>(), any::<u32>(), 1..u64::MAX, any::<u64>(), any::<i64>()),
        prev in any::<[u8; 16]>(),
    ) {
        let (round, more, seq, up, millis) = numbers;
        let at = Moment { ts: Timestamp::from_millis(millis), up };
        let (sender, recipient) = parties;
        let (in_reply_to, key) = (marks.0.map(MsgId), marks.1.map(RetryKey));
        let event = Event { sender, recipient, round, body, refs, in_reply_to, key };
        let whole = Envelope { seq, id: Envelope::name(seq, at), at, bubble_id: bubble(), more, event };
        let bytes = encode(&whole, &LineHash(prev));
        prop_assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        let expect = Expect { bubble_id: &bubble(), seq, prev: LineHash(prev) };
        prop_assert_eq!(decode(&bytes[..bytes.len() - 1], &expect), Ok(whole));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in any::<String>()) {
        prop_assert!(read(&bytes).is_err());
        prop_assert!(read(&seal(&text)).is_err());
    }

    #[test]
    fn no_change_of_a_sealed_line_makes_it_panic(at in 0..250_usize, put in any::<String>(), cut in 0..9_usize) {
        let line = open(question("?"));
        let (from, to) = (at.min(line.len()), (at + cut).min(line.len()));
        let _ = read(&seal(&format!("{}{put}{}", &line[..from], &line[to..])));
    }
}
