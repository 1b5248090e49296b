//! One commit of exactly the approved tree.

use pairflow_core::unit::{Command, CommitOrder, Phase, Unit};

use super::prepare::sentence;
use crate::engine::{Bubble, EngineError};
use crate::git::{CommitRequest, commit};

/// Makes the commit. A failure is a fact of its own: it can be asked for again.
pub(super) fn perform(bubble: &Bubble, unit: &Unit, order: &CommitOrder) -> Command {
    match attempt(bubble, unit, order) {
        Ok(command) => command,
        Err(error) => Command::CommitFailed { reason: sentence(&error) },
    }
}

fn attempt(bubble: &Bubble, unit: &Unit, order: &CommitOrder) -> Result<Command, EngineError> {
    let Phase::Approved(approval) = &unit.phase else {
        return Err(EngineError::BadInput("nothing is approved".to_owned()));
    };
    let workspace = bubble.workspace(unit)?;
    let made = commit(&CommitRequest {
        workspace: &workspace,
        tree: &approval.request.tree,
        branch: &unit.rules.bubble_branch,
        message: &order.message,
        hooks: order.hooks,
        author: order.author.as_ref(),
    })?;
    Ok(Command::CommitMade { commit: made.commit, old_tip: made.old_tip })
}
