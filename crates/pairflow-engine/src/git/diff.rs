//! How two trees differ: as facts for the log, as text to read, as a summary.

use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;

use super::error::GitError;
use super::run::{Call, Git, Output};

const PLAIN: [&str; 5] = ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv"];

/// Returns every file that differs between two trees, in git's order. Renames are a deletion and an addition.
pub fn changes(git: &Git, from: &TreeId, to: &TreeId) -> Result<Vec<FileChange>, GitError> {
    let call = Call::new(PLAIN).arg("-z").arg("--raw").arg("--numstat").arg(&from.0).arg(&to.0);
    let answer = git.run(call)?;
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

/// Returns the difference as a patch of at most `max_bytes`; a longer one is cut after a whole line, with a note.
pub fn diff_text(git: &Git, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Vec<u8>, GitError> {
    patch(git, Call::new(PLAIN), (from, to), max_bytes)
}

/// Returns the difference of the files `paths` as lines of text, whatever attributes and their bytes say of them; at most
/// `max_bytes` of it.
pub fn line_diff(
    git: &Git,
    (from, to): (&TreeId, &TreeId),
    paths: &[&str],
    max_bytes: usize,
) -> Result<Output, GitError> {
    let call = as_patch(Call::new(PLAIN).arg("--text")).arg(&from.0).arg(&to.0).arg("--");
    git.run(paths.iter().fold(call, Call::arg).cut_at(max_bytes))
}

/// Returns the difference like [`diff_text`], with the content of binary files: a patch that `git apply` takes.
pub fn exact_patch(git: &Git, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Vec<u8>, GitError> {
    patch(git, Call::new(PLAIN).arg("--binary"), (from, to), max_bytes)
}

fn patch(git: &Git, call: Call, (from, to): (&TreeId, &TreeId), max_bytes: usize) -> Result<Vec<u8>, GitError> {
    let mut answer = git.run(as_patch(call).arg(&from.0).arg(&to.0).cut_at(max_bytes))?;
    if answer.cut {
        let whole = answer.stdout.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        answer.stdout.truncate(whole);
        let note = format!("[the rest was left out: the difference is longer than {max_bytes} bytes]\n");
        answer.stdout.extend_from_slice(note.as_bytes());
    }
    Ok(answer.stdout)
}

fn as_patch(call: Call) -> Call {
    call.arg("-p").arg("--no-color").arg("--src-prefix=a/").arg("--dst-prefix=b/")
}

/// Returns git's summary: a line for each file, and the totals.
pub fn diff_stat(git: &Git, from: &TreeId, to: &TreeId) -> Result<String, GitError> {
    let answer = git.run(Call::new(PLAIN).arg("--stat=100").arg("--no-color").arg(&from.0).arg(&to.0))?;
    Ok(text(&answer.stdout))
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
