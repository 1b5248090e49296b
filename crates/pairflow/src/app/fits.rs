//! Which states a verb is for: where no bubble is named, the one that is in such a state is meant.

use pairflow_core::bubble::{Phase, Unit};
use pairflow_core::rules::DriverKind;

/// It can be started.
pub(crate) fn startable(unit: &Unit) -> bool {
    matches!(unit.phase, Phase::Created | Phase::Preparing)
}

/// A package is up for approval.
pub(crate) fn ready(unit: &Unit) -> bool {
    matches!(unit.phase, Phase::ReadyForApproval(_))
}

/// Work waits for its commit.
pub(crate) fn approved(unit: &Unit) -> bool {
    matches!(unit.phase, Phase::Approved(_))
}

/// Accepted work waits for a person.
pub(crate) fn accepted(unit: &Unit) -> bool {
    ready(unit) || approved(unit)
}

/// A question is open.
pub(crate) fn asking(unit: &Unit) -> bool {
    matches!(unit.phase, Phase::WaitingHuman(_)) && !unit.gate.questions.is_empty()
}

/// It is committed, and the base branch does not have it yet.
pub(crate) fn unmerged(unit: &Unit) -> bool {
    matches!(unit.phase, Phase::Done(_)) && unit.gate.merged.is_none()
}

/// An agent is at work, or would be.
pub(crate) fn pausable(unit: &Unit) -> bool {
    unit.phase.turn().is_some() && !unit.paused
}

/// Its agents work in panes.
pub(crate) fn attachable(unit: &Unit) -> bool {
    unit.rules.driver == DriverKind::Tmux && unit.evidence.workspace.is_some() && !unit.phase.is_final()
}

/// It goes on with `resume`: it is paused, only pairflow's own notices are open, or a person may have worked in a pane.
pub(crate) fn resumable(unit: &Unit) -> bool {
    let stopped = unit.paused || asking(unit) || attachable(unit);
    unit.phase.turn().is_some() && stopped && unit.gate.questions.iter().all(|open| open.kind.is_answered_by_resume())
}

/// It still goes on.
pub(crate) fn unfinished(unit: &Unit) -> bool {
    !unit.phase.is_final()
}

/// Nothing follows any more.
pub(crate) fn finished(unit: &Unit) -> bool {
    unit.phase.is_final()
}
