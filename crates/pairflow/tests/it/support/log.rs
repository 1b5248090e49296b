//! A bubble's files as they are on the disk, read without pairflow.

use std::path::PathBuf;

use pairflow_testkit::home::Home;
use serde_json::Value;

/// Returns the directory of a bubble's files.
pub(crate) fn dir(home: &Home, id: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(id)
}

/// Returns the path of a file of a bubble.
pub(crate) fn file(home: &Home, id: &str, name: &str) -> PathBuf {
    home.file(id, name)
}

/// Returns the bytes of a bubble's log.
#[track_caller]
pub(crate) fn bytes(home: &Home, id: &str) -> Vec<u8> {
    std::fs::read(home.log(id)).unwrap()
}

/// Returns the bytes of a bubble's log without a line that is being appended right now.
#[track_caller]
pub(crate) fn whole_lines(home: &Home, id: &str) -> Vec<u8> {
    let mut bytes = bytes(home, id);
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    bytes
}

/// Returns the whole lines of a bubble's log as JSON.
#[track_caller]
pub(crate) fn lines(home: &Home, id: &str) -> Vec<Value> {
    let text = String::from_utf8(whole_lines(home, id)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the lines of one type.
#[track_caller]
pub(crate) fn lines_of(home: &Home, id: &str, kind: &str) -> Vec<Value> {
    lines(home, id).into_iter().filter(|line| line["type"] == kind).collect()
}

/// Returns the lines of one type with a sender or recipient of that name.
#[track_caller]
pub(crate) fn records_of(home: &Home, id: &str, kind: &str, party: &str) -> Vec<Value> {
    let ours = |line: &Value| line["sender"] == party || line["recipient"] == party;
    lines_of(home, id, kind).into_iter().filter(ours).collect()
}

/// Writes into a bubble's log as no command ever does: in place, so that it stays the same file.
#[track_caller]
pub(crate) fn overwrite(home: &Home, id: &str, bytes: &[u8]) {
    std::fs::write(home.log(id), bytes).unwrap();
}

/// Flips a bit in the middle of a bubble's log.
#[track_caller]
pub(crate) fn damage(home: &Home, id: &str) {
    let mut bytes = bytes(home, id);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    overwrite(home, id, &bytes);
}

/// Returns the state that `state.json` shows; nothing while there is none.
pub(crate) fn state(home: &Home, id: &str) -> Option<String> {
    let text = std::fs::read(home.file(id, "state.json")).ok()?;
    let state: Value = serde_json::from_slice(&text).ok()?;
    Some(state["state"].as_str()?.to_owned())
}
