//! Which states a verb is for: where no bubble is named, the one that is in such a state is meant.

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::rules::DriverKind;

/// It can be started.
pub(crate) fn startable(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::Created | Phase::Preparing)
}

/// A package is up for approval.
pub(crate) fn ready(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::ReadyForApproval(_))
}

/// Work waits for its commit.
pub(crate) fn approved(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::Approved(_))
}

/// Accepted work waits for a person.
pub(crate) fn accepted(state: &BubbleState) -> bool {
    ready(state) || approved(state)
}

/// A question is open.
pub(crate) fn asking(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::WaitingHuman(_)) && !state.gate.questions.is_empty()
}

/// It is committed, and the base branch does not have it yet.
pub(crate) fn unmerged(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::Done(_)) && state.gate.merged.is_none()
}

/// An agent is at work, or would be.
pub(crate) fn pausable(state: &BubbleState) -> bool {
    state.phase.turn().is_some() && !state.paused
}

/// Its agents work in panes.
pub(crate) fn attachable(state: &BubbleState) -> bool {
    state.rules.driver == DriverKind::Tmux && state.evidence.workspace.is_some() && !state.phase.is_final()
}

/// It goes on with `resume`: it is paused, only pairflow's own notices are open, or a person may have worked in a pane.
pub(crate) fn resumable(state: &BubbleState) -> bool {
    let stopped = state.paused || asking(state) || attachable(state);
    state.phase.turn().is_some() && stopped && state.gate.questions.iter().all(|open| open.kind.is_answered_by_resume())
}

/// It still goes on.
pub(crate) fn unfinished(state: &BubbleState) -> bool {
    !state.phase.is_final()
}

/// Nothing follows any more.
pub(crate) fn finished(state: &BubbleState) -> bool {
    state.phase.is_final()
}
