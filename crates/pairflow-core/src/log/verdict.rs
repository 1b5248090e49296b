//! Verdicts: what a policy concluded, as a fact of the log.

use serde::{Deserialize, Serialize};

use crate::facts::{CleanReview, Seats};
use crate::ids::{AgentId, FindingId};

/// A conclusion: what was judged, what it came to, and who is next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The policy that concluded it.
    pub policy: String,
    /// The version of that policy's rules.
    pub version: u32,
    /// What was judged.
    pub on: Judged,
    /// The clean review that it adds; nothing if no review was judged, or it was not clean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<CleanReview>,
    /// Whether earlier clean reviews of the same tree still count although this review was not clean.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_clean: bool,
    /// What comes next.
    pub next: NextTurn,
    /// Who sits where from now on.
    pub seats: Seats,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// What a verdict is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Judged {
    /// Work, once everything was run on it.
    Work,
    /// A review, once the tree that it left is recorded.
    Review {
        /// Who reviewed.
        by: AgentId,
        /// In which round.
        round: u32,
    },
    /// A dispute, once its judge has decided and the tree is recorded.
    Dispute {
        /// The judge.
        by: AgentId,
        /// In which round.
        round: u32,
    },
    /// Clean reviews, after the person took back a waiver on which they rested.
    Waiver,
    /// Clean reviews, after the person changed the checks on which they rested.
    Checks,
    /// Accepted work, after the base was merged into it.
    Merge,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextTurn {
    /// The implementer has the turn.
    Implement,
    /// The reviewer has the turn.
    Review,
    /// The judge has the turn.
    Judge,
    /// The checks run on the merged tree; if they pass, the reviews still suffice.
    Recheck,
    /// The reviews suffice.
    Accept,
    /// The turn stays where it is.
    Stay,
}

/// Why a verdict is as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// Findings block acceptance.
    Blocking {
        /// Which.
        findings: Vec<FindingId>,
    },
    /// A required check fails on the tree.
    CheckFails {
        /// Which.
        check: String,
    },
    /// A required check has not run on the tree.
    CheckMissing {
        /// Which.
        check: String,
    },
    /// The reproducer of a finding still fails.
    ReproducerFails {
        /// Which.
        finding: FindingId,
    },
    /// The test of a fix fails with the fix.
    FixFails {
        /// Of which finding.
        finding: FindingId,
    },
    /// No test shows that a finding is fixed.
    FixNotShown {
        /// Which.
        finding: FindingId,
    },
    /// The person decided that a finding holds, and it is not answered since.
    DecidedByPerson {
        /// Which.
        finding: FindingId,
    },
    /// Minor findings are open after one of the first looks.
    MinorOpen {
        /// Which.
        findings: Vec<FindingId>,
    },
    /// A reviewer insists on disputed findings without a command that shows them.
    Contested {
        /// Which.
        findings: Vec<FindingId>,
    },
    /// Other agents look at the same tree first, without knowing what was found.
    BlindLook,
    /// There were not enough looks for the size and the risk of the work.
    MoreLooksNeeded {
        /// How many there were.
        had: u32,
        /// How many are needed.
        needed: u32,
    },
    /// The work changes no file.
    NothingChanged,
    /// Files changed during the review, so a clean claim does not count.
    TreeChanged,
    /// The reviewer wants a person to decide first.
    Discussion,
    /// A clean review by another agent is missing.
    AnotherReviewNeeded,
    /// The clean reviews suffice.
    ReviewsSuffice,
    /// The checks suffice; nobody reviews.
    ChecksSuffice,
    /// A waiver was taken back.
    WaiverWithdrawn,
    /// Checks were changed.
    ChecksChanged,
    /// The base was merged.
    BaseMerged,
}
