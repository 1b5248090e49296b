//! The tree that a turn left goes to a private ref, and its diff becomes a file that people can read.

use std::cmp::Ordering;

use pairflow_core::facts::Snapshot;
use pairflow_core::ids::{Party, TreeId};
use pairflow_core::log::{Body, Evidence};
use pairflow_core::unit::{Command, Unit, evolve};

use crate::engine::{Bubble, EngineError};
use crate::git::{Head, Workspace, changes, diff_text, head, take};

/// The longest diff that is kept as a file, in bytes.
const DIFF_LIMIT: usize = 8 * 1024 * 1024;
/// How many bytes a snapshot may take in a line of the log; the rest of the line needs some, too.
const LINE_LIMIT: usize = 1000 * 1024;

/// Records the present tree as `author`'s.
pub(super) fn perform(bubble: &Bubble, unit: &Unit, author: &Party, number: u64) -> Result<Command, EngineError> {
    let workspace = bubble.workspace(unit)?;
    let snapshot = record(&workspace, unit, author, number)?;
    write_diff(bubble, unit, &workspace, &snapshot)?;
    Ok(Command::SnapshotTaken { snapshot })
}

/// Takes the snapshot and compares it with the base and with the one before.
pub(super) fn record(
    workspace: &Workspace,
    unit: &Unit,
    author: &Party,
    number: u64,
) -> Result<Snapshot, EngineError> {
    let taken = take(workspace, number)?;
    let git = workspace.git();
    let base_tree = match &unit.workspace {
        Some(record) => record.base_tree.clone(),
        None => taken.tree.clone(),
    };
    let changed = changes(&git, &base_tree, &taken.tree)?;
    let since_last = changes(&git, unit.tree().unwrap_or(&base_tree), &taken.tree)?;
    let scope = &unit.rules.scope;
    let out_of_scope = changed.iter().map(|change| &change.path).filter(|path| !scope.admits(path)).cloned().collect();
    let agent_head = agent_head(workspace, unit);
    let (tree, commit, r#ref) = (taken.tree, taken.commit, taken.r#ref);
    fitting(Snapshot { tree, commit, r#ref, author: author.clone(), changed, since_last, out_of_scope, agent_head })
}

/// Insists that a snapshot can be named in a line of the log. So many files are never changed by hand.
fn fitting(snapshot: Snapshot) -> Result<Snapshot, EngineError> {
    let line = serde_json::to_vec(&snapshot).expect("a snapshot has text keys only, so it is always writable as JSON");
    if line.len() <= LINE_LIMIT {
        return Ok(snapshot);
    }
    Err(EngineError::Effect(format!(
        "{} files differ from the base, more than a snapshot can name; list what is generated in .gitignore",
        snapshot.changed.len()
    )))
}

/// The branch tip, if agents committed on it. Such commits are recorded; they are not the product.
fn agent_head(workspace: &Workspace, unit: &Unit) -> Option<pairflow_core::ids::CommitId> {
    let Head::Branch(branch) = head(&workspace.git_dir) else { return None };
    let tip = workspace.git().run(crate::git::Call::new(["rev-parse", "--verify", "--quiet", &branch])).ok()?.commit().ok()?;
    let base = unit.workspace.as_ref().map(|record| &record.base);
    (Some(&tip) != base).then_some(tip)
}

/// Writes `artifacts/round-<nnn>.diff`: what this round changed, whoever changed it.
fn write_diff(bubble: &Bubble, unit: &Unit, workspace: &Workspace, snapshot: &Snapshot) -> Result<(), EngineError> {
    let round = round_of(unit);
    let name = format!("round-{round:03}.diff");
    if snapshot.since_last.is_empty() && bubble.dir().join("artifacts").join(&name).exists() {
        return Ok(());
    }
    let base = unit.workspace.as_ref().map(|record| record.base_tree.clone());
    let Some(before) = trees_around(bubble, round)?.0.or(base) else { return Ok(()) };
    let diff = diff_text(&workspace.git(), &before, &snapshot.tree, DIFF_LIMIT)?;
    Ok(bubble.log().project_artifact(&name, &diff)?)
}

/// The newest trees that the log has of the rounds before `round`, and of that round itself.
pub(crate) fn trees_around(bubble: &Bubble, round: u32) -> Result<(Option<TreeId>, Option<TreeId>), EngineError> {
    let mut state = Unit::new(bubble.id.clone());
    let (mut before, mut after) = (None, None);
    for envelope in bubble.log().envelopes()? {
        if let Body::Evidence(Evidence::Snapshot { snapshot }) = &envelope.event.body {
            match round_of(&state).cmp(&round) {
                Ordering::Less => before = Some(snapshot.tree.clone()),
                Ordering::Equal => after = Some(snapshot.tree.clone()),
                Ordering::Greater => {}
            }
        }
        state = evolve(state, &envelope);
    }
    Ok((before, after))
}

/// The round in which the work was done that is being recorded now.
fn round_of(unit: &Unit) -> u32 {
    match unit.phase.turn().map(|turn| &turn.stage) {
        Some(pairflow_core::unit::Stage::Closing(handover)) => handover.round,
        _ => unit.round,
    }
}
