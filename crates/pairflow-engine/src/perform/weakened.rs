//! The tests that the whole change deletes, skips or weakens, read out of every changed file that can hold tests.
//!
//! Neither an attribute nor a size hides one: the files are read as text whatever attributes say, and what is too much
//! to be read is named as such.

use pairflow_core::facts::FileChange;
use pairflow_core::gates::{TestChange, TestChangeKind, may_hold_tests, weakened};
use pairflow_core::ids::TreeId;

use crate::engine::EngineError;
use crate::git::{Git, line_diff};

/// How much of a difference is read, in bytes.
const LIMIT: usize = 8 * 1024 * 1024;
/// How many changed tests are named.
const NAMED: usize = 100;
/// How many files are asked for at once, and how many bytes their names may take.
const AT_ONCE: (usize, usize) = (500, 64 * 1024);
/// How often git is asked in all. To find the one file among 500 that is too large takes 19 calls.
const CALLS: usize = 100;

/// Names the tests that are weaker in the second tree than in the first, and the files of which nobody knows.
pub(super) fn weakened_tests(
    git: &Git,
    trees: (&TreeId, &TreeId),
    changed: &[FileChange],
) -> Result<Vec<TestChange>, EngineError> {
    let mut files: Vec<_> = changed.iter().filter(|file| may_hold_tests(&file.path)).collect();
    // Small changes first: one that is too large then hides nothing but itself.
    files.sort_by_key(|file| file.added.unwrap_or(0).saturating_add(file.removed.unwrap_or(0)));
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    let read = read(git, trees, &paths)?;
    let mut found = weakened(&read.diff);
    if let Some(first) = found.get(NAMED) {
        let more = format!("{} more changes of tests are not named here", found.len() - NAMED);
        let rest = unread(&first.path, &more);
        found.truncate(NAMED);
        found.push(rest);
    }
    if let Some(first) = read.unread.first() {
        let what = match read.unread.len() {
            1 => "its change is too large to be compared".to_owned(),
            n => format!("its change, and that of {} more files with tests, is too large to be compared", n - 1),
        };
        found.insert(0, unread(first, &what));
    }
    Ok(found)
}

fn unread(path: &str, what: &str) -> TestChange {
    TestChange::new(path, 1, TestChangeKind::Unread, what)
}

/// The differences of some files, and the files whose difference is not all there.
struct Read<'a> {
    diff: String,
    unread: Vec<&'a str>,
}

fn read<'a>(git: &Git, trees: (&TreeId, &TreeId), paths: &[&'a str]) -> Result<Read<'a>, EngineError> {
    // A name that is no text cannot be asked for.
    let (named, unread): (Vec<_>, Vec<_>) = paths.iter().copied().partition(|path| !path.contains('\u{fffd}'));
    let mut read = Read { diff: String::new(), unread };
    let mut calls = 0;
    let mut left = batches(&named);
    while let Some(batch) = left.pop() {
        calls += 1;
        if calls > CALLS {
            read.unread.extend(batch);
            continue;
        }
        let answer = line_diff(git, trees, batch, LIMIT.saturating_sub(read.diff.len()))?;
        match batch.len() {
            _ if !answer.cut => read.diff.push_str(&String::from_utf8_lossy(&answer.stdout)),
            1 => read.unread.extend(batch),
            // One of them is too large. What was cut in its middle would look like tests that are gone.
            n => left.extend([&batch[n / 2..], &batch[..n / 2]]),
        }
    }
    Ok(read)
}

/// Divides files into such as can be asked for at once, the last ones first.
fn batches<'p, 'a>(paths: &'p [&'a str]) -> Vec<&'p [&'a str]> {
    let mut rest = paths;
    let mut batches = Vec::new();
    while !rest.is_empty() {
        let batch;
        (batch, rest) = rest.split_at(batch_of(rest));
        batches.push(batch);
    }
    batches.reverse();
    batches
}

/// How many files from the beginning are asked for at once; one at least.
fn batch_of(paths: &[&str]) -> usize {
    let (most, mut room) = AT_ONCE;
    let fits = |path: &&&str| {
        let left = room.checked_sub(path.len() + 1);
        room = left.unwrap_or(0);
        left.is_some()
    };
    paths.iter().take(most).take_while(fits).count().max(1)
}
