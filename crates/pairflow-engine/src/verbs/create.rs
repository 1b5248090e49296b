//! A new bubble: its configuration and its first line. No worktree, no agent yet.

use pairflow_core::bubble::{BubbleState, create};
use pairflow_core::config::{Resolved, acceptance_criteria, render_bubble_toml};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::MAX_TEXT;
use pairflow_core::log::{CommitIdentity, Lifecycle};

use super::prd::{Document, criteria_of};
use crate::engine::{Bubble, Engine, EngineError, INLINE_LIMIT};
use crate::git::{Repo, commit_identity};
use crate::store::StoreError;

/// An id that no bubble may have: archived snapshots lie under it, beside those of the bubbles.
const RESERVED: &str = "archive";

/// What a new bubble is made of.
pub struct NewBubble<'a> {
    /// Its name.
    pub id: BubbleId,
    /// Its repository.
    pub repo: &'a Repo,
    /// The task.
    pub task: String,
    /// The configuration, all layers resolved.
    pub resolved: Resolved,
    /// How the check commands were confirmed.
    pub confirmed: Confirmed,
    /// Who makes its commit; without one, the identity that git has at the commit.
    pub identity: Option<CommitIdentity>,
    /// The hashes of documents that the person called approved.
    pub prd_approved: Vec<String>,
}

/// How a person confirmed the check commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// Asked on the terminal.
    Asked,
    /// `--yes` for detected commands.
    Yes,
    /// Given on the command line or in a configuration file.
    Explicit,
    /// `--no-tests`, with manual checks.
    NoTests,
    /// `--trust` for the commands of the repository's own file.
    Trusted,
    /// For an earlier bubble with the same commands.
    Before,
}

impl Confirmed {
    fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Yes => "yes",
            Self::Explicit => "explicit",
            Self::NoTests => "no_tests",
            Self::Trusted => "trusted",
            Self::Before => "before",
        }
    }
}

impl Engine {
    /// Makes a bubble. Refuses an id that is taken, an empty task, and a base branch that is not there.
    pub fn create(&self, mut new: NewBubble<'_>) -> Result<(Bubble, BubbleState), EngineError> {
        if new.id.as_str() == RESERVED {
            return Err(EngineError::BadInput(format!("the id '{RESERVED}' is reserved; choose another one")));
        }
        if new.task.trim().is_empty() {
            return Err(EngineError::BadInput("the task must not be empty".to_owned()));
        }
        new.repo.resolve_branch(&new.resolved.rules.base_branch)?;
        let rules = &mut new.resolved.rules;
        let pinned = match &mut rules.prd {
            Some(prd) => self.pin(new.repo, prd, &rules.base_branch, &new.prd_approved)?,
            None => Vec::new(),
        };
        let bubble = self.handle(&new.repo.root, &new.id);
        if bubble.log.exists() {
            return Err(EngineError::Exists { id: new.id, repo: new.repo.root.clone(), raced: false });
        }
        if bubble.log.is_gone() {
            return Err(bubble.log.missing().into());
        }
        new.repo.exclude()?;
        let toml = render_bubble_toml(&new.resolved, &new.id, &new.repo.root.display().to_string());
        let mut refs = bubble.copy_documents(&pinned)?;
        let mut created = bubble.first_fact(&new, &pinned, &mut refs)?;
        created[0].refs = refs;
        let now = self.clock.now();
        match bubble.log.create_configured(&toml, &created, now) {
            Ok((log, _)) => Ok((bubble, log.into_loaded().state)),
            // A moment ago it was not there.
            Err(StoreError::Exists { .. }) => {
                Err(EngineError::Exists { id: new.id, repo: new.repo.root.clone(), raced: true })
            }
            Err(other) => Err(other.into()),
        }
    }
}

impl Bubble {
    fn first_fact(
        &self,
        new: &NewBubble<'_>,
        documents: &[Document],
        refs: &mut Vec<String>,
    ) -> Result<Vec<pairflow_core::log::Event>, EngineError> {
        // What the approved document asks for is what the work is held against, beside what the task says itself.
        let mut criteria = acceptance_criteria(&new.task);
        let more: Vec<_> = criteria_of(documents).into_iter().filter(|one| !criteria.contains(one)).collect();
        criteria.extend(more);
        let bytes: usize = criteria.iter().map(String::len).sum();
        if bytes > MAX_TEXT {
            return Err(EngineError::BadInput(format!(
                "the acceptance criteria of the task and its document are {bytes} bytes; the limit is {MAX_TEXT}. Put details into a file of the repository"
            )));
        }
        let task = if new.task.len() > INLINE_LIMIT { self.inline(&new.task, refs)? } else { new.task.clone() };
        let identity = new.identity.clone().map_or_else(|| commit_identity(new.repo), Ok)?;
        Ok(create(Lifecycle::Created {
            repo: new.repo.root.display().to_string(),
            task,
            acceptance_criteria: criteria,
            rules: Box::new(new.resolved.rules.clone()),
            confirmed: new.confirmed.word().to_owned(),
            identity: Some(identity),
        }))
    }
}
