//! What a bubble changed, as a patch, as numbers, or as part of an exported page. Only reads.

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;
use pairflow_core::view::export::{Export, LogFacts, Patches, VerifiedClaim};

use crate::engine::{Bubble, EngineError};
use crate::git::{Git, Worktree, changes, diff_stat, diff_text, exact_patch, observe};
use crate::perform::trees_around;
use crate::verbs::verify;

/// The longest patch that is printed, in bytes.
const LIMIT: usize = 64 * 1024 * 1024;

/// Which changes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffOf {
    /// Everything since the base, as the worktree is now.
    Everything,
    /// Everything since the base, as it was recorded last: what is up for approval, and what is committed.
    Recorded,
    /// What one round changed.
    Round(u32),
}

/// A difference.
#[derive(Debug, Clone)]
pub struct BubbleDiff {
    /// The patch.
    pub patch: Vec<u8>,
    /// The numbers, as git prints them.
    pub stat: String,
    /// The files.
    pub files: Vec<FileChange>,
}

/// Returns what the bubble changed, to be read.
pub fn diff(bubble: &Bubble, state: &BubbleState, of: DiffOf) -> Result<BubbleDiff, EngineError> {
    let (git, from, to) = ends(bubble, state, of)?;
    let patch = diff_text(&git, &from, &to, LIMIT)?;
    Ok(BubbleDiff { patch, stat: diff_stat(&git, &from, &to)?, files: changes(&git, &from, &to)? })
}

/// Returns what the bubble changed as a patch for `git apply`, binary files included.
pub fn patch(bubble: &Bubble, state: &BubbleState, of: DiffOf) -> Result<Vec<u8>, EngineError> {
    let (git, from, to) = ends(bubble, state, of)?;
    Ok(exact_patch(&git, &from, &to, LIMIT)?)
}

/// Returns the two trees of a diff, and the git that has them.
fn ends(bubble: &Bubble, state: &BubbleState, of: DiffOf) -> Result<(Git, TreeId, TreeId), EngineError> {
    let workspace = bubble.workspace(state)?;
    let (from, to) = match of {
        DiffOf::Round(round) => around(bubble, state, round)?,
        DiffOf::Everything => (base(state)?, present(&workspace, state)?),
        DiffOf::Recorded => (base(state)?, state.tree().cloned().map_or_else(|| base(state), Ok)?),
    };
    // The repository has every snapshot, also those of a clone.
    let git = if workspace.connected().is_ok() { workspace.git() } else { workspace.repo()?.git() };
    Ok((git, from, to))
}

fn base(state: &BubbleState) -> Result<TreeId, EngineError> {
    let record = state.evidence.workspace.as_ref().map(|record| record.base_tree.clone());
    record.ok_or_else(|| EngineError::BadInput(format!("bubble {} has not been started", state.id)))
}

/// Returns the current tree; for a missing worktree, the newest recorded one.
fn present(workspace: &Worktree, state: &BubbleState) -> Result<TreeId, EngineError> {
    match state.tree() {
        Some(tree) if std::fs::symlink_metadata(&workspace.path).is_err() => Ok(tree.clone()),
        _ => Ok(observe(workspace)?),
    }
}

/// Returns the recorded trees before and after a round.
fn around(bubble: &Bubble, state: &BubbleState, wanted: u32) -> Result<(TreeId, TreeId), EngineError> {
    let (before, after) = trees_around(bubble, wanted)?;
    let from = before.map_or_else(|| base(state), Ok)?;
    if wanted > state.rounds.round {
        let so_far = state.rounds.round;
        return Err(EngineError::BadInput(format!(
            "there is no round {wanted} yet; bubble {} is in round {so_far}",
            state.id
        )));
    }
    Ok((from.clone(), after.unwrap_or(from)))
}

/// The longest patch that is read, in bytes. A page shows less.
const EXPORT_LIMIT: usize = 2 * 1024 * 1024;

/// Collects everything that a page about the bubble shows. Fails on any damage of the log, as `verify` does.
pub fn export(bubble: &Bubble) -> Result<Export, EngineError> {
    let report = verify(bubble)?;
    let mut facts = LogFacts::new(bubble.id.clone());
    bubble.log().visit(&mut |envelope| {
        // Lines written since the log was checked are left to the next page.
        if envelope.seq <= report.envelopes {
            facts.step(&envelope);
        }
    })?;
    let checked = report.rows.into_iter().map(|row| {
        let problem = (!row.holds).then_some(row.problem);
        VerifiedClaim { what: row.what, problem }
    });
    let patches = patches(bubble, &facts);
    Ok(Export { lines: report.envelopes, head: report.head, verified: checked.collect(), patches, facts })
}

/// Returns the changes, or why they cannot be shown.
fn patches(bubble: &Bubble, facts: &LogFacts) -> Patches {
    let state = facts.state();
    let (Some(record), Some(snapshot)) = (&state.evidence.workspace, &state.evidence.snapshot) else {
        return Patches::default();
    };
    let missing = |error: EngineError| Patches { missing: Some(error.to_string()), ..Patches::default() };
    let git = match bubble.workspace(state).and_then(|workspace| Ok(workspace.repo()?.git())) {
        Ok(git) => git,
        Err(error) => return missing(error),
    };
    let rounds = facts.rounds.list.iter().filter(|round| round.from != round.to);
    let rounds = rounds.map(|round| Ok((round.round, patch_text(&git, &round.from, &round.to)?)));
    let read = || -> Result<Patches, EngineError> {
        let whole = patch_text(&git, &record.base_tree, &snapshot.tree)?;
        Ok(Patches { whole, rounds: rounds.collect::<Result<_, EngineError>>()?, missing: None })
    };
    read().unwrap_or_else(missing)
}

fn patch_text(git: &Git, from: &TreeId, to: &TreeId) -> Result<String, EngineError> {
    Ok(String::from_utf8_lossy(&diff_text(git, from, to, EXPORT_LIMIT)?).into_owned())
}
