//! Merges the bubble's commit into the base branch, after the checks have passed on the merged tree; and shows how far the
//! base branch has moved.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::facts::{Outcome, Receipt};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::view::status::BaseMoved;

use super::loop_verbs::wrong_state;
use crate::engine::{Bubble, EngineError};
use crate::git::{
    MergeKind, MergeOutcome, MergeRequest, Repo, checked_out_at, clean_checkout, commits_between, conflicts,
    is_ancestor, loose_tip, merge as advance, merge_tree, own_commit, plan_merge, resolve, tree_of,
};
use crate::perform::{BubbleLock, MergedCommit, check_merged};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeEnd {
    /// The base branch has the work.
    Merged(CommitId),
    /// The base branch is checked out; this command merges it there.
    Line {
        /// Where.
        at: std::path::PathBuf,
        /// What to type.
        line: String,
    },
}

/// The result of a rehearsal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rehearsal {
    /// The merge is possible; if both sides have moved, this is the merged tree, which passed the checks.
    Ready(Option<TreeId>),
    /// The base branch is checked out there.
    CheckedOut(PathBuf),
}

/// Checks whether the work could be merged: conflicts, checks of the merged tree, a base branch that is checked out. No
/// branch moves.
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
        Err(files) => Err(conflict(bubble, &files)),
        Ok(tree) => {
            let joined = own_commit(&git, &tree, &tip, format!("pairflow: rehearsal of {}\n", bubble.id))?;
            // The bubble is not locked, so what runs is not recorded with it.
            checked(bubble, &state, MergedCommit { commit: &joined, tree: &tree, locked: false }, say)?;
            Ok(Rehearsal::Ready(Some(tree)))
        }
    }
}

fn conflict(bubble: &Bubble, files: &[String]) -> EngineError {
    let (files, id) = (files.join(", "), &bubble.id);
    EngineError::Effect(format!("the base branch has moved and conflicts in {files}; next: pairflow update {id}"))
}

/// Merges the bubble's commit into the base branch. With `here`, a clean checkout at that path is updated, too. A merged
/// tree that a rehearsal has checked is not checked again.
pub fn merge(
    bubble: &Bubble,
    here: Option<&Path>,
    rehearsed: Option<&TreeId>,
    say: &dyn Fn(&str),
) -> Result<MergeEnd, EngineError> {
    let state = bubble.durable()?.state;
    let Phase::Done(done) = &state.phase else {
        return Err(bubble.refuse_person(wrong_state(&state, "merge", "only a committed bubble can be merged")));
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
        MergeKind::Conflict(files) => return Err(conflict(bubble, files)),
        MergeKind::Join(commit) if rehearsed.is_some() && Some(&tree_of(&repo.git(), commit)?) == rehearsed => {}
        MergeKind::Join(commit) => {
            let _lock = BubbleLock::alone(bubble)?;
            let tree = tree_of(&repo.git(), commit)?;
            checked(bubble, &state, MergedCommit { commit, tree: &tree, locked: true }, say)?;
        }
        MergeKind::AlreadyIn | MergeKind::FastForward(_) => {}
    }
    match advance(&request, &plan, here)? {
        MergeOutcome::Moved(commit) => {
            bubble.apply(&Command::Merged { commit: commit.clone() })?;
            Ok(MergeEnd::Merged(commit))
        }
        MergeOutcome::CheckedOut { at, line } => Ok(MergeEnd::Line { at, line }),
    }
}

/// Checks a merged commit; a check that does not pass stops the merge.
fn checked(
    bubble: &Bubble,
    state: &BubbleState,
    joined: MergedCommit<'_>,
    say: &dyn Fn(&str),
) -> Result<(), EngineError> {
    match check_merged(bubble, state, joined, say)? {
        Some(receipt) => Err(stopped_by(bubble, state, &receipt)),
        None => Ok(()),
    }
}

/// Explains why a check stopped the merge.
fn stopped_by(bubble: &Bubble, state: &BubbleState, receipt: &Receipt) -> EngineError {
    let (id, base, Receipt { check, command, .. }) = (&bubble.id, &state.rules.base_branch, receipt);
    let said = receipt.tail.lines().last().unwrap_or("it printed nothing");
    EngineError::Effect(match &receipt.outcome {
        Outcome::Failed { timed_out: true, .. } => format!(
            "the check '{check}' ({command}) timed out on the merge of {id} into {base}, so nothing was merged; next: pairflow update {id}"
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

impl Bubble {
    /// Returns how the base branch has moved since the bubble was cut from it or last updated; nothing if it has not, if
    /// the work is in it, or if git cannot tell.
    pub fn base_ahead(&self, state: &BubbleState) -> Option<BaseMoved> {
        let base = &state.evidence.workspace.as_ref()?.base;
        let (work, over) = match &state.phase {
            Phase::Done(done) => (Some(&done.commit), state.gate.merged.is_some()),
            phase => (state.evidence.snapshot.as_ref().map(|snapshot| &snapshot.commit), phase.is_final()),
        };
        let repo = Repo::locate(self.control.repo()).ok().filter(|_| !over)?;
        // The usual case needs no git process.
        if loose_tip(&repo.common_dir, &state.rules.base_branch).as_ref() == Some(base) {
            return None;
        }
        let git = repo.git();
        let tip = resolve(&git, &format!("refs/heads/{}", state.rules.base_branch)).ok()??;
        if tip == *base || work.is_some_and(|work| is_ancestor(&git, work, &tip).unwrap_or(false)) {
            return None;
        }
        let commits = commits_between(&git, base, &tip).ok();
        Some(BaseMoved { commits, conflicts: work.and_then(|work| conflicts(&repo, &tip, work).ok()) })
    }
}
