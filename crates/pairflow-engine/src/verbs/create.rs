//! Creates bubbles: configuration and first line, no worktree or agent yet. A follow-up begins with the work of a bubble that
//! is DONE.

use pairflow_core::bubble::{BubbleState, Phase, create};
use pairflow_core::config::{Resolved, acceptance_criteria, render_bubble_toml};
use pairflow_core::ids::{BubbleId, CommitId};
use pairflow_core::log::{CommitIdentity, Lifecycle, MAX_TEXT};

use super::approved_documents::{PinnedDocument, criteria_of};
use super::configure::recorded_rules;
use super::loop_verbs::wrong_state;
use crate::engine::{Bubble, Engine, EngineError, INLINE_LIMIT};
use crate::git::{ManualMerge, Repo, commit_identity, join_by_hand, merge_tree};
use crate::store::StoreError;
use crate::verbs::ConflictPolicy;

/// The id that no bubble may have: archived snapshots are stored under it.
const RESERVED: &str = "archive";

/// What a new bubble needs.
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
    /// Who makes its commit; by default git's current identity.
    pub identity: Option<CommitIdentity>,
    /// The hashes of documents that the person approved.
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
    /// Creates a bubble. Refuses an existing id, an empty task, and a missing base branch.
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
        documents: &[PinnedDocument],
        refs: &mut Vec<String>,
    ) -> Result<Vec<pairflow_core::log::Event>, EngineError> {
        // The criteria of the approved document count beside those of the task.
        let mut criteria = acceptance_criteria(&new.task);
        let more: Vec<_> = criteria_of(documents).into_iter().filter(|one| !criteria.contains(one)).collect();
        criteria.extend(more);
        let bytes: usize = criteria.iter().map(String::len).sum();
        if bytes > MAX_TEXT {
            return Err(EngineError::BadInput(format!(
                "the acceptance criteria of the task and its document are {bytes} bytes; the limit is {MAX_TEXT}; put details into a file of the repository"
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

    /// Makes a bubble with the same task and rules that begins with this one's commit, merged with what the base branch
    /// has become. DONE itself stays final. With `by_hand`, files in conflict are taken as the person left them in this
    /// bubble's worktree.
    pub fn follow_up(&self, conflict: ConflictPolicy) -> Result<Bubble, EngineError> {
        let state = self.load()?.state;
        let Phase::Done(done) = &state.phase else {
            return Err(self.refuse_person(wrong_state(
                &state,
                "update",
                "only a bubble that is DONE is followed by another",
            )));
        };
        let repo = Repo::discover(self.control.repo())?;
        let id = self.next_id();
        let mut resolved = recorded_rules(&state);
        let continues = match conflict {
            ConflictPolicy::Stop => done.commit.clone(),
            ConflictPolicy::Edited => self.joined_by_hand(&state, &done.commit, &repo, false)?,
            ConflictPolicy::Kept => self.joined_by_hand(&state, &done.commit, &repo, true)?,
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
            ManualMerge::Joined(joined) => Ok(joined),
            ManualMerge::NoConflict => Err(EngineError::BadInput(format!(
                "{base} and the work of {id} do not conflict, so there is nothing to resolve: pairflow update {id}"
            ))),
            ManualMerge::Untouched(files) => Err(EngineError::BadInput(format!(
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
            Ok(_) => Ok(Vec::new()),
            Err(files) => Ok(files),
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
