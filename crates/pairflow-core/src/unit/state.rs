//! Everything that is known of one bubble, folded from its log.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::facts::{Outcome, Receipt, Snapshot};
use crate::ids::{AgentId, BubbleId, FindingId, MsgId, Party, TreeId};
use crate::log::{CommitIdentity, Conflict, Key, Pass, QuestionKind, Warning, Workspace};
use crate::rounds::{Answers, Certificate, CleanReview, Explanation, Ledger, Review, RoundRoles, Step, StepName};
use crate::rules::Rules;
use crate::time::Timestamp;
use crate::unit::{AgentSession, Notice, Parked, Phase, Seat};

/// How many retry keys are remembered.
pub const KEYS_KEPT: usize = 64;
/// How many summaries are remembered for the package.
pub const SUMMARIES_KEPT: usize = 32;
/// How many of the person's notes are remembered for the next brief.
pub const NOTES_KEPT: usize = 32;
/// How many warnings are remembered, so that a few that alternate do not fill the log.
pub const WARNINGS_KEPT: usize = 8;
/// How many failed receipts are remembered that were to run again.
pub const SUPERSEDED_KEPT: usize = 16;
/// The most reviews of one budget, however many rounds they belong to.
pub const MAX_LOOKS: u32 = 12;
/// How often a check that could not be run is tried in all before a person is asked.
pub const CHECK_TRIES: u32 = 3;

/// One bubble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Its name.
    pub id: BubbleId,
    /// What a bubble is about, as its first lines say.
    pub about: About,
    /// The configuration in force.
    pub rules: Rules,
    /// Where it stands.
    pub phase: Phase,
    /// Whether a person paused it.
    pub paused: bool,
    /// The loop so far: rounds, seats, turns, and the reviews that count.
    pub rounds: Rounds,
    /// The findings.
    pub ledger: Ledger,
    /// What is known of the work: its trees, and what pairflow ran on them.
    pub evidence: Evidence,
    /// The programs of the agents, and what they are told.
    pub presence: Presence,
    /// What is between the loop and a person: questions, words, the package, and merges of the base.
    pub gate: Gate,
    /// The newest retry keys.
    pub keys: VecDeque<(Key, MsgId)>,
    /// The newest warnings since anything else happened: the same one is not written twice.
    pub warnings: VecDeque<(Party, Warning)>,
    /// When a command was last accepted.
    pub last_command_at: Timestamp,
}

/// What a bubble is about, as its first lines say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    /// The repository's root.
    pub repo: String,
    /// The task.
    pub task: String,
    /// Its acceptance criteria.
    pub acceptance_criteria: Vec<String>,
    /// How the check commands were confirmed.
    pub confirmed: String,
    /// Who makes the commit; nothing in bubbles of older versions.
    pub identity: Option<CommitIdentity>,
    /// When the bubble was created.
    pub created_at: Timestamp,
}

/// The loop so far: rounds, seats, turns, and the reviews that count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// The present round; 0 before the start.
    pub round: u32,
    /// What was used of the present budget.
    pub spent: Spent,
    /// How often work went back to the producer in this round without a review.
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

/// What is known of the work: its trees, and what pairflow ran on them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Where the agents work.
    pub workspace: Option<Workspace>,
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

/// The programs of the agents, and what they are told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Presence {
    /// How many notices were given out.
    pub notices: u64,
    /// The notices that their agents are not known to have, at most one an agent.
    pub outbox: Vec<Notice>,
    /// The sessions of the agents' programs.
    pub sessions: BTreeMap<AgentId, AgentSession>,
    /// How often a person wanted the agents started again.
    pub restarts: u32,
    /// An agent of which nothing is expected for a while.
    pub parked: Option<Parked>,
    /// The hashes of the agents' tokens.
    pub tokens: BTreeMap<AgentId, String>,
}

/// What is between the loop and a person: questions, words, the package, and merges of the base.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gate {
    /// The open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// Whether a person has answered something since questions are open, of which the turn's holder is to be told.
    pub untold: bool,
    /// What the person said since the last producer turn ended, newest last.
    pub notes: Vec<String>,
    /// What the person said before that, newest last: it still holds.
    pub said_before: Vec<String>,
    /// What the agents said, newest last.
    pub summaries: VecDeque<Said>,
    /// What the person has to know to decide, as far as an agent has said it.
    pub explanation: Explanation,
    /// The steps of the last document review.
    pub steps: Vec<Step>,
    /// How the implementer of a document would implement it, as handed over last.
    pub outline: String,
    /// The document of which the person said to have understood it.
    pub understood: Option<TreeId>,
    /// Why the last start did not work.
    pub start_failed: Option<String>,
    /// What was accepted.
    pub certificate: Option<Certificate>,
    /// When the package that is up for approval was put up for it.
    pub package_at: Timestamp,
    /// A merge of the base branch that was asked for and is not confirmed yet.
    pub updating: bool,
    /// The conflict that the merge under way takes as resolved.
    pub resolved: Option<Conflict>,
    /// The conflict that the last merge of the base branch met.
    pub conflict: Option<Conflict>,
    /// The commit of the base branch that holds the work.
    pub merged: Option<crate::ids::CommitId>,
}

/// What a loop has used since the start, the last rework, or since a person last granted more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The rounds that began, the present one included. Work that went back without a review stays in its round.
    pub rounds: u32,
    /// The reviews.
    pub looks: u32,
}

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seats {
    /// Makes the change.
    pub producer: AgentId,
    /// Reviews it.
    pub critic: AgentId,
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
    /// What fails on it, each as a sentence.
    pub why: Vec<String>,
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

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The message that asked it.
    pub id: MsgId,
    /// Who asked.
    pub by: Party,
    /// Why.
    pub kind: QuestionKind,
    /// The question.
    pub question: String,
    /// Which agent it is about, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<AgentId>,
    /// What that agent wants to be allowed, if it can be allowed from everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
    /// The checks that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// When it was asked.
    pub at: Timestamp,
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

/// What is known of one required check on the newest snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckState<'a> {
    /// It passed.
    Passed(&'a Receipt),
    /// It failed.
    Failed(&'a Receipt),
    /// A person said that it is not available.
    NotAvailable,
    /// A person lives with what it says, for this reason.
    Waived(&'a str),
    /// It has not been run, or could not be.
    Missing,
}

impl Unit {
    /// A bubble of which nothing is known but its name.
    pub fn new(id: BubbleId) -> Self {
        Self {
            id,
            about: About::default(),
            rules: Rules::default(),
            phase: Phase::Created,
            paused: false,
            rounds: Rounds::default(),
            ledger: Ledger::default(),
            evidence: Evidence::default(),
            presence: Presence::default(),
            gate: Gate::default(),
            keys: VecDeque::new(),
            warnings: VecDeque::new(),
            last_command_at: Timestamp::default(),
        }
    }

    /// Returns the tree that the next turn is expected to find.
    pub fn tree(&self) -> Option<&TreeId> {
        match (&self.evidence.snapshot, &self.evidence.workspace) {
            (Some(snapshot), _) => Some(&snapshot.tree),
            (None, Some(workspace)) => Some(&workspace.base_tree),
            (None, None) => None,
        }
    }

    /// Returns what is known of the check called `name` on the newest snapshot.
    pub fn check(&self, name: &str) -> CheckState<'_> {
        match (self.check_without_waiver(name), self.evidence.waived_checks.get(name)) {
            (CheckState::NotAvailable, _) => CheckState::NotAvailable,
            (_, Some(reason)) => CheckState::Waived(reason),
            (state, None) => state,
        }
    }

    /// Returns what would be known of that check if nobody had waived it.
    pub fn check_without_waiver(&self, name: &str) -> CheckState<'_> {
        if self.evidence.not_available.iter().any(|check| check == name) {
            return CheckState::NotAvailable;
        }
        match self.evidence.receipts.iter().rev().find(|receipt| receipt.check == name) {
            Some(receipt) if receipt.outcome.passed() => CheckState::Passed(receipt),
            Some(receipt) if matches!(receipt.outcome, Outcome::Failed { .. }) => CheckState::Failed(receipt),
            _ => CheckState::Missing,
        }
    }

    /// Returns the failed receipt of the check called `name` on a tree on which it passed later.
    pub fn flaky(&self, name: &str) -> Option<&Receipt> {
        let failed = self.evidence.superseded.iter().rev().find(|receipt| receipt.check == name);
        failed.filter(|_| matches!(self.check(name), CheckState::Passed(_)))
    }

    /// Returns the names of the required checks that have not passed on the newest snapshot.
    pub fn checks_not_passed(&self) -> Vec<&str> {
        let open = |check: &&crate::rules::Check| {
            matches!(self.check(&check.name), CheckState::Failed(_) | CheckState::Missing)
        };
        self.rules.checks.iter().filter(open).map(|check| check.name.as_str()).collect()
    }

    /// Takes over a review of the newest snapshot's tree; without a hand-over it is the claim that nothing is left.
    pub(crate) fn review(&mut self, by: &AgentId, round: u32, pass: Option<&Pass>) {
        let nothing = Answers::default();
        let findings = pass.and_then(|pass| pass.findings.as_deref()).unwrap_or_default();
        let answers = pass.map_or(&nothing, |pass| &pass.answers);
        let discuss = pass.is_some_and(|pass| pass.discuss);
        self.ledger.review(&Review { by, round, findings, answers, risk: &self.rules.risk, discuss });
        self.rounds.reviewed = self.tree().cloned();
        if let Some(tree) = self.rounds.reviewed.clone() {
            self.rounds.reviewed_by.insert(by.clone(), Reviewed { round, tree });
        }
    }

    /// Takes over the dry run of a document's producer: the outline, and what it could not resolve.
    pub(crate) fn dry_run(&mut self, by: &AgentId, pass: &Pass) {
        let outline = pass.steps.iter().find(|step| step.step == StepName::DryRun);
        self.gate.outline = outline.map(|step| step.result.clone()).unwrap_or_default();
        let findings = pass.findings.as_deref().unwrap_or_default();
        let (round, answers, risk) = (self.rounds.round, &Answers::default(), &[][..]);
        self.ledger.block(&Review { by, round, findings, answers, risk, discuss: false });
    }

    /// Returns the reproducers that have not been run on the newest snapshot, with their findings.
    pub fn to_reproduce(&self) -> impl Iterator<Item = (FindingId, &str)> {
        let here = self.evidence.snapshot.as_ref().map(|snapshot| &snapshot.tree);
        here.into_iter().flat_map(|tree| self.ledger.to_reproduce(tree)).map(|(row, command)| (row.id, command))
    }

    /// The name under which the tries of a reproducer are counted in `could_not`.
    pub(crate) fn tries_of(finding: FindingId) -> String {
        format!("reproducer of {finding}")
    }

    /// Returns the turn number that a retry of `agent`'s last command would name.
    pub fn last_turn_of(&self, agent: &AgentId) -> u32 {
        self.rounds.held.get(agent).map_or(0, |held| held.last)
    }

    /// Returns how many of `agent`'s questions were answered.
    pub fn answered_to(&self, agent: &AgentId) -> u32 {
        self.rounds.held.get(agent).map_or(0, |held| held.answered)
    }

    /// Counts rounds and reviews anew: the person wants something else, or the tree is another one.
    pub(crate) fn renew_budget(&mut self) {
        self.rounds.spent = Spent::default();
    }

    /// Whether the turn that comes next is one more than a loop has without a person.
    pub fn is_at_cap(&self, seat: Seat) -> bool {
        self.rounds.spent.looks >= MAX_LOOKS
            || (seat == Seat::Producer && self.rounds.spent.rounds > self.rules.max_rounds)
    }
}

impl OpenQuestion {
    /// What it is about: all of an agent's words, the first line of pairflow's own.
    pub fn in_short(&self) -> &str {
        match self.by {
            Party::Agent(_) => &self.question,
            _ => self.question.lines().next().unwrap_or_default(),
        }
    }
}

impl Default for Seats {
    fn default() -> Self {
        Self::chosen(&Rules::default())
    }
}

impl Seats {
    /// Returns the seats that the person chose for the start.
    pub fn chosen(rules: &Rules) -> Self {
        Self { producer: rules.agents.implementer.clone(), critic: rules.agents.reviewer.clone() }
    }

    /// Returns who sits in `seat`.
    pub fn agent(&self, seat: Seat) -> &AgentId {
        match seat {
            Seat::Producer => &self.producer,
            Seat::Critic => &self.critic,
        }
    }
}
