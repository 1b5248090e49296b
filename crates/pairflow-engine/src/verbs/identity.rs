//! Who makes a bubble's commit: compared with what git says now, and adopted when the person says so.

use pairflow_core::log::CommitIdentity;
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

    /// Says how who commits according to git now differs from who is recorded, one clause for each difference.
    pub fn identity_changes(&self, unit: &Unit) -> Result<Vec<String>, EngineError> {
        match recorded(unit) {
            Some(recorded) => Ok(recorded.differences(&self.identity_now()?)),
            None => Ok(Vec::new()),
        }
    }

    /// Says, as a sentence, what a person has to know about who makes the commit; nothing if all is as recorded.
    pub fn identity_note(&self, unit: &Unit) -> Result<Option<String>, EngineError> {
        if recorded(unit).is_none() {
            let told = |author| {
                format!(
                    "who commits was not known when the bubble was created; git says now: {author}, so that is used"
                )
            };
            return Ok(self.identity_now()?.author.map(told));
        }
        let changes = self.identity_changes(unit)?;
        let told = format!(
            "the commit identity of this repository has changed since the bubble was created: {}; the recorded one is \
             used; to use the new one: pairflow config set {} identity=current",
            changes.join("; "),
            self.id
        );
        Ok((!changes.is_empty()).then_some(told))
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
            && recorded(unit).is_none()
        {
            *author = self.identity_now()?.author;
        }
        Ok(command)
    }

    fn identity_now(&self) -> Result<CommitIdentity, EngineError> {
        Ok(commit_identity(&Repo::locate(self.control.repo())?)?)
    }
}

/// Returns who is recorded to make the commit, if somebody was known.
fn recorded(unit: &Unit) -> Option<&CommitIdentity> {
    unit.identity.as_ref().filter(|identity| identity.author.is_some())
}
