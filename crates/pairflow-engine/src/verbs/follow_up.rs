//! Work that goes on after the end: a new bubble for the same task, which begins with the work of a finished one.

use pairflow_core::bubble::{BubbleState, Phase, Refusal, RefusedCaller};
use pairflow_core::config::Resolved;
use pairflow_core::ids::{BubbleId, CommitId};

use super::create::{Confirmed, NewBubble};
use crate::engine::{Bubble, EngineError};
use crate::git::{ByHand, MergedTree, Repo, join_by_hand, merge_tree};
use crate::verbs::InConflict;

impl Bubble {
    /// Makes a bubble with the same task and rules that begins with this one's commit, merged with what the base branch
    /// has become. DONE itself stays final. With `by_hand`, files in conflict are taken as the person left them in this
    /// bubble's worktree.
    pub fn follow_up(&self, conflict: InConflict) -> Result<Bubble, EngineError> {
        let state = self.load()?.state;
        let Phase::Done(done) = &state.phase else {
            let refusal = Refusal::WrongState {
                state: state.phase.name(),
                command: "update",
                why: Some("only a bubble that is DONE is followed by another".to_owned()),
            };
            return Err(EngineError::Refused {
                id: self.id.clone(),
                caller: RefusedCaller::Person,
                refusal: Box::new(refusal),
            });
        };
        let repo = Repo::discover(self.control.repo())?;
        let id = self.next_id();
        let mut resolved = resolved(&state);
        let continues = match conflict {
            InConflict::Stop => done.commit.clone(),
            InConflict::Edited => self.joined_by_hand(&state, &done.commit, &repo, false)?,
            InConflict::Kept => self.joined_by_hand(&state, &done.commit, &repo, true)?,
        };
        resolved.rules.continues = Some(continues);
        resolved.rules.bubble_branch = format!("bubble/{id}");
        let task = self.whole_task(&state)?;
        let (confirmed, identity) = (Confirmed::Before, state.about.identity.clone());
        let approved = state.rules.prd.iter().flat_map(|prd| &prd.documents).map(|(_, hash)| hash.clone());
        let prd_approved = approved.collect();
        let new = NewBubble { id, repo: &repo, task, resolved, confirmed, identity, prd_approved };
        self.engine.create(new).map(|(bubble, _)| bubble)
    }

    /// Returns the work and the base as the person has joined them in the worktree of this bubble, which is DONE.
    fn joined_by_hand(
        &self,
        state: &BubbleState,
        commit: &CommitId,
        repo: &Repo,
        keep: bool,
    ) -> Result<CommitId, EngineError> {
        let (id, base) = (&self.id, &state.rules.base_branch);
        let workspace = self.workspace(state)?;
        let worktree = workspace.path.display().to_string();
        if workspace.is_clone() || !workspace.path.is_dir() {
            let why = if workspace.is_clone() { "works in a clone" } else { "has no worktree any more" };
            return Err(EngineError::BadInput(format!(
                "{id} {why}, so its conflict with {base} cannot be resolved there; let the next bubble resolve it: \
                 pairflow update {id}"
            )));
        }
        let tip = repo.resolve_branch(base)?;
        match join_by_hand(&workspace, (commit, &tip), keep)? {
            ByHand::Joined(joined) => Ok(joined),
            ByHand::NoConflict => Err(EngineError::BadInput(format!(
                "{base} and the work of {id} do not conflict, so there is nothing to resolve: pairflow update {id}"
            ))),
            ByHand::Untouched(files) => Err(EngineError::BadInput(format!(
                "nobody has edited {} in {worktree} since the commit; edit the files so that each holds both changes, then: \
                 pairflow update {id} --resolved (to drop the other side on purpose: --resolved --keep)",
                files.join(", ")
            ))),
        }
    }

    /// Returns the files in which the commit of a bubble that is DONE and the base branch conflict.
    pub fn conflicts_with_base(&self, state: &BubbleState) -> Result<Vec<String>, EngineError> {
        let Phase::Done(done) = &state.phase else { return Ok(Vec::new()) };
        let repo = Repo::discover(self.control.repo())?;
        let tip = repo.resolve_branch(&state.rules.base_branch)?;
        match merge_tree(&repo.git(), &done.commit, &tip, None)? {
            MergedTree::Tree(_) => Ok(Vec::new()),
            MergedTree::Conflict(files) => Ok(files),
        }
    }

    /// Writes `bubble.toml` again if it is gone: what it said stands in the log.
    pub fn restore_config(&self, state: &BubbleState) -> Result<(), EngineError> {
        if self.dir().join("bubble.toml").exists() {
            return Ok(());
        }
        self.write_config(state)
    }

    /// The task as it was given; a long one lies beside the log.
    fn whole_task(&self, state: &BubbleState) -> Result<String, EngineError> {
        let created = self.log().envelopes()?.into_iter().next();
        let refs = created.map(|envelope| envelope.event.refs).unwrap_or_default();
        let texts = refs.iter().filter_map(|uri| uri.strip_prefix("artifact://"));
        let Some(name) = texts.into_iter().find(|name| name.starts_with("text/")) else {
            return Ok(state.about.task.clone());
        };
        Ok(String::from_utf8_lossy(&self.artifacts().read(name)?).into_owned())
    }

    /// The first free name of the form `<id>-2`.
    fn next_id(&self) -> BubbleId {
        let free = |id: &BubbleId| self.engine.look_at(self.control.repo(), id).is_err();
        let stem = self.id.as_str();
        let named = |n: u32| {
            let tail = format!("-{n}");
            let kept = stem.len().min(63 - tail.len());
            format!("{}{tail}", &stem[..kept]).parse().expect("an id that is cut and numbered is an id")
        };
        (2..).map(named).find(free).expect("there are more numbers than bubbles")
    }
}

/// The recorded rules as if they had just been resolved.
fn resolved(state: &BubbleState) -> Resolved {
    Resolved { rules: state.rules.clone(), no_tests: state.rules.checks.is_empty(), explained: Vec::new() }
}
