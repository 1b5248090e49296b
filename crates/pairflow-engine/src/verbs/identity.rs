//! Who makes a bubble's commit: compared with what git says now, and adopted when the person says so.

use pairflow_core::log::{CommitIdentity, Person};
use pairflow_core::unit::{Command, Phase, Unit};

use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, commit_identity, hooks_changed_by_work};

impl Bubble {
    /// Records who git says commits now; the bubble's commit is made so. The person's verb.
    pub fn adopt_identity(&self) -> Result<CommitIdentity, EngineError> {
        let identity = self.identity_now()?;
        self.apply(&Command::SetIdentity { identity: identity.clone() })?;
        Ok(identity)
    }

    /// Says how what git says now differs from who is recorded to make the commit, as sentences.
    pub fn identity_changes(&self, unit: &Unit) -> Result<Vec<String>, EngineError> {
        let now = self.identity_now()?;
        let id = &self.id;
        if let Some(recorded) = unit.identity.as_ref().filter(|recorded| recorded.author.is_some()) {
            let found = recorded.differences(&now);
            let told = format!(
                "the commit identity of this repository has changed since it was recorded for the bubble: {}; the \
                 recorded one is used; to use the new one: pairflow config set {id} identity=current",
                found.join("; ")
            );
            return Ok(if found.is_empty() { Vec::new() } else { vec![told] });
        }
        let told = |author: &Person| {
            format!(
                "who commits was not known when the bubble was created; the commit is made as git says now: {author}"
            )
        };
        Ok(now.author.iter().map(told).collect())
    }

    /// Names the commit hooks that the bubble's work changes; those of the base are run.
    pub fn hooks_changed_by_work(&self, unit: &Unit) -> Result<Vec<String>, EngineError> {
        let Some(hooks) = unit.identity.as_ref().and_then(|identity| identity.hooks.as_ref()) else {
            return Ok(Vec::new());
        };
        let Phase::Approved(approval) = &unit.phase else { return Ok(Vec::new()) };
        Ok(hooks_changed_by_work(&self.workspace(unit)?, hooks, &approval.request.tree)?)
    }

    /// Completes the order of a commit with who commits, if that is not recorded.
    pub(super) fn with_author(&self, unit: &Unit, command: &Command) -> Result<Command, EngineError> {
        let mut command = command.clone();
        if let Command::Commit { author: author @ None, .. } = &mut command
            && unit.identity.as_ref().is_none_or(|recorded| recorded.author.is_none())
        {
            *author = self.identity_now()?.author;
        }
        Ok(command)
    }

    fn identity_now(&self) -> Result<CommitIdentity, EngineError> {
        Ok(commit_identity(&Repo::locate(self.control.repo())?)?)
    }
}
