//! Checks that pairflow does itself on the newest snapshot: documents, red-green (new tests have to fail on the base), and
//! tests that the change deletes, skips or weakens. The latter are read as text, whatever git attributes say, and a change
//! that is too large to be read is named as such.

use std::time::Instant;

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, FileChange, Outcome, Receipt};
use pairflow_core::gates::document::{DocumentCheck, examine, report};
use pairflow_core::gates::{TestChange, TestChangeKind, is_test_file, may_hold_tests, weakened};
use pairflow_core::ids::TreeId;
use pairflow_core::rules::Check;

use super::checkout::{CheckCommand, CheckDir, Context, place};
use crate::checks::CheckResult;
use crate::engine::{Bubble, EngineError};
use crate::git::{Git, GitCall, line_diff};
use crate::process::tail;

/// The longest document, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;
/// How much of a report a receipt shows.
const TAIL: (usize, usize) = (20, 2000);

/// Runs one of the document checks.
pub(super) fn check_document(
    bubble: &Bubble,
    state: &BubbleState,
    check: &Check,
    tree: &TreeId,
) -> Result<CheckResult, EngineError> {
    let began = Instant::now();
    let paths = document_paths(state);
    let (outcome, output) = match DocumentCheck::ALL.into_iter().find(|one| one.name() == check.name) {
        None => {
            let why = format!("this version of pairflow has no check '{}'", check.name);
            (Outcome::CouldNotCheck { why: why.clone() }, why)
        }
        Some(_) if listed_in_part(state) => {
            let why = "too many files changed to tell which are the documents; name them with `--document PATH`";
            (Outcome::CouldNotCheck { why: why.to_owned() }, why.to_owned())
        }
        Some(_) if paths.is_empty() => {
            let why = "no Markdown file was changed; name the document with `--document PATH`".to_owned();
            (failed(), why)
        }
        Some(gate) => match read_documents(bubble, state, tree, &paths)? {
            Ok(documents) => judge_document(gate, &documents),
            Err(why) => (Outcome::CouldNotCheck { why: why.clone() }, why),
        },
    };
    let tail = tail(output.as_bytes(), TAIL.0, TAIL.1);
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let command = CheckCommand { name: &check.name, command: &check.command, tree };
    let receipt = Receipt { duration_ms: took, ..command.receipt(outcome, tail, CheckPlace::Checkout) };
    Ok(CheckResult { receipt, output: output.into_bytes() })
}

/// Returns the documents: those that were named, else the Markdown files that the bubble changed.
pub(crate) fn document_paths(state: &BubbleState) -> Vec<String> {
    if !state.rules.documents.is_empty() {
        return state.rules.documents.clone();
    }
    let changed =
        state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.changed).filter(|change| change.status != 'D');
    let markdown = |path: &&String| [".md", ".markdown"].iter().any(|end| path.to_lowercase().ends_with(end));
    changed.map(|change| &change.path).filter(markdown).cloned().collect()
}

fn judge_document(gate: DocumentCheck, documents: &[(String, String)]) -> (Outcome, String) {
    let remarks: Vec<_> = examine(documents).into_iter().filter(|remark| remark.check == gate).collect();
    let outcome = if remarks.is_empty() { Outcome::Passed } else { failed() };
    (outcome, report(gate, &remarks))
}

fn failed() -> Outcome {
    Outcome::Failed { exit: Some(1), timed_out: false }
}

/// Whether the list of changed files was cut, so that a document may be missing.
fn listed_in_part(state: &BubbleState) -> bool {
    state.rules.documents.is_empty()
        && state.evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.whole.is_some())
}

/// Reads the documents from `tree`, or returns why they cannot be judged. A missing one is empty, which fails every check.
fn read_documents(
    bubble: &Bubble,
    state: &BubbleState,
    tree: &TreeId,
    paths: &[String],
) -> Result<Result<Vec<(String, String)>, String>, EngineError> {
    let git = bubble.workspace(state)?.git();
    let mut documents = Vec::with_capacity(paths.len());
    for path in paths {
        let call = GitCall::new(["cat-file", "blob", &format!("{tree}:{path}")]).accept(&[0, 128]).cut_at(LONGEST);
        let blob = git.run(call)?;
        if blob.cut {
            return Ok(Err(format!("{path} is too long; the limit is {} MiB", LONGEST / 1024 / 1024)));
        }
        documents.push((path.clone(), String::from_utf8_lossy(&blob.stdout).into_owned()));
    }
    Ok(Ok(documents))
}

/// Runs the test command on the base with the new tests in it; returns `None` if it was cancelled.
pub(super) fn check_red_green(context: Context<'_>, check: &Check) -> Result<Option<CheckResult>, EngineError> {
    let Context { bubble, state, cancel, .. } = context;
    let (Some(snapshot), Some(workspace)) = (&state.evidence.snapshot, &state.evidence.workspace) else {
        return Ok(None);
    };
    let command = CheckCommand { name: &check.name, command: &check.command, tree: &snapshot.tree };
    if snapshot.whole.is_some() {
        let why = "too many files changed to tell which of them are tests".to_owned();
        return Ok(Some(command.without_run(Outcome::CouldNotCheck { why: why.clone() }, why, CheckPlace::Checkout)));
    }
    let tests = changed_tests(&snapshot.changed);
    if !tests.iter().any(|path| is_test_file(path)) {
        let why = "no test file was added or changed, so nothing shows that the tests would notice the fault";
        let outcome = Outcome::Failed { exit: None, timed_out: false };
        return Ok(Some(command.without_run(outcome, why.to_owned(), CheckPlace::Checkout)));
    }
    let mut checkout = match CheckDir::open(context, &workspace.base, place(state))? {
        Ok(checkout) => checkout,
        Err(failure) => return Ok(failure.receipt(command)),
    };
    // A suite that fails on the base anyway would fail for any test.
    let Some(before) = checkout.run_after_setup(command, true, cancel)? else { return Ok(None) };
    if !before.receipt.outcome.passed() {
        let why = "the test command already fails on the base, so a new test cannot be seen to fail there";
        let outcome = Outcome::CouldNotCheck { why: why.to_owned() };
        return Ok(Some(CheckResult { receipt: Receipt { outcome, ..before.receipt }, output: before.output }));
    }
    copy_tests(bubble, state, &checkout, &tests)?;
    // The setup command may need the tests, too, and may overwrite them.
    let ready = checkout.set_up(cancel)?;
    copy_tests(bubble, state, &checkout, &tests)?;
    let ran = match ready {
        Ok(()) => checkout.run_unchecked(command, cancel).map(|ran| judge_new_tests(ran, &tests)),
        Err(failure) => failure.receipt(command),
    };
    checkout.require_setup()?;
    Ok(ran)
}

/// Returns the test files and test data that a change adds or changes.
pub(super) fn changed_tests(changed: &[FileChange]) -> Vec<String> {
    let changed = changed.iter().filter(|change| change.status != 'D');
    changed.map(|change| change.path.clone()).filter(|path| is_test_file(path) || is_test_data(path)).collect()
}

/// Whether a file is in a directory for test data.
fn is_test_data(path: &str) -> bool {
    let homes = ["tests", "test", "testdata", "fixtures", "__tests__", "__snapshots__", "spec"];
    let mut parts: Vec<_> = path.split('/').collect();
    parts.pop();
    parts.iter().any(|part| homes.contains(part))
}

/// Writes the test files of the newest snapshot into the checkout of the base.
fn copy_tests(bubble: &Bubble, state: &BubbleState, checkout: &CheckDir, tests: &[String]) -> Result<(), EngineError> {
    let workspace = bubble.workspace(state)?;
    let Some(snapshot) = &state.evidence.snapshot else { return Ok(()) };
    for path in tests {
        let blob = workspace.git().run(GitCall::new(["cat-file", "blob", &format!("{}:{path}", snapshot.commit)]))?;
        let to = checkout.path().join(path);
        let failed = |error| EngineError::io(format!("cannot write {}", to.display()), error);
        let parent = to.parent().unwrap_or(checkout.path());
        std::fs::create_dir_all(parent).map_err(failed)?;
        if !parent.canonicalize().map_err(failed)?.starts_with(checkout.path().canonicalize().map_err(failed)?) {
            return Err(EngineError::Effect(format!("{path} leads out of the checkout through a link")));
        }
        // A link of the base is replaced, not followed.
        let _ = std::fs::remove_file(&to);
        crate::regular::write(&to, &blob.stdout).map_err(failed)?;
    }
    Ok(())
}

/// Judges the new tests: they have to fail on the base.
fn judge_new_tests(mut ran: CheckResult, tests: &[String]) -> CheckResult {
    let names = tests.join(", ");
    let (outcome, words) = match ran.receipt.outcome {
        Outcome::Failed { timed_out: false, .. } => {
            (Outcome::Passed, format!("the tests fail on the base, as they should: {names}"))
        }
        Outcome::Passed => {
            let words = format!("the tests already pass on the base, so they prove nothing: {names}");
            (Outcome::Failed { exit: Some(0), timed_out: false }, words)
        }
        Outcome::Failed { .. } => {
            let why = "the tests timed out on the base".to_owned();
            (Outcome::CouldNotCheck { why: why.clone() }, why)
        }
        Outcome::CouldNotCheck { why } => (Outcome::CouldNotCheck { why: why.clone() }, why),
    };
    ran.receipt.outcome = outcome;
    ran.receipt.tail = format!("{words}\n\n{}", ran.receipt.tail);
    ran.output.splice(0..0, format!("{words}\n\n").into_bytes());
    ran
}

/// How much of a difference is read, in bytes.
const DIFF_LIMIT: usize = 8 * 1024 * 1024;
/// How many changed tests a snapshot names.
const MAX_NAMED: usize = 100;
/// How many files are read in one call, and how many bytes their names may take.
const BATCH: (usize, usize) = (500, 64 * 1024);
/// How many calls of git there are in all. To find the one file among 500 that is too large takes 19.
const MAX_CALLS: usize = 100;

/// Returns the tests that are weaker in the second tree than in the first, and the files that could not be read.
pub(super) fn weakened_tests(
    git: &Git,
    trees: (&TreeId, &TreeId),
    changed: &[FileChange],
) -> Result<Vec<TestChange>, EngineError> {
    let mut files: Vec<_> = changed.iter().filter(|file| may_hold_tests(&file.path)).collect();
    // Small changes first: one that is too large then hides nothing but itself.
    files.sort_by_key(|file| file.added.unwrap_or(0).saturating_add(file.removed.unwrap_or(0)));
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    let read = read_diffs(git, trees, &paths)?;
    let mut found = weakened(&read.diff);
    if let Some(first) = found.get(MAX_NAMED) {
        let more = format!("{} more changes of tests are not named here", found.len() - MAX_NAMED);
        let rest = unread(&first.path, &more);
        found.truncate(MAX_NAMED);
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

/// The diffs of some files, and the files whose diff is incomplete.
struct TestDiffs<'a> {
    diff: String,
    unread: Vec<&'a str>,
}

fn read_diffs<'a>(git: &Git, trees: (&TreeId, &TreeId), paths: &[&'a str]) -> Result<TestDiffs<'a>, EngineError> {
    // A name that is not UTF-8 cannot be passed to git.
    let (named, unread): (Vec<_>, Vec<_>) = paths.iter().copied().partition(|path| !path.contains('\u{fffd}'));
    let mut read = TestDiffs { diff: String::new(), unread };
    let mut calls = 0;
    let mut left = batches(&named);
    while let Some(batch) = left.pop() {
        calls += 1;
        if calls > MAX_CALLS {
            read.unread.extend(batch);
            continue;
        }
        let answer = line_diff(git, trees, batch, DIFF_LIMIT.saturating_sub(read.diff.len()))?;
        match batch.len() {
            _ if !answer.cut => read.diff.push_str(&String::from_utf8_lossy(&answer.stdout)),
            1 => read.unread.extend(batch),
            // One of them is too large. A cut diff would look as if tests were gone.
            n => left.extend([&batch[n / 2..], &batch[..n / 2]]),
        }
    }
    Ok(read)
}

/// Divides files into batches for one call each, the last ones first.
fn batches<'p, 'a>(paths: &'p [&'a str]) -> Vec<&'p [&'a str]> {
    let mut rest = paths;
    let mut batches = Vec::new();
    while !rest.is_empty() {
        let batch;
        (batch, rest) = rest.split_at(batch_len(rest));
        batches.push(batch);
    }
    batches.reverse();
    batches
}

/// Returns how many files from the beginning fit into one call; at least one.
fn batch_len(paths: &[&str]) -> usize {
    let (most, mut room) = BATCH;
    let fits = |path: &&&str| {
        let left = room.checked_sub(path.len() + 1);
        room = left.unwrap_or(0);
        left.is_some()
    };
    paths.iter().take(most).take_while(fits).count().max(1)
}
