//! The two verbs that look at the worktree before they are decided: a claim of convergence, and an approval.

use pairflow_core::bubble::{BubbleState, Command, Phase, Refusal, WorktreeSeen};
use pairflow_core::facts::Explanation;
use pairflow_core::ids::{AgentId, TreeId};
use pairflow_core::log::RetryKey;

use crate::engine::{Applied, Bubble, EngineError};
use crate::perform::seen;

/// An agent's claim that nothing is left to do.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Who claims it; proven.
    pub by: AgentId,
    /// In which words.
    pub summary: String,
    /// What it points to.
    pub refs: Vec<String>,
    /// What the person has to know to decide.
    pub explanation: Option<Explanation>,
    /// The slices of a long change that were read.
    pub reviewed: Vec<u32>,
    /// The retry key, if one was given.
    pub key: Option<RetryKey>,
}

impl Bubble {
    /// Records a claim of convergence, or refuses it with every criterion that is not met.
    ///
    /// `attended` says whether anyone is there to open a turn that is still opening.
    pub fn converged(&self, claim: Claim, attended: bool) -> Result<Applied, EngineError> {
        let blind = WorktreeSeen { tree: TreeId(String::new()), differing: Vec::new() };
        let command = |seen: WorktreeSeen| Command::Converged {
            by: claim.by.clone(),
            summary: claim.summary.clone(),
            refs: claim.refs.clone(),
            explanation: claim.explanation.clone(),
            reviewed: claim.reviewed.clone(),
            seen,
            key: claim.key.clone(),
        };
        self.wait_open(&command(blind.clone()), attended)?;
        let state = self.load()?.state;
        let holds = matches!(&state.phase, Phase::Running(turn) if turn.agent == claim.by && turn.is_open());
        // A caller that may not claim anything is refused for that; the worktree does not matter then.
        let seen = if holds { seen(self, &state)? } else { blind };
        self.apply(&command(seen))
    }

    /// Approves what the package shows, provided that the worktree still is what was reviewed.
    ///
    /// `shown` is the SHA-256 of the package that the person read; without it the one that is up for approval now is
    /// meant. If something else is up for approval by now, someone else was faster.
    pub fn approve(&self, shown: Option<&str>, key: Option<RetryKey>) -> Result<Applied, EngineError> {
        let state = self.load()?.state;
        let present = match &state.phase {
            Phase::ReadyForApproval(request) => request.package_sha256.as_str(),
            _ => "",
        };
        let package_sha256 = shown.unwrap_or(present).to_owned();
        self.restore_worktree(&state)?;
        let seen = self.seen_for_approval(&state)?;
        self.apply(&Command::Approve { package_sha256, seen, key }).map_err(|error| match error {
            EngineError::Refused { id, caller, refusal }
                if shown.is_some() && matches!(*refusal, Refusal::WrongState { .. }) =>
            {
                EngineError::Refused { id, caller, refusal: Box::new(refusal.lost_race()) }
            }
            other => other,
        })
    }

    fn seen_for_approval(&self, state: &BubbleState) -> Result<WorktreeSeen, EngineError> {
        match &state.phase {
            Phase::ReadyForApproval(_) => seen(self, state),
            _ => Ok(WorktreeSeen { tree: TreeId(String::new()), differing: Vec::new() }),
        }
    }
}
