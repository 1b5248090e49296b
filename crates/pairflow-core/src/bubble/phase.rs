//! The ten states of a bubble, each with what only that state has.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::facts::Seat;
use crate::ids::{AgentId, CommitId, FindingId, Party, TreeId};
use crate::log::{ApprovalRequest, Person, Waivable};
use crate::time::Moment;

/// Where a bubble stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Configured, nothing made yet.
    Created,
    /// Branch and worktree are being made.
    Preparing,
    /// An agent has the turn, or is about to.
    Running(Turn),
    /// A person is asked; afterwards the turn goes on.
    WaitingHuman(Turn),
    /// Converged; a person decides on the package.
    ReadyForApproval(ApprovalRequest),
    /// Approved; a person asks for the commit.
    Approved(Approval),
    /// Committed; the done package is still to be recorded.
    Committed(Committed),
    /// Final: committed and recorded.
    Done(Committed),
    /// Final: an unrecoverable error.
    Failed {
        /// Why.
        reason: String,
    },
    /// Final: the person stopped it.
    Cancelled,
}

/// The names of the states, as they stand in `state.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum StateName {
    /// `CREATED`
    Created,
    /// `PREPARING_WORKSPACE`
    PreparingWorkspace,
    /// `RUNNING`
    Running,
    /// `WAITING_HUMAN`
    WaitingHuman,
    /// `READY_FOR_APPROVAL`
    ReadyForApproval,
    /// `APPROVED_FOR_COMMIT`
    ApprovedForCommit,
    /// `COMMITTED`
    Committed,
    /// `DONE`
    Done,
    /// `FAILED`
    Failed,
    /// `CANCELLED`
    Cancelled,
}

/// One agent's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number, counted over the whole life of the bubble.
    pub number: u32,
    /// The seat that it belongs to.
    pub seat: Seat,
    /// The agent that holds it.
    pub agent: AgentId,
    /// Since when it is this agent's.
    pub since: Moment,
    /// When the agent was last heard of; silence is counted from here.
    pub heard: Moment,
    /// How far it is.
    pub stage: Stage,
    /// How many slices the change under review was cut into; none if it stands in the brief as a whole.
    #[serde(default)]
    pub slices: u32,
    /// Since when it has not been interrupted by a person.
    #[serde(default)]
    pub uninterrupted: Moment,
    /// How often the agent was reminded that it has not handed over.
    #[serde(default)]
    pub nudges: u32,
    /// Whether a person was told that it takes long.
    #[serde(default)]
    pub overdue: bool,
    /// Whether an agent has handed over and no person has done anything since; not any more once it is open.
    #[serde(default)]
    pub follows_handover: bool,
    /// Whether another agent was seen at work in it.
    #[serde(default)]
    pub others_at_work: bool,
    /// Whether acceptance tests are written in it, from the task alone; it is no review.
    #[serde(default)]
    pub acceptance: bool,
}

/// How far a turn is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// An agent has handed over; the tree that it left is not recorded yet. After a review the turn is still the reviewer's:
    /// who is next follows from the verdict.
    Closing(Handover),
    /// The tree is recorded; checks and the notice are still owed.
    Opening,
    /// The agent may act.
    Open,
    /// The reviews suffice; acceptance follows as soon as no question is open.
    Settled,
    /// A person has accepted the work as it is, at a tie-break.
    Accepted,
    /// The certificate is recorded; the package comes next, in the same append.
    Certified,
}

/// Who handed over, and what the hand-over claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The agent that passed.
    pub by: AgentId,
    /// The seat that it passed from.
    pub seat: Seat,
    /// The round in which it passed.
    pub round: u32,
    /// Whether a reviewer wants the person to decide first.
    #[serde(default)]
    pub discuss: bool,
    /// Whether another agent was seen at work in its turn.
    #[serde(default)]
    pub others_at_work: bool,
    /// What the person waived after it. A review that asked for changes does not become clean by that.
    #[serde(default)]
    pub waived: Vec<Waivable>,
    /// Whether the person changed checks after it.
    #[serde(default)]
    pub checks_changed: bool,
    /// The findings that it closed, as long as the review counts.
    #[serde(default)]
    pub closed: Vec<FindingId>,
}

/// An approval that waits for its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What was approved.
    pub request: ApprovalRequest,
    /// The commit that was asked for and is not confirmed yet.
    pub commit: Option<CommitOrder>,
    /// Why the last attempt failed.
    pub failed: Option<String>,
    /// Whether the last attempt was to run the repository's own hooks.
    #[serde(default)]
    pub hooks: bool,
}

/// A commit that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitOrder {
    /// The message.
    pub message: String,
    /// Whether the repository's own hooks run.
    pub hooks: bool,
    /// Who commits, if the person's environment says so.
    pub author: Option<Person>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// The commit.
    pub commit: CommitId,
    /// The tree in it.
    pub tree: TreeId,
    /// The package it was approved with.
    pub request: ApprovalRequest,
}

impl Phase {
    /// Returns the state's name.
    pub fn name(&self) -> StateName {
        match self {
            Self::Created => StateName::Created,
            Self::Preparing => StateName::PreparingWorkspace,
            Self::Running(_) => StateName::Running,
            Self::WaitingHuman(_) => StateName::WaitingHuman,
            Self::ReadyForApproval(_) => StateName::ReadyForApproval,
            Self::Approved(_) => StateName::ApprovedForCommit,
            Self::Committed(_) => StateName::Committed,
            Self::Done(_) => StateName::Done,
            Self::Failed { .. } => StateName::Failed,
            Self::Cancelled => StateName::Cancelled,
        }
    }

    /// Whether nothing can follow.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Failed { .. } | Self::Cancelled)
    }

    /// Whether the configuration can still change.
    pub fn takes_rules(&self) -> bool {
        !self.is_final() && !matches!(self, Self::Preparing | Self::Committed(_))
    }

    /// Returns the package that is up for approval, or was approved.
    pub fn request(&self) -> Option<&ApprovalRequest> {
        match self {
            Self::ReadyForApproval(request) => Some(request),
            Self::Approved(approval) => Some(&approval.request),
            Self::Committed(at) | Self::Done(at) => Some(&at.request),
            _ => None,
        }
    }

    /// Returns the turn that is running or interrupted.
    pub fn turn(&self) -> Option<&Turn> {
        match self {
            Self::Running(turn) | Self::WaitingHuman(turn) => Some(turn),
            _ => None,
        }
    }

    /// Returns the turn that is running or interrupted, to change it.
    pub(crate) fn turn_mut(&mut self) -> Option<&mut Turn> {
        match self {
            Self::Running(turn) | Self::WaitingHuman(turn) => Some(turn),
            _ => None,
        }
    }
}

impl Turn {
    /// Whether the agent may act.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// Returns whose changes those are that are made while it is open.
    pub fn author(&self) -> Option<Party> {
        author(&self.agent, self.seat, self.others_at_work)
    }
}

impl Handover {
    /// Returns whose changes those are that its turn leaves.
    pub fn author(&self) -> Option<Party> {
        author(&self.by, self.seat, self.others_at_work)
    }
}

/// The holder of a turn, unless it only reviewed while another agent was still at work.
fn author(agent: &AgentId, seat: Seat, others_at_work: bool) -> Option<Party> {
    (seat == Seat::Implementer || !others_at_work).then(|| Party::Agent(agent.clone()))
}

impl StateName {
    /// Returns the name as it stands in `state.json`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
