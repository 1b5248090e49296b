//! What was accepted, and on which evidence; anyone can recompute it from the log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::facts::{Finding, Severity};
use crate::ids::{AgentId, FindingId, TreeId};

/// The proof that a tree was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The policy that accepted it.
    pub policy: String,
    /// The version of that policy's rules.
    pub policy_version: u32,
    /// How many rounds the policy allowed without a person.
    pub max_rounds: u32,
    /// The accepted tree.
    pub tree: TreeId,
    /// The reviews that found nothing severe in this tree, or in one that differs from it by the base alone.
    pub reviews: Vec<CleanReview>,
    /// What the checks said of exactly this tree.
    pub checks: Vec<CheckStand>,
    /// Findings that are still open, none of them grave unless `waived` says so.
    pub open: Vec<Finding>,
    /// Where every finding of the bubble stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<RowStand>,
    /// Which agent held which seat in which round.
    pub round_role_history: Vec<RoundRoles>,
    /// What the person did without at a tie-break: findings that blocked acceptance, and what was missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
    /// What a reader should know: same model in both seats, agents whose freshness pairflow cannot vouch for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Certificate {
    /// Whether a person accepted the work at a tie-break.
    pub fn by_person(&self) -> bool {
        !self.waived.is_empty()
    }

    /// Whether the person accepted the work although `finding` blocked it.
    pub fn accepted_open(&self, finding: &Finding) -> bool {
        finding.id.is_some_and(|id| {
            let short = format!("{id} {} {}", finding.severity, finding.title);
            self.waived.contains(&short)
        })
    }

    /// The findings that blocked acceptance when a person decided, in short.
    pub fn open_then(&self) -> impl Iterator<Item = &Finding> {
        self.open.iter().filter(|finding| self.accepted_open(finding))
    }

    /// What else was missing when a person decided.
    pub fn missing_then(&self) -> impl Iterator<Item = &str> {
        let open: Vec<_> = self.open_then().filter_map(|finding| finding.id).map(|id| format!("{id} ")).collect();
        let missing = move |what: &&String| !open.iter().any(|id| what.starts_with(id));
        self.waived.iter().filter(missing).map(String::as_str)
    }
}

/// Where one finding stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowStand {
    /// Which one.
    pub id: FindingId,
    /// How grave it is.
    pub severity: Severity,
    /// What it became.
    pub state: RowState,
    /// Whether it is closed.
    pub settled: bool,
}

/// A review that left nothing grave open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanReview {
    /// Who reviewed.
    pub agent: AgentId,
    /// In which round.
    pub round: u32,
    /// Whether part of what it reviewed changed in a turn of its own.
    pub own_work: bool,
    /// The tree that it reviewed, if the base was merged since and the change of the work stayed the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
}

impl CleanReview {
    /// What a reader should know of it, each as the end of a sentence.
    pub fn asides(&self) -> Vec<String> {
        let own = self.own_work.then(|| "part of it changed in its own turn".to_owned());
        let before = self
            .tree
            .as_ref()
            .map(|tree| format!("of tree {tree}; the base was merged since and changed no file of this work"));
        own.into_iter().chain(before).collect()
    }
}

/// What one check said of the accepted tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckStand {
    /// Which check.
    pub check: String,
    /// `passed`, `not available` because a person said so, or `waived` with the person's reason.
    pub stand: String,
}

/// Which agent held which seat in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundRoles {
    /// The round.
    pub round: u32,
    /// The implementer.
    pub implementer: AgentId,
    /// The reviewer.
    pub reviewer: AgentId,
}

/// Where a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// Claimed, and not answered yet.
    Open,
    /// Said or proven to be fixed.
    Fixed,
    /// The implementer says that it is no fault.
    Disputed,
    /// The person lives with it.
    Waived,
    /// Claimed again after it was answered or closed.
    Reopened,
    /// Asks to undo what an earlier row asked for.
    Reversal,
}

impl RowState {
    /// The words for it as people read them. That something is fixed is the implementer's claim until it is closed.
    pub fn told(self, settled: bool) -> &'static str {
        match self {
            Self::Fixed if !settled => "claimed fixed",
            other => other.name(),
        }
    }

    /// The word for it, as programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fixed => "fixed",
            Self::Disputed => "disputed",
            Self::Waived => "waived",
            Self::Reopened => "reopened",
            Self::Reversal => "reversal",
        }
    }
}

impl fmt::Display for RowState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
