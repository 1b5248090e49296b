//! Everything that is known of one bubble, folded from its log.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::bubble::{Phase, Stage, StateName, Turn};
use crate::facts::{Answers, Certificate, Explanation, RoundRoles, Seat, Severity, Step, StepName};
use crate::findings::{Ledger, Review, Row};
use crate::ids::{AgentId, BubbleId, FindingId, MsgId, Party, TreeId};
use crate::log::{
    Body, CommitIdentity, Conflict, Envelope, Event, Evidence, Pass, QuestionKind, RetryKey, Waivable, Warning,
};
use crate::progress::{CheckState, HandoverSummary, Reviewed, Rounds, Spent, WorkEvidence};
use crate::rules::{BubbleKind, ContextMode, DriverKind, ReviewDepth, Rules};
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
    pub about: Assignment,
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
    pub evidence: WorkEvidence,
    /// The programs of the agents, and what they are told.
    pub presence: Presence,
    /// What is between the loop and a person: questions, words, the package, and merges of the base.
    pub gate: Gate,
    /// The newest retry keys.
    pub keys: VecDeque<(RetryKey, MsgId)>,
    /// The newest warnings since anything else happened: the same one is not written twice.
    pub warnings: VecDeque<(Party, Warning)>,
    /// When a command was last accepted.
    pub last_command_at: Timestamp,
}

/// What a bubble is about, as its first lines say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Assignment {
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
    pub summaries: VecDeque<HandoverSummary>,
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
    /// The defects that were found after the bubble was done, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escaped: Vec<EscapedDefect>,
}

/// A defect that was found after the bubble was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscapedDefect {
    /// How severe it is.
    pub severity: Severity,
    /// What is wrong, in the person's words.
    pub text: String,
    /// When it was recorded.
    pub at: Timestamp,
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
    /// The findings on which a person can side with either agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingId>,
    /// When it was asked.
    pub at: Timestamp,
}

impl BubbleState {
    /// A bubble of which nothing is known but its name.
    pub fn new(id: BubbleId) -> Self {
        Self {
            id,
            about: Assignment::default(),
            rules: Rules::default(),
            phase: Phase::Created,
            paused: false,
            rounds: Rounds::default(),
            ledger: Ledger::default(),
            evidence: WorkEvidence::default(),
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

    /// Applies a review of the newest snapshot's tree; without a hand-over it is the claim that nothing is left.
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

    /// Returns the seat of the first turn: with acceptance tests it is the reviewer's.
    pub(crate) fn first_seat(&self) -> Seat {
        let tested = self.rules.review_depth == ReviewDepth::Thorough && self.rules.kind != BubbleKind::Document;
        if tested { Seat::Reviewer } else { Seat::Implementer }
    }

    /// Applies acceptance tests: a claim that holds until they pass.
    pub(crate) fn write_acceptance(&mut self, by: &AgentId, pass: &Pass) {
        let findings = pass.findings.as_deref().unwrap_or_default();
        let (round, answers) = (self.rounds.round, &pass.answers);
        self.ledger.retract_reproducers(by, round, &answers.retracted);
        self.ledger.block(&Review { by, round, findings, answers, discuss: false });
    }

    /// Applies the dry run of a document's implementer: the outline, and what it could not resolve.
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

impl BubbleState {
    /// Whether a question of this kind about `agent` is open.
    pub(super) fn is_asked_about(&self, agent: &AgentId, kind: QuestionKind) -> bool {
        self.gate.questions.iter().any(|open| open.kind == kind && self.concerns(open, agent))
    }

    /// Whether all open questions are about the presence of `agent`, so that its next command answers them.
    pub(super) fn is_asked_only_about(&self, agent: &AgentId) -> bool {
        self.gate.questions.iter().all(|open| open.kind.is_about_presence() && self.concerns(open, agent))
    }

    /// Whether a question about presence is about `agent`; one that names no agent is about the turn's holder.
    pub(super) fn concerns(&self, open: &OpenQuestion, agent: &AgentId) -> bool {
        let holder = || self.phase.turn().map(|turn| &turn.agent);
        open.about.as_ref().or_else(holder) == Some(agent)
    }
}

impl Parked {
    /// Returns how many milliseconds it lasts.
    pub fn lasts(&self) -> u64 {
        u64::try_from(self.until.millis().saturating_sub(self.since.ts.millis())).unwrap_or(0)
    }
}

impl OpenQuestion {
    /// Returns which agent wants a permission that can be given from everywhere, and for what.
    pub(crate) fn wanted(&self) -> Option<(&AgentId, &str)> {
        Some((self.about.as_ref()?, self.wants.as_deref()?))
    }

    /// What it is about: all of an agent's words, the first line of pairflow's own.
    pub fn in_short(&self) -> &str {
        match self.by {
            Party::Agent(_) => &self.question,
            _ => self.question.lines().next().unwrap_or_default(),
        }
    }
}

impl BubbleState {
    /// Returns the round whose work a snapshot taken now records: that of the hand-over that is being closed, else the present one.
    pub fn recorded_round(&self) -> u32 {
        match self.phase.turn().map(|turn| &turn.stage) {
            Some(Stage::Closing(handover)) => handover.round,
            _ => self.rounds.round,
        }
    }
}

/// What `state.json` and `status --json` say of a bubble's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFields {
    /// The bubble.
    pub bubble_id: BubbleId,
    /// One of the ten states.
    pub state: StateName,
    /// The present round.
    pub round: u32,
    /// Whose turn it is; null when no turn is given out.
    pub active_agent: Option<AgentId>,
    /// Since when it is this agent's turn.
    pub active_since: Option<Timestamp>,
    /// In which seat.
    pub active_role: Option<Seat>,
    /// Whether the agent may act already.
    pub turn_state: Option<TurnState>,
    /// Whether a person paused the loop.
    pub paused: bool,
    /// Who sat where, round by round.
    pub round_role_history: Vec<RoundRoles>,
    /// When a command was last accepted.
    pub last_command_at: Timestamp,
}

/// Whether an agent may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// Something is owed before it may.
    Opening,
    /// It may.
    Open,
}

impl StateFields {
    /// Reads the fields off a state.
    pub fn of(state: &BubbleState) -> Self {
        let turn = state.phase.turn();
        let open = |open: bool| if open { TurnState::Open } else { TurnState::Opening };
        Self {
            bubble_id: state.id.clone(),
            state: state.phase.name(),
            round: state.rounds.round,
            active_agent: turn.map(|turn| turn.agent.clone()),
            active_since: turn.map(|turn| turn.since.ts),
            active_role: turn.map(|turn| turn.seat),
            turn_state: turn.map(|turn| open(turn.is_open())),
            paused: state.paused,
            round_role_history: state.rounds.history.clone(),
            last_command_at: state.last_command_at,
        }
    }
}

/// A program that was started, or has said which session it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownSession<'a> {
    pub agent: &'a AgentId,
    pub turn: u32,
    pub seat: Option<Seat>,
    pub id: Option<&'a String>,
}

impl BubbleState {
    /// Whether the program that `turn.agent` has may be told of `turn`, as far as its conversation goes. If not, it is
    /// to be started anew.
    pub fn goes_on_here(&self, turn: &Turn) -> bool {
        let Some(session) =
            self.presence.sessions.get(&turn.agent).filter(|session| session.restarts == self.presence.restarts)
        else {
            return false;
        };
        let persistent = self.rules.reviewer_context_mode == ContextMode::Persistent;
        match (turn.seat, session.seat) {
            // A review that was interrupted goes on; it is still the same review. Nobody goes on where it has judged.
            (Seat::Judge, _) | (_, Some(Seat::Judge)) => session.turn == turn.number,
            _ if persistent => true,
            (Seat::Reviewer, _) => session.turn == turn.number,
            // An agent that has only reviewed so far produces in the conversation of the review, which is its own from then on.
            (Seat::Implementer, before) => before != Some(Seat::Reviewer) || session.implementer.is_none(),
        }
    }

    /// Returns the name of the conversation that a program for `turn` takes up again; nothing if it begins a fresh one.
    pub fn conversation_for(&self, turn: &Turn) -> Option<&String> {
        let session = self.presence.sessions.get(&turn.agent)?;
        let persistent = self.rules.reviewer_context_mode == ContextMode::Persistent;
        let of_turn = session.id.as_ref().filter(|_| session.turn == turn.number);
        match (turn.seat, session.seat) {
            (Seat::Judge, _) | (Seat::Reviewer, Some(Seat::Judge)) => of_turn,
            (Seat::Implementer, Some(Seat::Judge)) => session.implementer.as_ref().or(of_turn),
            _ if persistent => session.id.as_ref(),
            (Seat::Reviewer, _) => of_turn,
            (Seat::Implementer, _) => session.implementer.as_ref().or(session.id.as_ref()),
        }
    }

    /// Returns the seat that a program sits in of which this was recorded. Not every record says it.
    fn seat_of(&self, known: KnownSession<'_>) -> Option<Seat> {
        let of_turn = || self.phase.turn().filter(|turn| turn.number == known.turn).map(|turn| turn.seat);
        // A conversation that is named later, or cannot be taken up, is the one that was there.
        let same = |session: &&AgentSession| session.turn == known.turn || known.turn == 0;
        let of_program = || self.presence.sessions.get(known.agent).filter(same).and_then(|session| session.seat);
        known.seat.or_else(of_turn).or_else(of_program)
    }

    /// Whether all of that is written down already.
    pub(super) fn knows(&self, known: KnownSession<'_>) -> bool {
        let as_told = |session: &AgentSession| {
            (session.turn, session.id.as_ref(), session.restarts) == (known.turn, known.id, self.presence.restarts)
                && session.seat == self.seat_of(known)
        };
        self.presence.sessions.get(known.agent).is_some_and(as_told)
    }

    /// Records what became known of an agent's program.
    pub(super) fn note_session(&mut self, known: KnownSession<'_>) {
        let (seat, before) = (self.seat_of(known), self.presence.sessions.get(known.agent));
        // A program that only now says which conversation it has was started before; it does not say so after each restart.
        let named = |one: &&AgentSession| one.turn == known.turn && known.id.is_some() && one.id.as_ref() != known.id;
        let restarts = before.filter(named).map_or(self.presence.restarts, |one| one.restarts);
        let id = known.id.cloned();
        let implementer = match seat {
            Some(Seat::Implementer) => id.clone(),
            _ => before.and_then(|one| one.implementer.clone()),
        };
        self.presence
            .sessions
            .insert(known.agent.clone(), AgentSession { turn: known.turn, id, restarts, seat, implementer });
    }

    /// An agent has read that it has the turn: the conversation that it has is the one of its seat.
    pub(super) fn sits_down(&mut self, agent: &AgentId) {
        let Some(turn) = self.phase.turn().filter(|turn| turn.agent == *agent && self.goes_on_here(turn)) else {
            return;
        };
        let seat = turn.seat;
        if let Some(session) = self.presence.sessions.get_mut(agent) {
            session.seat = Some(seat);
            if seat == Seat::Implementer {
                session.implementer.clone_from(&session.id);
            }
        }
    }
}

/// What one agent is not shown while all agents take their first look at the same tree, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenLooks {
    /// The findings of the others.
    pub findings: Vec<FindingId>,
    /// The others that have looked already.
    pub agents: Vec<AgentId>,
    /// The round of their looks.
    pub round: u32,
}

/// Returns what `agent` is not shown. A thorough review begins with a look by every agent, each without knowing what the
/// others found; once all have looked, nothing is hidden any more. A person is shown everything.
pub fn hidden_from(state: &BubbleState, agent: &AgentId) -> HiddenLooks {
    let (rules, rounds) = (&state.rules, &state.rounds);
    let thorough = rules.review_depth == ReviewDepth::Thorough && state.phase.turn().is_some();
    if !thorough || rules.agents.all().all(|agent| rounds.reviewed_by.contains_key(agent)) {
        return HiddenLooks::default();
    }
    let here = |last: &Reviewed| last.round == rounds.round && Some(&last.tree) == state.tree();
    let others = rounds.reviewed_by.iter().filter(|(other, last)| *other != agent && here(last));
    let agents: Vec<_> = others.map(|(other, _)| other.clone()).collect();
    let hidden = |row: &&Row| {
        let tests = row.is_acceptance() || row.has_lost_tests();
        row.round == rounds.round && agents.contains(&row.by) && !tests && !row.is_claimed_by(agent)
    };
    let findings = state.ledger.rows.iter().filter(hidden).map(|row| row.id).collect();
    HiddenLooks { findings, agents, round: rounds.round }
}

impl HiddenLooks {
    /// Whether a summary is of a look that is hidden.
    pub fn hides_summary(&self, said: &HandoverSummary) -> bool {
        said.seat == Seat::Reviewer && said.round == self.round && self.agents.contains(&said.agent)
    }

    /// Whether a message tells what a hidden look found. `before` is the state in which it was written.
    pub fn hides(&self, before: &BubbleState, envelope: &Envelope) -> bool {
        let Event { sender, recipient, body, .. } = &envelope.event;
        let of_other = |party: &Party| matches!(party, Party::Agent(agent) if self.agents.contains(agent));
        let looking =
            before.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && !turn.acceptance && turn.is_open());
        let round = looking && before.rounds.round == self.round;
        match body {
            Body::Pass(_) | Body::HumanQuestion(_) => round && of_other(sender),
            Body::ProtocolWarning(_) => round && of_other(recipient),
            Body::Evidence(Evidence::Reproduced { finding, .. }) => self.findings.contains(finding),
            Body::Control(control) => {
                matches!(&control.waived, Some(Waivable::Finding(id)) if self.findings.contains(id))
            }
            _ => false,
        }
    }
}

impl BubbleState {
    /// Returns the state as `agent` may know it.
    #[must_use]
    pub fn shown_to(&self, agent: &AgentId) -> Self {
        self.without(&hidden_from(self, agent))
    }

    /// Returns the state without what is hidden.
    #[must_use]
    pub fn without(&self, hidden: &HiddenLooks) -> Self {
        let mut state = self.clone();
        let of_other = |party: &Party| matches!(party, Party::Agent(one) if hidden.agents.contains(one));
        state.ledger.rows.retain(|row| !hidden.findings.contains(&row.id));
        state.rounds.streak.retain(|review| !hidden.agents.contains(&review.agent));
        state.gate.summaries.retain(|said| !hidden.hides_summary(said));
        state.gate.questions.retain(|open| !(of_other(&open.by) && open.kind == QuestionKind::Question));
        state.warnings.retain(|(sender, _)| !of_other(sender));
        state
    }
}
