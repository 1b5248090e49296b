//! How two trees differ: as facts for the log, as text to read, as a summary.

use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;

use super::error::GitError;
use super::run::{Call, Git, Output};

/// Returns every file that differs between two trees, in git's order. Renames are a deletion and an addition.
pub fn changes(git: &Git, from: &TreeId, to: &TreeId) -> Result<Vec<FileChange>, GitError> {
    if from == to {
        return Ok(Vec::new());
    }
    let answer = difference(git, (from, to), &["-z", "--raw", "--numstat"], &[], None)?;
    let mut found: Vec<FileChange> = Vec::new();
    let mut counted = 0;
    let mut parts = answer.parts();
    while let Some(part) = parts.next() {
        if part.starts_with(b":") {
            let status = part.last().copied().map(char::from).ok_or_else(|| answer.unexpected())?;
            let path = parts.next().ok_or_else(|| answer.unexpected())?;
            found.push(FileChange { path: text(path), status, added: None, removed: None });
        } else {
            let (path, added, removed) = numbers(part).ok_or_else(|| answer.unexpected())?;
            // The counts follow in the order of the files, but not every file needs to have some.
            let later = found[counted..].iter().position(|change| change.path == path);
            counted += later.ok_or_else(|| answer.unexpected())?;
            (found[counted].added, found[counted].removed) = (added, removed);
        }
    }
    Ok(found)
}

/// Whether two changes are the same: the same files, from the same content and mode to the same content and mode.
pub fn same_change(git: &Git, one: (&TreeId, &TreeId), other: (&TreeId, &TreeId)) -> Result<bool, GitError> {
    let raw = |trees| difference(git, trees, &["-z", "--raw", "--no-abbrev"], &[], None).map(|answer| answer.stdout);
    Ok(raw(one)? == raw(other)?)
}

/// Returns the difference as a patch of at most `max_bytes`; a longer one is cut after a whole line, with a note.
pub fn diff_text(git: &Git, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Vec<u8>, GitError> {
    patch(git, (from, to), &AS_PATCH, max_bytes)
}

/// Returns the difference like [`diff_text`], with the content of binary files: a patch that `git apply` takes.
pub fn exact_patch(git: &Git, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Vec<u8>, GitError> {
    patch(git, (from, to), &with(&["--binary"]), max_bytes)
}

/// Returns the difference of the files `paths` as lines of text, whatever their bytes are; at most `max_bytes` of it.
pub fn line_diff(git: &Git, trees: (&TreeId, &TreeId), paths: &[&str], max_bytes: usize) -> Result<Output, GitError> {
    difference(git, trees, &with(&["--text"]), paths, Some(max_bytes))
}

/// Returns the difference of one file like [`line_diff`], without the lines around it.
pub(crate) fn bare_line_diff(
    git: &Git,
    trees: (&TreeId, &TreeId),
    path: &str,
    max_bytes: usize,
) -> Result<Output, GitError> {
    difference(git, trees, &with(&["--text", "-U0"]), &[path], Some(max_bytes))
}

/// Returns git's summary: a line for each file, and the totals.
pub fn diff_stat(git: &Git, from: &TreeId, to: &TreeId) -> Result<String, GitError> {
    let answer = difference(git, (from, to), &["--stat=100"], &[], None)?;
    Ok(text(&answer.stdout))
}

const AS_PATCH: [&str; 3] = ["-p", "--src-prefix=a/", "--dst-prefix=b/"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    AS_PATCH.iter().chain(more).copied().collect()
}

fn patch(git: &Git, trees: (&TreeId, &TreeId), how: &[&str], max_bytes: usize) -> Result<Vec<u8>, GitError> {
    let mut answer = difference(git, trees, how, &[], Some(max_bytes))?;
    if answer.cut {
        let whole = answer.stdout.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        answer.stdout.truncate(whole);
        let note = format!("[the rest was left out: the difference is longer than {max_bytes} bytes]\n");
        answer.stdout.extend_from_slice(note.as_bytes());
    }
    Ok(answer.stdout)
}

/// Asks git how two trees differ. Every difference that pairflow shows, counts or decides by comes from here: no setting,
/// attribute or file has a say in it.
fn difference(
    git: &Git,
    (from, to): (&TreeId, &TreeId),
    how: &[&str],
    paths: &[&str],
    limit: Option<usize>,
) -> Result<Output, GitError> {
    let plain = ["diff-tree", "-r", "--no-renames", "--no-color", "--ignore-submodules=none"];
    let call = Call::new(plain.iter().chain(how)).arg(&from.0).arg(&to.0).arg("--");
    let call = paths.iter().fold(call, Call::arg);
    let call = match limit {
        Some(limit) => call.cut_at(limit),
        None => call,
    };
    git.objects_alone(&from.0)?.run(call)
}

/// Reads `added TAB removed TAB path`; a binary file has dashes instead of numbers.
fn numbers(part: &[u8]) -> Option<(String, Option<u64>, Option<u64>)> {
    let line = text(part);
    let mut words = line.splitn(3, '\t');
    let (added, removed) = (words.next()?.parse().ok(), words.next()?.parse().ok());
    Some((words.next()?.to_owned(), added, removed))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
