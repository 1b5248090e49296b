//! The base branch is merged into the worktree, as the person's own change.

use pairflow_core::bubble::{BubbleState, Command, Turn};
use pairflow_core::ids::Party;
use pairflow_core::log::Conflict;

use super::snapshot;
use crate::engine::{Bubble, EngineError, sentence};
use crate::git::{self, GitError, UpdateRequest, Updated, Worktree, keep};

/// The longest list of files in conflict that the log keeps, in bytes.
const CONFLICT_LIMIT: usize = 200 * 1024;

/// Merges the base branch. Conflicts change nothing and say which files are concerned.
pub(super) fn perform(bubble: &Bubble, state: &BubbleState) -> Command {
    match attempt(bubble, state) {
        Ok(command) => command,
        Err(EngineError::Git(GitError::UpdateConflict { base, files })) => {
            conflict(bubble, state, Conflict { base, files })
        }
        Err(error) => Command::UpdateFailed { reason: sentence(&error), conflict: None },
    }
}

fn attempt(bubble: &Bubble, state: &BubbleState) -> Result<Command, EngineError> {
    let workspace = bubble.workspace(state)?;
    let mut snapshots = Vec::new();
    let mut state = state.clone();
    let base_branch = &state.rules.base_branch;
    let wanted =
        UpdateRequest { base_branch, resolved: state.gate.resolved.as_ref(), number: state.evidence.snapshots + 1 };
    let updated = git::update(&workspace, &wanted)?;
    if !updated.moved {
        return Err(EngineError::Effect(format!(
            "{base_branch} has not moved since this bubble was cut; there is nothing to merge"
        )));
    }
    // What an agent has changed in its interrupted turn stays the agent's.
    let interrupted = state.phase.turn().filter(|turn| turn.is_open()).map(Turn::author);
    let same_patch = is_same_patch(&workspace, &state, &updated)?;
    if let Some(author) = interrupted.filter(|_| state.tree() != Some(&updated.before)) {
        let taken = keep(&workspace, updated.before, state.evidence.snapshots + 1)?;
        let before = snapshot::record(bubble, &state, author, taken)?;
        state.evidence.snapshot = Some(before.clone());
        state.evidence.snapshots += 1;
        snapshots.push(before);
    }
    if let Some(record) = &mut state.evidence.workspace {
        record.base = updated.base.clone();
        record.base_tree = updated.base_tree.clone();
    }
    let taken = keep(&bubble.workspace(&state)?, updated.tree, state.evidence.snapshots + 1)?;
    snapshots.push(snapshot::record(bubble, &state, Some(Party::Human), taken)?);
    Ok(Command::UpdateMade { base: updated.base, base_tree: updated.base_tree, snapshots, same_patch })
}

/// Whether the newest recorded work is the same change after the merge as before.
pub(crate) fn is_same_patch(workspace: &Worktree, state: &BubbleState, updated: &Updated) -> Result<bool, GitError> {
    let Some(record) = state.evidence.workspace.as_ref().filter(|_| state.tree() == Some(&updated.before)) else {
        return Ok(false);
    };
    let (before, after) = ((&record.base_tree, &updated.before), (&updated.base_tree, &updated.tree));
    git::same_change(&workspace.git(), before, after)
}

/// Says what a person does about a conflict, step by step.
fn conflict(bubble: &Bubble, state: &BubbleState, conflict: Conflict) -> Command {
    let (id, base) = (&bubble.id, &state.rules.base_branch);
    let worktree = state.evidence.workspace.as_ref().map_or("", |record| record.path.as_str());
    let shown = conflict.files.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match conflict.files.len().saturating_sub(20) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = conflict.files.first().map_or("FILE", String::as_str);
    let at = conflict.base.short();
    let reason = format!(
        "{base} and the work of {id} conflict in {shown}{more}; nothing was changed. Edit these files in {worktree} so \
         that each holds both changes (`git show {at}:{first}` prints the side of {base}; all other files are merged \
         for you), then: pairflow update {id} --resolved"
    );
    let fits = conflict.files.iter().map(String::len).sum::<usize>() <= CONFLICT_LIMIT;
    Command::UpdateFailed { reason, conflict: fits.then_some(conflict) }
}
