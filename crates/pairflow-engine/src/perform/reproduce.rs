//! The reproducer of a finding, run on the newest snapshot in a copy outside the worktree.

use pairflow_core::ids::FindingId;
use pairflow_core::unit::{Command, Unit};

use super::apart::Apart;
use super::check::keep;
use crate::engine::{Bubble, EngineError};
use crate::process::Cancel;

/// Runs one reproducer; nothing comes of it when it is cancelled.
pub(super) fn perform(
    bubble: &Bubble,
    unit: &Unit,
    (finding, command): (FindingId, &str),
    cancel: &Cancel,
) -> Result<Option<Command>, EngineError> {
    let Some(snapshot) = &unit.snapshot else { return Ok(None) };
    let name = format!("reproducer of {finding}");
    let copy = Apart::of(bubble, &snapshot.commit)?;
    let Some(checked) = copy.run(bubble, unit, (&name, command, &snapshot.tree), cancel) else { return Ok(None) };
    let receipt = keep(bubble, checked)?;
    Ok(Some(Command::Reproduced { finding, receipt }))
}
