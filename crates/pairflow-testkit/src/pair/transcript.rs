//! The log of a bubble as it lies on the disk, read without pairflow.

use std::collections::BTreeMap;

use serde_json::Value;

/// The whole appends of a log: what a writer had not finished does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    bytes: Vec<u8>,
    messages: Vec<Value>,
}

impl Transcript {
    /// Reads the bytes of a log.
    ///
    /// # Panics
    /// If a line of it is no JSON.
    #[track_caller]
    pub fn read(mut bytes: Vec<u8>) -> Self {
        let (mut messages, mut at, mut whole) = (Vec::new(), 0, (0, 0));
        for line in lines(&bytes).filter(|line| line.ends_with(b"\n")) {
            let message: Value = serde_json::from_slice(line)
                .unwrap_or_else(|error| panic!("{error} in a line of a log: {}", String::from_utf8_lossy(line)));
            at += line.len();
            // The lines of one append count down to its end.
            let ends = message["more"].as_u64().unwrap_or(0) == 0;
            messages.push(message);
            whole = if ends { (at, messages.len()) } else { whole };
        }
        bytes.truncate(whole.0);
        messages.truncate(whole.1);
        Self { bytes, messages }
    }

    /// Returns how many lines it has.
    pub fn lines(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Returns the messages of a type, in their order.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.messages.iter().filter(move |message| message["type"] == kind)
    }

    /// Returns the message with this name.
    pub fn message(&self, id: &str) -> Option<&Value> {
        self.messages.iter().find(|message| message["id"] == id)
    }

    /// Returns who handed over in which round, and with which words.
    pub fn handovers(&self) -> Vec<(&str, u64, &str)> {
        self.of("PASS").map(handover).collect()
    }

    /// Returns the first line of an earlier reading that does not stand where it stood, with its number.
    pub fn first_lost<'a>(&self, earlier: &'a Self) -> Option<(u64, &'a Value)> {
        if self.bytes.starts_with(&earlier.bytes) {
            return None;
        }
        let at = lines(&earlier.bytes).zip(lines(&self.bytes)).take_while(|(then, now)| then == now).count();
        Some((at as u64 + 1, &earlier.messages[at]))
    }

    /// Returns how often notices were sent again: every attempt after the first.
    pub fn retries(&self) -> u64 {
        self.of("DELIVERY").filter(|one| one["payload"]["attempt"].as_u64() > Some(1)).count() as u64
    }

    /// Returns how often each notice was acknowledged.
    pub fn acknowledged(&self) -> BTreeMap<u64, u64> {
        let mut times = BTreeMap::new();
        let known = self.of("DELIVERY").filter(|one| one["payload"]["acknowledged"] == true);
        for notice in known.filter_map(|one| one["payload"]["notice"].as_u64()) {
            *times.entry(notice).or_default() += 1;
        }
        times
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Returns sender, round and words of a hand-over. What is missing is empty, as in no hand-over.
fn handover(pass: &Value) -> (&str, u64, &str) {
    let (sender, summary) = (&pass["sender"], &pass["payload"]["summary"]);
    let round = pass["round"].as_u64().unwrap_or_default();
    (sender.as_str().unwrap_or_default(), round, summary.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> Transcript {
        Transcript::read(lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes())
    }

    #[test]
    fn only_whole_appends_count() {
        let text = b"{\"id\":\"a\"}\n{\"id\":\"b\",\"more\":1}\n{\"id\":\"c\"}\n";
        let whole = Transcript::read(text.to_vec());
        assert_eq!(whole.lines(), 3);
        let first = log(&[r#"{"id":"a"}"#]);
        // In the middle of its last line, between its two lines, and in the middle of the line before.
        for cut in [1, 11, 15] {
            assert_eq!(Transcript::read(text[..text.len() - cut].to_vec()), first, "{cut}");
        }
    }

    #[test]
    fn a_line_that_is_gone_or_another_is_found() {
        let (one, two, three) = (r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#);
        let before = log(&[one, two]);
        assert_eq!(log(&[one, two]).first_lost(&before), None);
        assert_eq!(log(&[one, two, three]).first_lost(&before), None);
        let lost = |now: &[&str]| log(now).first_lost(&before).map(|(number, line)| (number, line["id"].clone()));
        assert_eq!(lost(&[one]), Some((2, "b".into())));
        assert_eq!(lost(&[one, three]), Some((2, "b".into())));
        assert_eq!(lost(&[two, three]), Some((1, "a".into())));
        assert_eq!(lost(&[]), Some((1, "a".into())));
    }

    #[test]
    fn attempts_after_the_first_and_acknowledgements_are_counted() {
        let log = log(&[
            r#"{"type":"DELIVERY","payload":{"notice":1,"attempt":1,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":1,"acknowledged":true}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"attempt":1,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"attempt":2,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"attempt":3,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"acknowledged":true}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"acknowledged":true}}"#,
            r#"{"type":"PASS","payload":{"attempt":9,"acknowledged":true}}"#,
        ]);
        assert_eq!(log.retries(), 2);
        assert_eq!(log.acknowledged(), BTreeMap::from([(1, 1), (2, 2)]));
    }
}
