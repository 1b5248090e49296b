//! The loop so far, as a policy sees it: rounds, seats, turns, and the reviews that count.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::{CleanReview, Outcome, Receipt, RoundRoles, Seat, Seats, Snapshot};
use crate::ids::{AgentId, FindingId, Party, TreeId};
use crate::log::{Reason, WorkspaceRecord};

/// The loop so far: rounds, seats, turns, and the reviews that count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// The present round; 0 before the start.
    pub round: u32,
    /// How far the present round is.
    #[serde(default)]
    pub stage: RoundStage,
    /// What was used of the present budget.
    pub spent: Spent,
    /// How many reviews there were in all.
    #[serde(default)]
    pub looks: u32,
    /// How many turns were given out in which acceptance tests are written.
    #[serde(default)]
    pub acceptance_turns: u32,
    /// Whether the last review objected: what became of that, another look has to tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contradicted: bool,
    /// The disputed findings that the judge has yet to decide.
    #[serde(default)]
    pub contested: Vec<FindingId>,
    /// How often work went back to the implementer in this round without a review.
    pub sent_back: u32,
    /// The hand-over that came back, until its sender is known to have learned so.
    pub returned: Option<Returned>,
    /// What went back last without a review.
    pub went_back: Option<WentBack>,
    /// Who sits where.
    pub seats: Seats,
    /// Who sat where, round by round.
    pub history: Vec<RoundRoles>,
    /// How many turns were given out.
    pub turns: u32,
    /// How many turns each agent has held, and which was the last.
    pub held: BTreeMap<AgentId, TurnsHeld>,
    /// Which tree each agent reviewed last, and when.
    pub reviewed_by: BTreeMap<AgentId, Reviewed>,
    /// The tree of the last review, whatever it found.
    pub reviewed: Option<TreeId>,
    /// The clean reviews of the newest snapshot's tree, in order; also of a tree that differs from it by the base alone.
    pub streak: Vec<CleanReview>,
    /// In whose turns files changed so far.
    pub authors: Vec<Party>,
}

/// How far a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundStage {
    /// Its first turn has not been opened yet.
    Pending,
    /// Its first turn was opened.
    #[default]
    Begun,
    /// It is over, and a person is asked whether there is another one.
    AwaitingNext,
}

impl Rounds {
    /// Returns the newest round that an agent has worked in.
    pub fn last_begun(&self) -> u32 {
        if self.stage == RoundStage::Pending { self.round.saturating_sub(1) } else { self.round }
    }
}

/// What a loop has used since the start, the last rework, or since a person last granted more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The rounds that began, the present one included. Work that went back without a review stays in its round.
    pub rounds: u32,
    /// The reviews.
    pub looks: u32,
}

/// The turns of one agent, and what it asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnsHeld {
    /// How many.
    pub count: u32,
    /// The number of the last one.
    pub last: u32,
    /// How many of the agent's questions were answered.
    pub answered: u32,
}

/// A hand-over that came back without a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// The turn in which it was said.
    pub turn: u32,
    /// The tree that was handed over.
    pub tree: TreeId,
}

/// What went back last without a review, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WentBack {
    /// The tree that was handed over.
    pub tree: TreeId,
    /// What fails on it.
    pub why: Vec<Reason>,
    /// Whether a person was asked because it was handed over again.
    pub asked: bool,
}

/// The last review of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// In which round.
    pub round: u32,
    /// Of which tree.
    pub tree: TreeId,
}

/// What an agent said when it handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoverSummary {
    /// In which round.
    pub round: u32,
    /// From which seat.
    pub seat: Seat,
    /// Who.
    pub agent: AgentId,
    /// What.
    pub summary: String,
}

/// What is known of the work: its trees, and what pairflow ran on them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkEvidence {
    /// Where the agents work.
    pub workspace: Option<WorkspaceRecord>,
    /// The newest snapshot.
    pub snapshot: Option<Snapshot>,
    /// How many snapshots were taken.
    pub snapshots: u64,
    /// In which rounds each file was changed that differs from the base, as far as the snapshots list them.
    pub touched: BTreeMap<String, Vec<u32>>,
    /// What the checks said of the newest snapshot's tree.
    pub receipts: Vec<Receipt>,
    /// Receipts of the newest snapshot's tree that do not count any more: the check failed, and was to run again.
    pub superseded: Vec<Receipt>,
    /// How often a check could not be run on the newest snapshot's tree.
    pub could_not: BTreeMap<String, u32>,
    /// Checks that a person called not available for the newest snapshot's tree.
    pub not_available: Vec<String>,
    /// What the checks said of the base, before there was any work.
    pub baseline: Vec<Receipt>,
    /// The checks that fail on the base, as the person knows.
    pub known_failures: Vec<String>,
    /// Checks that the person waived, with the reason.
    pub waived_checks: BTreeMap<String, String>,
    /// Whether the next snapshot differs from the newest one by a merged base alone.
    pub base_only: bool,
}

/// What is known of one required check on the newest snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckState<'a> {
    /// It passed.
    Passed(&'a Receipt),
    /// It failed.
    Failed(&'a Receipt),
    /// A person said that it is not available.
    NotAvailable,
    /// A person waived it, for this reason.
    Waived(&'a str),
    /// It has not been run, or could not be.
    Missing,
}

impl WorkEvidence {
    /// Returns the tree that the next turn is expected to find.
    pub fn tree(&self) -> Option<&TreeId> {
        match (&self.snapshot, &self.workspace) {
            (Some(snapshot), _) => Some(&snapshot.tree),
            (None, Some(workspace)) => Some(&workspace.base_tree),
            (None, None) => None,
        }
    }

    /// Whether the newest tree is that of the base.
    pub fn changes_nothing(&self) -> bool {
        let base = self.workspace.as_ref().map(|workspace| &workspace.base_tree);
        base.is_some() && base == self.snapshot.as_ref().map(|one| &one.tree)
    }

    /// Returns what is known of the check called `name` on the newest snapshot.
    pub fn check(&self, name: &str) -> CheckState<'_> {
        match (self.check_without_waiver(name), self.waived_checks.get(name)) {
            (CheckState::NotAvailable, _) => CheckState::NotAvailable,
            (_, Some(reason)) => CheckState::Waived(reason),
            (state, None) => state,
        }
    }

    /// Returns what would be known of that check if nobody had waived it.
    pub fn check_without_waiver(&self, name: &str) -> CheckState<'_> {
        if self.not_available.iter().any(|check| check == name) {
            return CheckState::NotAvailable;
        }
        match self.receipts.iter().rev().find(|receipt| receipt.check == name) {
            Some(receipt) if receipt.outcome.passed() => CheckState::Passed(receipt),
            Some(receipt) if matches!(receipt.outcome, Outcome::Failed { .. }) => CheckState::Failed(receipt),
            _ => CheckState::Missing,
        }
    }

    /// Returns the failed receipt of the check called `name` on a tree on which it passed later.
    pub fn flaky(&self, name: &str) -> Option<&Receipt> {
        let failed = self.superseded.iter().rev().find(|receipt| receipt.check == name);
        failed.filter(|_| matches!(self.check(name), CheckState::Passed(_)))
    }

    /// The name under which the tries of a reproducer are counted in `could_not`.
    pub fn tries_of(finding: FindingId) -> String {
        format!("reproducer of {finding}")
    }
}
