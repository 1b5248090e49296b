//! One commit of exactly the approved tree.

use pairflow_core::bubble::{BubbleState, Command, CommitOrder, Phase};
use pairflow_core::log::{CommitIdentity, Person};

use crate::engine::{Bubble, EngineError, sentence};
use crate::git::{CommitRequest, GitError, Worktree, commit, commit_identity};

/// Makes the commit that the log orders, and records what came of it. For a caller that holds the lock of the verb.
pub(crate) fn commit_now(bubble: &Bubble) -> Result<(), EngineError> {
    let state = bubble.durable()?.state;
    let Phase::Approved(approval) = &state.phase else { return Ok(()) };
    let Some(order) = &approval.commit else { return Ok(()) };
    bubble.apply(&make(bubble, &state, order)).map(drop)
}

/// Makes the commit, unless the person who asked for it is at it: signatures need that person's environment.
pub(super) fn perform(
    bubble: &Bubble,
    state: &BubbleState,
    order: &CommitOrder,
) -> Result<Option<Command>, EngineError> {
    let committing = bubble.exclusively("commit")?;
    Ok(committing.map(|_held| make(bubble, state, order)))
}

/// Makes the commit. A failure is a fact of its own: it can be asked for again.
fn make(bubble: &Bubble, state: &BubbleState, order: &CommitOrder) -> Command {
    match attempt(bubble, state, order) {
        Ok(command) => command,
        Err(error) => Command::CommitFailed { reason: sentence(&error) },
    }
}

fn attempt(bubble: &Bubble, state: &BubbleState, order: &CommitOrder) -> Result<Command, EngineError> {
    let Phase::Approved(approval) = &state.phase else {
        return Err(EngineError::BadInput("nothing is approved".to_owned()));
    };
    let workspace = bubble.workspace(state)?;
    if order.hooks && state.about.identity.is_none() {
        return Err(GitError::HooksUnknown(bubble.id.clone()).into());
    }
    let identity = identity(state, order, &workspace)?;
    let made = commit(&CommitRequest {
        workspace: &workspace,
        tree: &approval.request.tree,
        branch: &state.rules.bubble_branch,
        message: &order.message,
        hooks: order.hooks,
        identity: identity.as_ref(),
    })?;
    Ok(Command::CommitMade { commit: made.commit, old_tip: made.old_tip })
}

/// Returns who commits: as recorded, else as it was when the commit was asked for; nothing for what git says now.
fn identity(
    state: &BubbleState,
    order: &CommitOrder,
    workspace: &Worktree,
) -> Result<Option<CommitIdentity>, EngineError> {
    let Some(author) = &order.author else { return Ok(state.about.identity.clone()) };
    let identity = match &state.about.identity {
        Some(recorded) => recorded.clone(),
        None => CommitIdentity { author: None, committer: None, ..commit_identity(&workspace.repo()?)? },
    };
    let or_author = |person: Option<Person>| person.or_else(|| Some(author.clone()));
    let (author, committer) = (or_author(identity.author), or_author(identity.committer));
    Ok(Some(CommitIdentity { author, committer, ..identity }))
}
