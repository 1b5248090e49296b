//! What a worktree looks like at this moment.

use pairflow_core::bubble::{BubbleState, HeadSeen, WorktreeSeen};

use crate::engine::{Bubble, EngineError};
use crate::git::{GitError, Head, changes, head, observe};

/// Compares the worktree with the newest snapshot.
pub fn seen(bubble: &Bubble, state: &BubbleState) -> Result<WorktreeSeen, EngineError> {
    let workspace = bubble.workspace(state)?;
    let tree = observe(&workspace)?;
    let differing = match state.tree() {
        Some(expected) if *expected != tree => {
            changes(&workspace.git(), expected, &tree)?.into_iter().map(|change| change.path).collect()
        }
        _ => Vec::new(),
    };
    Ok(WorktreeSeen { tree, differing })
}

/// Says which branch the worktree is on; fails if something else lies in its place.
pub fn head_seen(bubble: &Bubble, state: &BubbleState) -> Result<HeadSeen, EngineError> {
    if state.evidence.workspace.is_none() {
        return Ok(HeadSeen::Missing);
    }
    let workspace = bubble.workspace(state)?;
    let found = match head(&workspace.git_dir) {
        Head::Branch(name) => HeadSeen::Branch(name),
        Head::Detached(_) => HeadSeen::Detached,
        Head::Missing => return Ok(HeadSeen::Missing),
    };
    match workspace.connected() {
        Err(GitError::WorktreeGone { .. }) => Ok(HeadSeen::Missing),
        other => Ok(other.map(|()| found)?),
    }
}
