//! Who makes a bubble's commit: compared with what git says now, and adopted when the person says so.

use pairflow_core::bubble::{BubbleState, Command, Phase, decide};
use pairflow_core::log::CommitIdentity;

use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, commit_identity, hooks_changed_by_work};

/// What a person has to know about the identity of a bubble's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityNotice {
    /// All of it, as one sentence.
    pub text: String,
    /// Each difference between the recorded identity and the one that git has now.
    pub changes: Vec<String>,
    /// The command that takes over the new identity; nothing where it would be refused.
    pub next: Option<String>,
}

impl Bubble {
    /// Records who git says commits now; the bubble's commit is made so. The person's verb.
    pub fn adopt_identity(&self) -> Result<CommitIdentity, EngineError> {
        let identity = self.identity_now()?;
        self.apply(&Command::SetIdentity { identity: identity.clone() })?;
        Ok(identity)
    }

    /// Compares the recorded identity with the one that git has now; nothing if they agree.
    ///
    /// Every door shows this where a person decides on the commit.
    pub fn identity_notice(&self, state: &BubbleState) -> Result<Option<IdentityNotice>, EngineError> {
        let now = self.identity_now()?;
        let Some(recorded) = recorded(state) else {
            let told = |author| IdentityNotice {
                text: format!(
                    "no commit identity was known when the bubble was created; git now has {author}, which is used"
                ),
                changes: Vec::new(),
                next: None,
            };
            return Ok(now.author.map(told));
        };
        let changes = recorded.differences(&now);
        if changes.is_empty() {
            return Ok(None);
        }
        let text = format!(
            "the commit identity has changed since the bubble was created ({}); the recorded identity is used",
            changes.join("; ")
        );
        let set = Command::SetIdentity { identity: now };
        let accepted = decide(state, &set, self.engine.clock.now()).is_ok();
        let next = accepted.then(|| format!("pairflow config set {} identity=current", self.id));
        Ok(Some(IdentityNotice { text, changes, next }))
    }

    /// Names the commit hooks that the bubble's work changes; those of the base are run.
    pub fn hooks_changed_by_work(&self, state: &BubbleState) -> Result<Vec<String>, EngineError> {
        let Some(hooks) = state.about.identity.as_ref().and_then(|identity| identity.hooks.as_ref()) else {
            return Ok(Vec::new());
        };
        let Phase::Approved(approval) = &state.phase else { return Ok(Vec::new()) };
        Ok(hooks_changed_by_work(&self.workspace(state)?, hooks, &approval.request.tree)?)
    }

    /// Completes the order of a commit with who commits, if that is not recorded.
    pub(super) fn with_author(&self, state: &BubbleState, command: &Command) -> Result<Command, EngineError> {
        let mut command = command.clone();
        if let Command::Commit { author: author @ None, .. } = &mut command
            && recorded(state).is_none()
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
fn recorded(state: &BubbleState) -> Option<&CommitIdentity> {
    state.about.identity.as_ref().filter(|identity| identity.author.is_some())
}
