//! The base branch is merged into the worktree, as the person's own change.

use pairflow_core::ids::Party;
use pairflow_core::unit::{Command, Unit};

use super::prepare::sentence;
use super::snapshot;
use crate::engine::{Bubble, EngineError};
use crate::git;

/// Merges the base branch. Conflicts change nothing and say which files are concerned.
pub(super) fn perform(bubble: &Bubble, unit: &Unit) -> Command {
    match attempt(bubble, unit) {
        Ok(command) => command,
        Err(error) => Command::UpdateFailed { reason: sentence(&error) },
    }
}

fn attempt(bubble: &Bubble, unit: &Unit) -> Result<Command, EngineError> {
    let workspace = bubble.workspace(unit)?;
    let mut snapshots = Vec::new();
    let mut unit = unit.clone();
    // What an agent has changed in its interrupted turn stays the agent's.
    if let Some(turn) = unit.phase.turn().filter(|turn| turn.is_open()) {
        let author = Party::Agent(turn.agent.clone());
        let before = snapshot::record(&workspace, &unit, &author, unit.snapshots + 1)?;
        if unit.tree() != Some(&before.tree) {
            unit.snapshot = Some(before.clone());
            unit.snapshots += 1;
            snapshots.push(before);
        }
    }
    let updated = git::update(&workspace, &unit.rules.base_branch)?;
    if !updated.moved {
        let base = &unit.rules.base_branch;
        return Err(EngineError::Effect(format!("{base} has not moved since this bubble was cut; there is nothing to merge")));
    }
    if let Some(record) = &mut unit.workspace {
        record.base = updated.base.clone();
        record.base_tree = updated.base_tree.clone();
    }
    snapshots.push(snapshot::record(&workspace, &unit, &Party::Human, unit.snapshots + 1)?);
    Ok(Command::UpdateMade { base: updated.base, base_tree: updated.base_tree, snapshots })
}
