//! Everything that is known of one bubble, folded from its log.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::bubble::Phase;
use crate::facts::{Answers, Certificate, Explanation, Seat, Step, StepName};
use crate::findings::{Ledger, Review};
use crate::ids::{AgentId, BubbleId, FindingId, MsgId, Party, TreeId};
use crate::log::{CommitIdentity, Conflict, Key, Pass, QuestionKind, Warning};
use crate::progress::{CheckState, Evidence, Reviewed, Rounds, Said, Spent};
use crate::rules::{DriverKind, Rules};
use crate::time::{Moment, Timestamp};

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
/// How often a check that could not be run is tried in all before a person is asked.
pub const CHECK_TRIES: u32 = 3;

/// One bubble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BubbleState {
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

/// A notice to an agent that is not known to have reached it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its number, counted over the whole life of the bubble.
    pub number: u64,
    /// To whom.
    pub agent: AgentId,
    /// In which turn.
    pub turn: u32,
    /// How often it was sent.
    pub attempts: u32,
    /// When it was last sent.
    pub sent: Option<Moment>,
}

/// An agent of which nothing is expected for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// Which.
    pub agent: AgentId,
    /// Since when.
    pub since: Moment,
    /// Until when.
    pub until: Timestamp,
}

/// The session of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    /// For which turn the program was started; 0 before the agent's first one.
    pub turn: u32,
    /// By which name the session can be taken up again.
    pub id: Option<String>,
    /// How often a person had wanted the agents started again by then.
    pub restarts: u32,
    /// In which seat the agent has this conversation; nothing before its first turn in it.
    pub seat: Option<Seat>,
    /// By which name the conversation can be taken up again in which the agent produces, whatever it reviewed since.
    pub implementer: Option<String>,
}

/// What is between the loop and a person: questions, words, the package, and merges of the base.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gate {
    /// The open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// Whether a person has answered something since questions are open, of which the turn's holder is to be told.
    pub untold: bool,
    /// What the person said since the last implementer turn ended, newest last.
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

impl BubbleState {
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

    /// Returns the notice that waits for `agent`.
    pub fn notice_for(&self, agent: &AgentId) -> Option<&Notice> {
        self.presence.outbox.iter().find(|notice| notice.agent == *agent)
    }

    /// Whether its agents are told by notices.
    pub(crate) fn notifies(&self) -> bool {
        self.rules.driver == DriverKind::Tmux
    }

    /// Returns the tree that the next turn is expected to find.
    pub fn tree(&self) -> Option<&TreeId> {
        self.evidence.tree()
    }

    /// Returns what is known of the check called `name` on the newest snapshot.
    pub fn check(&self, name: &str) -> CheckState<'_> {
        self.evidence.check(name)
    }

    /// Takes over a review of the newest snapshot's tree; without a hand-over it is the claim that nothing is left.
    /// Returns the findings that it closes.
    pub(crate) fn review(&mut self, by: &AgentId, round: u32, pass: Option<&Pass>) -> Vec<FindingId> {
        let nothing = Answers::default();
        let findings = pass.and_then(|pass| pass.findings.as_deref()).unwrap_or_default();
        let answers = pass.map_or(&nothing, |pass| &pass.answers);
        let discuss = pass.is_some_and(|pass| pass.discuss);
        let closed = self.ledger.review(&Review { by, round, findings, answers, discuss });
        self.rounds.reviewed = self.tree().cloned();
        if let Some(tree) = self.rounds.reviewed.clone() {
            self.rounds.reviewed_by.insert(by.clone(), Reviewed { round, tree });
        }
        closed
    }

    /// Takes over the dry run of a document's implementer: the outline, and what it could not resolve.
    pub(crate) fn dry_run(&mut self, by: &AgentId, pass: &Pass) {
        let outline = pass.steps.iter().find(|step| step.step == StepName::DryRun);
        self.gate.outline = outline.map(|step| step.result.clone()).unwrap_or_default();
        let findings = pass.findings.as_deref().unwrap_or_default();
        let (round, answers) = (self.rounds.round, &Answers::default());
        self.ledger.block(&Review { by, round, findings, answers, discuss: false });
    }

    /// Returns the turn number that a retry of `agent`'s last command would name.
    pub fn last_turn_of(&self, agent: &AgentId) -> u32 {
        self.rounds.held.get(agent).map_or(0, |held| held.last)
    }

    /// Returns how many of `agent`'s questions were answered.
    pub fn answered_to(&self, agent: &AgentId) -> u32 {
        self.rounds.held.get(agent).map_or(0, |held| held.answered)
    }

    /// Counts rounds and reviews anew: the person wants something else, or the tree is another one. An implementer's turn
    /// that is under way is the first of the new budget.
    pub(crate) fn renew_budget(&mut self) {
        let rounds = u32::from(self.phase.turn().is_some_and(|turn| turn.seat == Seat::Implementer));
        self.rounds.spent = Spent { rounds, looks: 0 };
    }
}

impl Parked {
    /// Returns how many milliseconds it lasts.
    pub fn lasts(&self) -> u64 {
        u64::try_from(self.until.millis().saturating_sub(self.since.ts.millis())).unwrap_or(0)
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
