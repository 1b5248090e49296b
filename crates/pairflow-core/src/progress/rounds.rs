//! The loop so far, as a policy sees it: rounds, seats, turns, and the reviews that count.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::{CleanReview, RoundRoles, Seat, Seats};
use crate::ids::{AgentId, Party, TreeId};
use crate::log::Reason;

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
    pub held: BTreeMap<AgentId, Held>,
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
pub struct Held {
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
pub struct Said {
    /// In which round.
    pub round: u32,
    /// From which seat.
    pub seat: Seat,
    /// Who.
    pub agent: AgentId,
    /// What.
    pub summary: String,
}
