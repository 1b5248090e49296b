//! The bubble's commit reaches the base branch: checked in a scratch worktree first, never behind anyone's back.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, Command, Phase, Refusal, RefusedCaller};
use pairflow_core::facts::{Outcome, Receipt};
use pairflow_core::ids::{CommitId, TreeId};

use crate::engine::{Bubble, EngineError};
use crate::git::{
    Advanced, How, MergeRequest, MergedTree, Repo, checked_out_at, clean_checkout, is_ancestor, merge as advance,
    merge_tree, own_commit, plan_merge, tree_of,
};
use crate::perform::{Care, Joined, check_joined};

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeEnd {
    /// The base branch has the work.
    Merged(CommitId),
    /// The person has the base branch checked out; this line does it there.
    Line {
        /// Where.
        at: std::path::PathBuf,
        /// What to type.
        line: String,
    },
}

/// What a rehearsal of a merge has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rehearsal {
    /// It can be done; if both sides have moved, this is the joined tree, and it passed the checks.
    Ready(Option<TreeId>),
    /// The person has the base branch checked out there.
    CheckedOut(PathBuf),
}

/// Finds out whether the tree that is up for approval, or approved, could be merged: conflicts, checks of the joined tree, a
/// base branch that is checked out. Nothing is committed and no branch moves.
pub fn rehearse_merge(bubble: &Bubble, here: Option<&Path>, say: &dyn Fn(&str)) -> Result<Rehearsal, EngineError> {
    let state = bubble.durable()?.state;
    let Some(work) = state.evidence.snapshot.as_ref().map(|snapshot| &snapshot.commit) else {
        return Ok(Rehearsal::Ready(None));
    };
    let (repo, base) = (Repo::discover(bubble.control.repo())?, &state.rules.base_branch);
    let (git, tip) = (repo.git(), repo.resolve_branch(base)?);
    match here {
        Some(path) => drop(clean_checkout(&repo, base, path)?),
        None => {
            if let Some(at) = checked_out_at(&repo, &git, base)? {
                return Ok(Rehearsal::CheckedOut(at));
            }
        }
    }
    if is_ancestor(&git, &tip, work)? || is_ancestor(&git, work, &tip)? {
        return Ok(Rehearsal::Ready(None));
    }
    match merge_tree(&git, &tip, work, None)? {
        MergedTree::Conflict(files) => Err(conflict(bubble, &files)),
        MergedTree::Tree(tree) => {
            let joined = own_commit(&git, &tree, &tip, format!("pairflow: rehearsal of {}\n", bubble.id))?;
            // Nobody has the bubble in care, so what runs is not recorded with it.
            checked(bubble, &state, Joined { commit: &joined, tree: &tree, attended: false }, say)?;
            Ok(Rehearsal::Ready(Some(tree)))
        }
    }
}

fn conflict(bubble: &Bubble, files: &[String]) -> EngineError {
    let (files, id) = (files.join(", "), &bubble.id);
    EngineError::Effect(format!("the base branch has moved and conflicts in {files}; next: pairflow update {id}"))
}

/// Merges the bubble's commit into the base branch. With `here`, a clean checkout at that path is brought along. A joined
/// tree that a rehearsal has checked is not checked again.
pub fn merge(
    bubble: &Bubble,
    here: Option<&Path>,
    rehearsed: Option<&TreeId>,
    say: &dyn Fn(&str),
) -> Result<MergeEnd, EngineError> {
    let state = bubble.durable()?.state;
    let Phase::Done(done) = &state.phase else {
        let why = Some("only a committed bubble can be merged".to_owned());
        let refusal = Refusal::WrongState { state: state.phase.name(), command: "merge", why };
        return Err(EngineError::Refused {
            id: bubble.id.clone(),
            caller: RefusedCaller::Person,
            refusal: Box::new(refusal),
        });
    };
    let repo = Repo::discover(bubble.control.repo())?;
    let request = MergeRequest {
        repo: &repo,
        id: &bubble.id,
        base_branch: &state.rules.base_branch,
        bubble_branch: &state.rules.bubble_branch,
        commit: &done.commit,
        identity: state.about.identity.as_ref(),
    };
    let plan = plan_merge(&request)?;
    match &plan.how {
        How::Conflict(files) => return Err(conflict(bubble, files)),
        How::Join(commit) if rehearsed.is_some() && Some(&tree_of(&repo.git(), commit)?) == rehearsed => {}
        How::Join(commit) => {
            let _care = Care::alone(bubble)?;
            let tree = tree_of(&repo.git(), commit)?;
            checked(bubble, &state, Joined { commit, tree: &tree, attended: true }, say)?;
        }
        How::AlreadyIn | How::FastForward(_) => {}
    }
    match advance(&request, &plan, here)? {
        Advanced::Moved(commit) => {
            bubble.apply(&Command::Merged { commit: commit.clone() })?;
            Ok(MergeEnd::Merged(commit))
        }
        Advanced::CheckedOut { at, line } => Ok(MergeEnd::Line { at, line }),
    }
}

/// Checks a joined commit; a check that does not pass stops the merge.
fn checked(bubble: &Bubble, state: &BubbleState, joined: Joined<'_>, say: &dyn Fn(&str)) -> Result<(), EngineError> {
    match check_joined(bubble, state, joined, say)? {
        Some(receipt) => Err(stopped_by(bubble, state, &receipt)),
        None => Ok(()),
    }
}

/// Tells a merged tree that is wrong from one that could not be judged.
fn stopped_by(bubble: &Bubble, state: &BubbleState, receipt: &Receipt) -> EngineError {
    let (id, base, Receipt { check, command, .. }) = (&bubble.id, &state.rules.base_branch, receipt);
    let said = receipt.tail.lines().last().unwrap_or("it printed nothing");
    EngineError::Effect(match &receipt.outcome {
        Outcome::Failed { timed_out: true, .. } => format!(
            "the check '{check}' ({command}) ran out of time on the merge of {id} into {base}, so nothing was merged; next: pairflow update {id}"
        ),
        Outcome::Failed { .. } if check == "setup" => format!(
            "the setup command '{command}' failed on the merge of {id} into {base} ({said}), so nothing was checked or merged; fix it, then: pairflow merge {id}"
        ),
        Outcome::Passed | Outcome::Failed { .. } => format!(
            "the check '{check}' ({command}) fails on the merge of {id} into {base} ({said}), so nothing was merged; next: pairflow update {id}"
        ),
        Outcome::CouldNotCheck { why } => format!(
            "the check '{check}' ({command}) could not be run on the merge of {id} into {base} ({why}), so nothing was merged; fix it, then: pairflow merge {id}"
        ),
    })
}
