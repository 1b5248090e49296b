//! Start, approve, commit, update and resume: each is recorded, carried out, and confirmed by the log.

use std::time::Duration;

use pairflow_core::bubble::{
    BubbleState, Command, Committed, Phase, Refusal, RefusedCaller, WorktreeSeen, decide, missing_checks,
};
use pairflow_core::ids::TreeId;
use pairflow_core::log::{Body, Lifecycle, RetryKey};
use pairflow_core::rules::Rules;
use pairflow_core::view::inbox::inbox;

use super::{Executor, FileState};
use crate::engine::{Applied, Bubble, EngineError};
use crate::git::{
    GitError, Repo, UpdateRequest, Worktree, bring_to, commit_hooks, insist_on_recent, is_ancestor, is_untouched,
    would_update,
};
use crate::perform::{commit_now, is_same_patch, seen, set_up};
use crate::process::Cancel;
use crate::store::storage::Guard;
use crate::workspace::{relink, restore};

/// A bubble that was resumed.
#[derive(Debug, Clone)]
pub struct Resumed {
    /// Its state.
    pub state: BubbleState,
    /// Whether its missing worktree was made again.
    pub restored: bool,
}

/// What to do with files in which the base branch and the work conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// Stop the merge.
    Stop,
    /// Take them as a person has edited them in the worktree.
    Edited,
    /// Take them as they are in the worktree, edited or not.
    Kept,
}

impl Bubble {
    /// Starts the bubble and returns once its workspace is ready. A start that a crash interrupted is resumed.
    ///
    /// While one process starts it, any other is refused.
    pub fn start(&self, rules: &Rules, executor: &Executor) -> Result<BubbleState, EngineError> {
        let _starting = self.starting()?;
        let before = self.load()?;
        let goes_on = before.state.phase == Phase::Preparing;
        let state = if goes_on {
            before.state
        } else {
            // These are no configuration: they were fixed when the bubble was created.
            let Rules { continues, prd, policy, .. } = before.state.rules.clone();
            executor.announce(self);
            let start = Command::Start { rules: Box::new(Rules { continues, prd, policy, ..rules.clone() }) };
            self.apply(&start)?.state
        };
        // The bubble's own file holds what was recorded, also from flags and other files: a later difference was edited.
        let file = self.file_state(&state)?;
        if matches!(file, FileState::Gone) || !(goes_on || matches!(file, FileState::Same)) {
            self.write_config(&state)?;
        }
        let seq = before.head.seq;
        let extra = Duration::from_secs(rules.check_timeout_secs);
        executor.wake_with_environment(self)?;
        let ended = executor.carry_out(self, extra, |state| match &state.phase {
            Phase::Preparing => None,
            Phase::Created => Some(Err(())),
            _ => Some(Ok(state.clone())),
        })?;
        ended.map_err(|()| EngineError::Effect(self.last_failure(seq, "the start failed")))
    }

    /// Waits until the checks have run on the base, or a person has to act first; returns the state.
    pub fn base_checked(&self, state: &BubbleState, executor: &Executor) -> Result<BubbleState, EngineError> {
        let checks = u32::try_from(state.rules.checks.len() + 1).unwrap_or(u32::MAX);
        let extra = Duration::from_secs(state.rules.check_timeout_secs).saturating_mul(checks);
        executor.carry_out(self, extra, |state| {
            let runs = matches!(state.phase, Phase::Running(_)) && !state.paused;
            (!runs || missing_checks(state).is_empty()).then(|| state.clone())
        })
    }

    /// Takes the lock of a start, which the kernel releases with its holder.
    fn starting(&self) -> Result<Guard, EngineError> {
        self.exclusively("start")?.ok_or_else(|| self.outrun("start", "another process is starting it"))
    }

    /// Refuses a command that the rules forbid in `state`, without a record.
    pub fn allow(&self, state: &BubbleState, command: &Command) -> Result<(), EngineError> {
        decide(state, command, self.engine.clock.now()).map(drop).map_err(|refusal| self.refuse_person(refusal))
    }

    /// Refuses a verb that another process is carrying out.
    pub(super) fn outrun(&self, command: &'static str, why: &str) -> EngineError {
        match self.load() {
            Ok(loaded) => self.refuse_person(wrong_state(&loaded.state, command, why).lost_race()),
            Err(error) => error,
        }
    }

    /// Returns the refusal of a person's verb.
    pub(super) fn refuse_person(&self, refusal: Refusal) -> EngineError {
        EngineError::Refused { id: self.id.clone(), caller: RefusedCaller::Person, refusal: Box::new(refusal) }
    }

    /// Approves the package, provided that the worktree is still what was reviewed.
    ///
    /// `shown` is the SHA-256 of the package that the person read; by default the current one. If another package is up
    /// for approval by now, another process was faster.
    pub fn approve(&self, shown: Option<&str>, key: Option<RetryKey>) -> Result<Applied, EngineError> {
        let state = self.load()?.state;
        let present = match &state.phase {
            Phase::ReadyForApproval(request) => request.package_sha256.as_str(),
            _ => "",
        };
        let package_sha256 = shown.unwrap_or(present).to_owned();
        self.restore_worktree(&state)?;
        let seen = match &state.phase {
            Phase::ReadyForApproval(_) => seen(self, &state)?,
            _ => WorktreeSeen { tree: TreeId(String::new()), differing: Vec::new() },
        };
        self.apply(&Command::Approve { package_sha256, seen, key }).map_err(|error| match error {
            EngineError::Refused { id, caller, refusal }
                if shown.is_some() && matches!(*refusal, Refusal::WrongState { .. }) =>
            {
                EngineError::Refused { id, caller, refusal: Box::new(refusal.lost_race()) }
            }
            other => other,
        })
    }

    /// Commits what was approved and returns once it is recorded.
    ///
    /// The commit is made by this process, in the person's own environment: keys and agents that sign are found there.
    /// An order that a killed process left is taken up.
    pub fn commit(&self, command: &Command, executor: &Executor) -> Result<Committed, EngineError> {
        let before = self.load()?.state;
        self.restore_worktree(&before)?;
        if let Some(_committing) = self.exclusively("commit")? {
            let running_processes = matches!(&before.phase, Phase::Approved(approval) if approval.commit.is_some());
            if !running_processes && !matches!(before.phase, Phase::Committed(_)) {
                self.apply(&self.with_author(&before, command)?)?;
            }
            commit_now(self)?;
        } else {
            return Err(self.outrun("commit", "another process is committing it"));
        }
        let ended = executor.carry_out(self, Duration::from_secs(600), |state| match &state.phase {
            Phase::Done(committed) => Some(Ok(committed.clone())),
            Phase::Approved(approval) => match (&approval.commit, &approval.failed) {
                (None, Some(reason)) => Some(Err(format!("{reason}; then: {}", ways_on(state, approval.hooks)))),
                _ => None,
            },
            Phase::Committed(_) => None,
            other => {
                let (id, state) = (&self.id, other.name());
                Some(Err(format!("the bubble is {state} now; look at it: pairflow status {id}")))
            }
        })?;
        ended.map_err(EngineError::Effect)
    }

    /// Merges the base branch into the worktree and returns once that is recorded.
    ///
    /// Returns `None`, and records nothing, if the bubble already has the tip of the base branch.
    pub fn update(&self, conflict: ConflictPolicy, executor: &Executor) -> Result<Option<BubbleState>, EngineError> {
        let before = self.load()?;
        self.restore_worktree(&before.state)?;
        let resolved = conflict != ConflictPolicy::Stop;
        if conflict == ConflictPolicy::Edited {
            self.refuse_untouched(&before.state)?;
        }
        let command = if resolved { &Command::UpdateResolved } else { &Command::Update };
        let allowed = decide(&before.state, command, self.engine.clock.now()).is_ok();
        if allowed && !before.state.gate.updating && !self.base_moved(&before.state)? {
            return Ok(None);
        }
        if allowed {
            insist_on_recent()?;
        }
        self.apply(command)?;
        let old_base = before.state.evidence.workspace.as_ref().map(|workspace| workspace.base.clone());
        let state = executor
            .carry_out(self, Duration::from_secs(600), |state| (!state.gate.updating).then(|| state.clone()))?;
        let moved = state.evidence.workspace.as_ref().map(|workspace| workspace.base.clone()) != old_base;
        if moved {
            Ok(Some(state))
        } else {
            Err(EngineError::Effect(self.last_failure(before.head.seq, "the update failed")))
        }
    }

    /// Refuses to take unedited files in conflict as resolved.
    fn refuse_untouched(&self, state: &BubbleState) -> Result<(), EngineError> {
        let Some(conflict) = &state.gate.conflict else { return Ok(()) };
        if !is_untouched(&self.workspace(state)?, conflict, state.evidence.snapshots + 1)? {
            return Ok(());
        }
        let (id, files) = (&self.id, conflict.files.join(", "));
        let worktree = state.evidence.workspace.as_ref().map_or("", |record| record.path.as_str());
        Err(EngineError::BadInput(format!(
            "nobody has edited {files} in {worktree} since the conflict; edit the files so that each holds both changes, \
             then: pairflow update {id} --resolved (to drop the other side on purpose: --resolved --keep)"
        )))
    }

    /// Whether the base branch has commits that the bubble lacks; for a bubble that is DONE, whether the base branch lacks
    /// its commit.
    pub fn base_moved(&self, state: &BubbleState) -> Result<bool, EngineError> {
        let repo = Repo::discover(self.control.repo())?;
        let tip = repo.resolve_branch(&state.rules.base_branch)?;
        match &state.phase {
            Phase::Done(done) => Ok(!is_ancestor(&repo.git(), &done.commit, &tip)?),
            _ => Ok(state.evidence.workspace.as_ref().is_none_or(|workspace| workspace.base != tip)),
        }
    }

    /// Whether a merge of the base branch would leave the change the same, so that clean reviews are kept.
    pub fn keeps_patch(&self, state: &BubbleState) -> Result<bool, EngineError> {
        let workspace = self.workspace(state)?;
        let base_branch = &state.rules.base_branch;
        let wanted = UpdateRequest { base_branch, resolved: None, number: state.evidence.snapshots + 1 };
        match would_update(&workspace, &wanted)? {
            Some(updated) => Ok(is_same_patch(&workspace, state, &updated)?),
            None => Ok(false),
        }
    }

    /// Resumes the loop. A missing worktree is made again from the newest snapshot first.
    pub fn resume(&self, executor: &Executor) -> Result<Resumed, EngineError> {
        let state = self.load()?.state;
        let restored = self.restore_worktree(&state)?;
        let goes_on = matches!(state.phase, Phase::Running(_)) && !state.paused;
        executor.announce(self);
        // A running loop needs nothing but its worktree.
        let state =
            match if restored && goes_on { Ok(state) } else { self.apply(&Command::Resume).map(|done| done.state) } {
                // If no loop waits, the worktree was all that was wanted.
                Err(EngineError::Refused { .. }) if restored => self.load()?.state,
                other => other?,
            };
        executor.wake_with_environment(self)?;
        Ok(Resumed { state, restored })
    }

    /// Returns what is wrong with the bubble's worktree, if anything.
    pub fn worktree_problem(&self, state: &BubbleState) -> Option<GitError> {
        self.workspace(state).ok()?.connected().err()
    }

    /// Links a worktree again whose record in the repository was removed. Returns whether that was necessary.
    pub(super) fn reconnect(&self, workspace: &Worktree, state: &BubbleState) -> Result<bool, EngineError> {
        match workspace.connected() {
            Err(GitError::Unlinked { .. }) => {
                relink(workspace, &state.rules.bubble_branch)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Returns the repository's hooks that run at the bubble's commit.
    pub fn commit_hooks(&self, state: &BubbleState) -> Result<Vec<&'static str>, EngineError> {
        Ok(commit_hooks(&self.workspace(state)?)?)
    }

    /// Makes a missing worktree again from the newest snapshot or else the base. Returns whether it did.
    ///
    /// Files that were copied in are copied again, and the setup command runs again.
    pub(crate) fn restore_worktree(&self, state: &BubbleState) -> Result<bool, EngineError> {
        let Some(record) = state.evidence.workspace.as_ref().filter(|_| !state.phase.is_final()) else {
            return Ok(false);
        };
        self.insist_own()?;
        let runtime = self.control.runtime(&self.id);
        let unfinished = runtime.join("restoring");
        let there = std::fs::symlink_metadata(&record.path).is_ok();
        if there && !unfinished.exists() {
            let workspace = self.workspace(state)?;
            let repaired = self.reconnect(&workspace, state)?;
            return workspace.connected().map(|()| repaired).map_err(EngineError::from);
        }
        let failed = |error| EngineError::io(format!("cannot write {}", unfinished.display()), error);
        let tree = state.tree().unwrap_or(&record.base_tree);
        let workspace = self.workspace(state)?;
        if !there {
            std::fs::create_dir_all(&runtime).and_then(|()| crate::regular::write(&unfinished, "")).map_err(failed)?;
            restore(&workspace, &state.rules.bubble_branch, tree)?;
        }
        if let Some(command) = &state.rules.setup {
            let cancel = Cancel::new().map_err(|error| EngineError::io("cannot create a pipe", error))?;
            set_up(self, state, record, command, &cancel)?;
            // Whatever the setup command changed, the recorded work counts.
            bring_to(&workspace, tree)?;
        }
        std::fs::remove_file(&unfinished).map_err(failed)?;
        Ok(true)
    }

    /// Returns the reason of the newest failure recorded after line `seq`.
    fn last_failure(&self, seq: u64, otherwise: &str) -> String {
        let mut reason = otherwise.to_owned();
        // If the log cannot be read, the general reason has to do.
        let _ = self.log().visit(&mut |envelope| {
            let Body::Lifecycle(fact) = &envelope.event.body else { return };
            match fact {
                Lifecycle::StartFailed { reason: why } | Lifecycle::UpdateFailed { reason: why, .. }
                    if envelope.seq > seq =>
                {
                    reason.clone_from(why);
                }
                _ => {}
            }
        });
        reason
    }
}

/// Returns the commands that follow a failed commit. The agents may have to change what hooks refuse.
fn ways_on(state: &BubbleState, hooks: bool) -> String {
    let lines = inbox(state).into_iter().next().map(|item| item.answer).unwrap_or_default();
    match &lines[..] {
        [commit, rework, ..] if hooks => format!("{commit} (or, to have the work changed: {rework})"),
        [commit, ..] => commit.clone(),
        [] => format!("pairflow commit {}", state.id),
    }
}

/// Returns the refusal of a verb that does not fit the state.
pub(super) fn wrong_state(state: &BubbleState, command: &'static str, why: &str) -> Refusal {
    Refusal::WrongState { state: state.phase.name(), command, why: Some(why.to_owned()) }
}
