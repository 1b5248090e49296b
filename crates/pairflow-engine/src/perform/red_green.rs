//! Red, then green: the tests that the work brought along have to fail on the tree that the bubble was cut from.

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, Outcome, Receipt, Snapshot};
use pairflow_core::gates::is_test_file;
use pairflow_core::rules::Check;

use super::bench::{Bench, Errand, Site, place};
use crate::checks::Checked;
use crate::engine::{Bubble, EngineError};
use crate::git::Call;

/// Runs the test command on the base with the new tests put into it; nothing comes of it when it is cancelled.
pub(super) fn check(site: Site<'_>, check: &Check) -> Result<Option<Checked>, EngineError> {
    let Site { bubble, state, cancel, .. } = site;
    let (Some(snapshot), Some(workspace)) = (&state.evidence.snapshot, &state.evidence.workspace) else {
        return Ok(None);
    };
    if snapshot.whole.is_some() {
        let why = "too many files changed to tell which of them are tests".to_owned();
        return Ok(Some(said(check, snapshot, Outcome::CouldNotCheck { why: why.clone() }, &why)));
    }
    let tests = tests(snapshot);
    if !tests.iter().any(|path| is_test_file(path)) {
        let why = "no test file was added or changed, so nothing shows that the tests would notice the fault";
        return Ok(Some(said(check, snapshot, Outcome::Failed { exit: None, timed_out: false }, why)));
    }
    let errand = Errand { name: &check.name, command: &check.command, tree: &snapshot.tree };
    let mut bench = match Bench::open(site, &workspace.base, place(state))? {
        Ok(bench) => bench,
        Err(unready) => return Ok(unready.receipt(errand)),
    };
    // A suite that fails by itself there would fail for any test.
    let Some(before) = bench.judge(errand, true, cancel)? else { return Ok(None) };
    if !before.receipt.outcome.passed() {
        let why = "the test command does not pass on the base by itself, so a new test cannot be seen to fail there";
        let outcome = Outcome::CouldNotCheck { why: why.to_owned() };
        return Ok(Some(Checked { receipt: Receipt { outcome, ..before.receipt }, output: before.output }));
    }
    bring(bubble, state, &bench, &tests)?;
    // The setup command may have to do with the tests, too, and puts back what is not the base's.
    let ready = bench.set_up(cancel)?;
    bring(bubble, state, &bench, &tests)?;
    let ran = match ready {
        Ok(()) => bench.run_freely(errand, cancel).map(|ran| judged(ran, &tests)),
        Err(unready) => unready.receipt(errand),
    };
    bench.spoil()?;
    Ok(ran)
}

/// The test files that the work added or changed.
fn tests(snapshot: &Snapshot) -> Vec<String> {
    let changed = snapshot.changed.iter().filter(|change| change.status != 'D');
    changed.map(|change| change.path.clone()).filter(|path| is_test_file(path) || is_test_data(path)).collect()
}

/// Whether a file lies where tests keep what they read.
fn is_test_data(path: &str) -> bool {
    let homes = ["tests", "test", "testdata", "fixtures", "__tests__", "__snapshots__", "spec"];
    let mut parts: Vec<_> = path.split('/').collect();
    parts.pop();
    parts.iter().any(|part| homes.contains(part))
}

/// Writes the test files of the newest snapshot into the checkout of the base.
fn bring(bubble: &Bubble, state: &BubbleState, bench: &Bench, tests: &[String]) -> Result<(), EngineError> {
    let workspace = bubble.workspace(state)?;
    let Some(snapshot) = &state.evidence.snapshot else { return Ok(()) };
    for path in tests {
        let blob = workspace.git().run(Call::new(["cat-file", "blob", &format!("{}:{path}", snapshot.commit)]))?;
        let to = bench.path().join(path);
        let failed = |error| EngineError::world(format!("cannot write {}", to.display()), error);
        let parent = to.parent().unwrap_or(bench.path());
        std::fs::create_dir_all(parent).map_err(failed)?;
        if !parent.canonicalize().map_err(failed)?.starts_with(bench.path().canonicalize().map_err(failed)?) {
            return Err(EngineError::Effect(format!("{path} leads out of the checkout of the base through a link")));
        }
        // A link of the base is replaced, not followed.
        let _ = std::fs::remove_file(&to);
        crate::regular::write(&to, &blob.stdout).map_err(failed)?;
    }
    Ok(())
}

/// Failing on the base is what the new tests are for; passing there means that they prove nothing.
fn judged(mut ran: Checked, tests: &[String]) -> Checked {
    let names = tests.join(", ");
    let (outcome, words) = match ran.receipt.outcome {
        Outcome::Failed { timed_out: false, .. } => {
            (Outcome::Passed, format!("the tests fail on the base, as they should: {names}"))
        }
        Outcome::Passed => {
            let words = format!("the tests pass on the base already, so they do not show what was changed: {names}");
            (Outcome::Failed { exit: Some(0), timed_out: false }, words)
        }
        Outcome::Failed { .. } => {
            let why = "the tests did not end on the base within their time".to_owned();
            (Outcome::CouldNotCheck { why: why.clone() }, why)
        }
        Outcome::CouldNotCheck { why } => (Outcome::CouldNotCheck { why: why.clone() }, why),
    };
    ran.receipt.outcome = outcome;
    ran.receipt.tail = format!("{words}\n\n{}", ran.receipt.tail);
    ran.output.splice(0..0, format!("{words}\n\n").into_bytes());
    ran
}

/// A result for which nothing was run.
fn said(check: &Check, snapshot: &Snapshot, outcome: Outcome, words: &str) -> Checked {
    let receipt = Receipt {
        check: check.name.clone(),
        command: check.command.clone(),
        tree: snapshot.tree.clone(),
        outcome,
        duration_ms: 0,
        output: None,
        tail: words.to_owned(),
        place: CheckPlace::Checkout,
    };
    Checked { receipt, output: format!("{words}\n").into_bytes() }
}
