//! What became of the bubble itself: the payload of `LIFECYCLE`, and the workspace that it speaks of.

use serde::{Deserialize, Serialize};

use crate::facts::Receipt;
use crate::facts::Seat;
use crate::ids::{AgentId, CommitId, TreeId};
use crate::log::{CommitIdentity, Person};
use crate::rules::{Change, Rules};

/// What became of the bubble itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a fact is made, written and folded, one at a time")]
pub enum Lifecycle {
    /// The bubble exists.
    Created {
        /// The repository's root.
        repo: String,
        /// The text of the task.
        task: String,
        /// Its acceptance criteria.
        acceptance_criteria: Vec<String>,
        /// The configuration in force.
        rules: Box<Rules>,
        /// How the check commands were confirmed: `asked`, `yes`, `explicit`, `no_tests`, `trusted`, `before`.
        confirmed: String,
        /// Who commits, as git said at this moment. Older logs have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<CommitIdentity>,
    },
    /// The person adopted what git says now about who commits.
    IdentitySet {
        /// Who commits from here on.
        identity: CommitIdentity,
    },
    /// The person took over a bubble that somebody else's pairflow wrote, or that could not be told from such a one.
    ///
    /// What was checked, reviewed and approved before does not count, and nothing is done before the person resumes it.
    Adopted {
        /// The repository's root.
        repo: String,
        /// Why it was foreign.
        reason: String,
    },
    /// A start was asked for.
    StartRequested {
        /// The configuration in force from here on.
        rules: Box<Rules>,
    },
    /// Worktree and branch are there.
    WorkspaceReady {
        /// Where and from what.
        workspace: Workspace,
    },
    /// The start did not work; the bubble can be started again.
    StartFailed {
        /// Why, with the next step.
        reason: String,
    },
    /// An agent may act.
    TurnOpened {
        /// The number of the turn, counted over the whole life of the bubble.
        turn: u32,
        /// Which seat it belongs to.
        seat: Seat,
        /// Which agent holds it.
        agent: AgentId,
        /// How many slices the change under review was cut into; none if it stands in the brief as a whole.
        #[serde(default, skip_serializing_if = "crate::log::body::is_zero")]
        slices: u32,
    },
    /// An agent process may now prove itself with this token.
    TokenMinted {
        /// Which agent.
        agent: AgentId,
        /// The SHA-256 of the token.
        token_sha256: String,
    },
    /// An agent's program was started, or told which session it has.
    AgentSession {
        /// Which agent.
        agent: AgentId,
        /// For which turn it was started; 0 before its first one.
        turn: u32,
        /// In which seat, if that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
        /// By which name the session can be taken up again, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// An agent's program was seen at work while another agent reviewed: who changed files in that turn is not known.
    AtWorkOutOfTurn {
        /// Which agent.
        agent: AgentId,
        /// In which turn.
        turn: u32,
    },
    /// The approved tree is about to be committed.
    CommitRequested {
        /// The message.
        message: String,
        /// Why files out of scope are committed nevertheless.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        override_scope: Option<String>,
        /// Whether the repository's own hooks run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hooks: bool,
        /// Who commits, if that was not known when the bubble was created.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Person>,
    },
    /// The commit was made.
    Committed {
        /// The commit.
        commit: CommitId,
        /// What the branch pointed to before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_tip: Option<CommitId>,
    },
    /// The commit could not be made; it can be tried again.
    CommitFailed {
        /// Why, with the next step.
        reason: String,
    },
    /// The base branch is to be merged into the worktree.
    UpdateRequested {
        /// The conflict that the person has resolved in the worktree; those files are taken as they are there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolved: Option<Conflict>,
    },
    /// The base branch was merged into the worktree.
    Updated {
        /// The new base.
        base: CommitId,
        /// Its tree.
        base_tree: TreeId,
        /// Whether the work changes the same files from the same content to the same content as before, so that the
        /// clean reviews of it are kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        same_patch: bool,
    },
    /// The base branch could not be merged.
    UpdateFailed {
        /// Why, with the next step.
        reason: String,
        /// What a person has to resolve, if that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Conflict>,
    },
    /// The person changed the configuration.
    Configured {
        /// Whether an open review waits until checks have run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recheck: bool,
        /// The configuration in force from here on.
        rules: Box<Rules>,
        /// What changed.
        changes: Vec<Change>,
    },
    /// The bubble's commit reached the base branch.
    Merged {
        /// What the base branch points to now.
        commit: CommitId,
    },
    /// An unrecoverable error ended the bubble.
    Failed {
        /// Why.
        reason: String,
    },
    /// The person stopped the bubble.
    Cancelled {
        /// Why, if said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
}

/// A base that does not fit the bubble's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The base that was to be merged.
    pub base: CommitId,
    /// The files in which both sides changed the same lines.
    pub files: Vec<String>,
}

/// Where a bubble works, and what it was cut from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// The worktree's root.
    pub path: String,
    /// Its git directory.
    pub git_dir: String,
    /// The git directory that it shares with the repository (its own, for a clone).
    pub common_dir: String,
    /// The base commit.
    pub base: CommitId,
    /// The tree of the base commit.
    pub base_tree: TreeId,
    /// The first of the ports leased to the bubble.
    pub port: u16,
    /// How many ports are leased.
    pub ports: u16,
    /// What the setup command did, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Receipt>,
    /// Files copied because `.worktreeinclude` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<String>,
    /// What the worktree stood on when it was ready.
    #[serde(default)]
    pub ground: Ground,
}

/// What a worktree stood on when it was ready for the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ground {
    /// The patterns of the repository's `info/exclude`; they stay in force, whatever becomes of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excludes: Option<String>,
    /// The SHA-256 of the repository's `info/attributes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<String>,
    /// The tree, if it was not the base's: earlier work that goes on, or files that the setup command changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// Files with conflict markers: earlier work and the base changed the same lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}
