//! The checks of a document, which pairflow does by itself on the newest snapshot.

use std::time::Instant;

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::gates::document::{DocumentCheck, examine, report};
use pairflow_core::ids::TreeId;
use pairflow_core::rules::Check;

use crate::checks::Checked;
use crate::engine::{Bubble, EngineError};
use crate::git::Call;
use crate::process::tail;

/// The longest document, in bytes.
const LONGEST: usize = 4 * 1024 * 1024;
/// How much of a report a receipt shows.
const TAIL: (usize, usize) = (20, 2000);

/// Runs one of the checks of a document.
pub(super) fn check(
    bubble: &Bubble,
    state: &BubbleState,
    check: &Check,
    tree: &TreeId,
) -> Result<Checked, EngineError> {
    let began = Instant::now();
    let paths = paths(state);
    let (outcome, output) = match DocumentCheck::ALL.into_iter().find(|one| one.name() == check.name) {
        None => {
            let why = format!("this pairflow knows no check '{}'", check.name);
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
        Some(gate) => match read(bubble, state, tree, &paths)? {
            Ok(documents) => judged(gate, &documents),
            Err(why) => (Outcome::CouldNotCheck { why: why.clone() }, why),
        },
    };
    let receipt = Receipt {
        check: check.name.clone(),
        command: check.command.clone(),
        tree: tree.clone(),
        outcome,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        output: None,
        tail: tail(output.as_bytes(), TAIL.0, TAIL.1),
        place: CheckPlace::Checkout,
    };
    Ok(Checked { receipt, output: output.into_bytes() })
}

/// The documents: those that were named, else the Markdown files that the bubble changed.
pub(crate) fn paths(state: &BubbleState) -> Vec<String> {
    if !state.rules.documents.is_empty() {
        return state.rules.documents.clone();
    }
    let changed =
        state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.changed).filter(|change| change.status != 'D');
    let markdown = |path: &&String| [".md", ".markdown"].iter().any(|end| path.to_lowercase().ends_with(end));
    changed.map(|change| &change.path).filter(markdown).cloned().collect()
}

fn judged(gate: DocumentCheck, documents: &[(String, String)]) -> (Outcome, String) {
    let remarks: Vec<_> = examine(documents).into_iter().filter(|remark| remark.check == gate).collect();
    let outcome = if remarks.is_empty() { Outcome::Passed } else { failed() };
    (outcome, report(gate, &remarks))
}

fn failed() -> Outcome {
    Outcome::Failed { exit: Some(1), timed_out: false }
}

/// Whether the list of changed files was cut, so that a document may be missing in it.
fn listed_in_part(state: &BubbleState) -> bool {
    state.rules.documents.is_empty()
        && state.evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.whole.is_some())
}

/// The documents with their texts, or why they cannot be judged.
type Documents = Result<Vec<(String, String)>, String>;

/// Reads the documents as `tree` has them; one that is not there is an empty one, which no check takes for good.
fn read(bubble: &Bubble, state: &BubbleState, tree: &TreeId, paths: &[String]) -> Result<Documents, EngineError> {
    let git = bubble.workspace(state)?.git();
    let mut documents = Vec::with_capacity(paths.len());
    for path in paths {
        let call = Call::new(["cat-file", "blob", &format!("{tree}:{path}")]).accept(&[0, 128]).cut_at(LONGEST);
        let blob = git.run(call)?;
        if blob.cut {
            return Ok(Err(format!("{path} is longer than the {} MiB that can be judged", LONGEST / 1024 / 1024)));
        }
        documents.push((path.clone(), String::from_utf8_lossy(&blob.stdout).into_owned()));
    }
    Ok(Ok(documents))
}
