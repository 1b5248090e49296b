//! What a bubble changed, as a patch or as numbers.

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;

use crate::engine::{Bubble, EngineError};
use crate::git::{Git, Worktree, changes, diff_stat, diff_text, exact_patch, observe};
use crate::perform::trees_around;

/// The longest patch that is printed, in bytes.
const LIMIT: usize = 64 * 1024 * 1024;

/// Which difference is wanted.
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
pub struct Diff {
    /// The patch.
    pub patch: Vec<u8>,
    /// The numbers, as git prints them.
    pub stat: String,
    /// The files.
    pub files: Vec<FileChange>,
}

/// Returns what the bubble changed, to be read.
pub fn diff(bubble: &Bubble, state: &BubbleState, of: DiffOf) -> Result<Diff, EngineError> {
    let (git, from, to) = ends(bubble, state, of)?;
    let patch = diff_text(&git, &from, &to, LIMIT)?;
    Ok(Diff { patch, stat: diff_stat(&git, &from, &to)?, files: changes(&git, &from, &to)? })
}

/// Returns what the bubble changed as a patch for `git apply`, binary files included.
pub fn patch(bubble: &Bubble, state: &BubbleState, of: DiffOf) -> Result<Vec<u8>, EngineError> {
    let (git, from, to) = ends(bubble, state, of)?;
    Ok(exact_patch(&git, &from, &to, LIMIT)?)
}

/// The trees at both ends of a difference, and the git that has them.
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

/// The tree as it is now; of a worktree that is gone, the newest that was recorded.
fn present(workspace: &Worktree, state: &BubbleState) -> Result<TreeId, EngineError> {
    match state.tree() {
        Some(tree) if std::fs::symlink_metadata(&workspace.path).is_err() => Ok(tree.clone()),
        _ => Ok(observe(workspace)?),
    }
}

/// The trees before and after a round, as the log recorded them.
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
