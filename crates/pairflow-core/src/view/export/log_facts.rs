//! What the page shows of a bubble's log, gathered line by line. Long lists keep their newest entries.

use std::collections::VecDeque;

use crate::bubble::BubbleState;
use crate::facts::Receipt;
use crate::facts::Seat;
use crate::facts::{Answers, Finding};
use crate::ids::{AgentId, BubbleId, FindingId, MsgId, Party, TreeId};
use crate::log::{Body, Decision, Envelope, Evidence, GateDecision, QuestionKind};
use crate::time::Timestamp;
use crate::view::timeline::{TimelineRow, TimelineState};

/// How many lines of the timeline are kept.
const ROWS: usize = 3000;
/// How many entries of every other list are kept.
const ENTRIES: usize = 500;

/// What the log alone says.
#[derive(Debug, Clone)]
pub struct LogFacts {
    story: TimelineState,
    /// The story, oldest first.
    pub rows: Newest<TimelineRow>,
    /// The checks and reproducers that pairflow ran.
    pub receipts: Newest<CheckRun>,
    /// What the agents handed over.
    pub hand_overs: Newest<HandOver>,
    /// What a person was asked.
    pub asked: Newest<AskedQuestion>,
    /// What the person decided about packages.
    pub decided: Newest<PackageDecision>,
    /// The trees of the rounds that recorded one.
    pub rounds: Newest<RoundTrees>,
}

/// The newest entries of a list, and how many older ones were let go.
#[derive(Debug, Clone)]
pub struct Newest<T> {
    /// The entries, oldest first.
    pub list: VecDeque<T>,
    /// How many there were before them.
    pub dropped: usize,
    most: usize,
}

/// A check or a reproducer that was run.
#[derive(Debug, Clone)]
pub struct CheckRun {
    /// The place in the log.
    pub seq: u64,
    /// In which round.
    pub round: u32,
    /// The finding whose reproducer it is.
    pub finding: Option<FindingId>,
    /// What came of it.
    pub receipt: Receipt,
}

/// A hand-over in the agent's own words.
#[derive(Debug, Clone)]
pub struct HandOver {
    /// The place in the log.
    pub seq: u64,
    /// In which round.
    pub round: u32,
    /// Who.
    pub by: AgentId,
    /// From which seat.
    pub seat: Seat,
    /// What was said.
    pub summary: String,
    /// What a reviewer found.
    pub findings: Vec<Finding>,
    /// What was said to rows of the ledger.
    pub answers: Answers,
}

/// A question to a person, with its answers.
#[derive(Debug, Clone)]
pub struct AskedQuestion {
    /// The place in the log.
    pub seq: u64,
    /// The message.
    pub id: MsgId,
    /// When.
    pub at: Timestamp,
    /// Who asked.
    pub by: Party,
    /// Why.
    pub kind: QuestionKind,
    /// The question.
    pub question: String,
    /// What was answered.
    pub answers: Vec<GivenAnswer>,
}

/// What a person answered.
#[derive(Debug, Clone)]
pub struct GivenAnswer {
    /// The place in the log.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The answer.
    pub message: String,
    /// The decision, if one was asked for.
    pub decision: Option<Decision>,
}

/// What a person decided about a package.
#[derive(Debug, Clone)]
pub struct PackageDecision {
    /// The place in the log.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// How.
    pub verdict: GateDecision,
    /// About which tree.
    pub tree: TreeId,
    /// What was said.
    pub message: String,
    /// The findings that were sent back by name.
    pub findings: Vec<FindingId>,
}

/// What a round began with and what it left.
#[derive(Debug, Clone)]
pub struct RoundTrees {
    /// The round.
    pub round: u32,
    /// The tree before it.
    pub from: TreeId,
    /// The newest tree in it.
    pub to: TreeId,
}

/// Everything that a page is made of.
#[derive(Debug, Clone)]
pub struct Export {
    /// What the log says.
    pub facts: LogFacts,
    /// How many lines the log has.
    pub lines: u64,
    /// The hash of its last line, which stands for all of it.
    pub head: String,
    /// What was recomputed, and whether it holds.
    pub verified: Vec<VerifiedClaim>,
    /// What was changed.
    pub patches: Patches,
}

/// One claim that was recomputed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedClaim {
    /// What.
    pub what: String,
    /// What is wrong; nothing if it holds.
    pub problem: Option<String>,
}

/// The changes of a bubble as git prints them.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    /// From the base to the newest snapshot.
    pub whole: String,
    /// Round by round.
    pub rounds: Vec<(u32, String)>,
    /// Why they cannot be shown.
    pub missing: Option<String>,
}

impl LogFacts {
    /// Begins to gather the facts of a bubble.
    pub fn new(id: BubbleId) -> Self {
        Self {
            story: TimelineState::new(id),
            rows: Newest::new(ROWS),
            receipts: Newest::new(ENTRIES),
            hand_overs: Newest::new(ENTRIES),
            asked: Newest::new(ENTRIES),
            decided: Newest::new(ENTRIES),
            rounds: Newest::new(ENTRIES),
        }
    }

    /// Returns the state that the lines so far have led to.
    pub fn state(&self) -> &BubbleState {
        self.story.state()
    }

    /// Takes over the next line.
    pub fn step(&mut self, envelope: &Envelope) {
        let (seq, at) = (envelope.seq, envelope.at.ts);
        match &envelope.event.body {
            Body::Pass(_) | Body::Convergence(_) => self.hand_overs.extend(hand_over(self.story.state(), envelope)),
            Body::Evidence(evidence) => self.evidence(envelope, evidence),
            Body::HumanQuestion(asked) => self.asked.push(AskedQuestion {
                seq,
                id: envelope.id.clone(),
                at,
                by: envelope.event.sender.clone(),
                kind: asked.kind,
                question: asked.question.clone(),
                answers: Vec::new(),
            }),
            Body::HumanReply(reply) => {
                let (message, decision) = (reply.message.clone(), reply.decision);
                self.answered(envelope, GivenAnswer { seq, at, message, decision });
            }
            Body::ApprovalDecision(it) => self.decided.push(PackageDecision {
                seq,
                at,
                verdict: it.decision,
                tree: it.tree.clone(),
                message: it.message.clone(),
                findings: it.findings.clone(),
            }),
            _ => {}
        }
        self.rows.extend(self.story.step(envelope));
    }

    fn evidence(&mut self, envelope: &Envelope, evidence: &Evidence) {
        let (seq, round) = (envelope.seq, envelope.event.round);
        match evidence {
            Evidence::Receipt { receipt } => {
                self.receipts.push(CheckRun { seq, round, finding: None, receipt: receipt.clone() });
            }
            Evidence::Reproduced { finding, receipt } => {
                self.receipts.push(CheckRun { seq, round, finding: Some(*finding), receipt: receipt.clone() });
            }
            Evidence::Snapshot { snapshot } => {
                let round = self.state().recorded_round();
                let Some(from) = self.state().tree().cloned() else { return };
                let to = snapshot.tree.clone();
                match self.rounds.list.back_mut() {
                    Some(last) if last.round == round => last.to = to,
                    _ => self.rounds.push(RoundTrees { round, from, to }),
                }
            }
            Evidence::NotAvailable { .. } => {}
        }
    }

    /// Adds an answer to the question that it names, or else to every one that is open.
    fn answered(&mut self, envelope: &Envelope, said: GivenAnswer) {
        let named = envelope.event.in_reply_to.as_ref();
        let open: Vec<_> = self.story.state().gate.questions.iter().map(|question| &question.id).collect();
        let meant = |asked: &AskedQuestion| named.map_or_else(|| open.contains(&&asked.id), |id| *id == asked.id);
        for asked in self.asked.list.iter_mut().filter(|asked| meant(asked)) {
            asked.answers.push(said.clone());
        }
    }
}

impl<T> Newest<T> {
    fn new(most: usize) -> Self {
        Self { list: VecDeque::new(), dropped: 0, most }
    }

    fn push(&mut self, one: T) {
        self.list.push_back(one);
        if self.list.len() > self.most {
            self.list.pop_front();
            self.dropped += 1;
        }
    }

    fn extend(&mut self, more: impl IntoIterator<Item = T>) {
        more.into_iter().for_each(|one| self.push(one));
    }
}

fn hand_over(before: &BubbleState, envelope: &Envelope) -> Option<HandOver> {
    let Party::Agent(by) = &envelope.event.sender else { return None };
    let (by, seq, round) = (by.clone(), envelope.seq, envelope.event.round);
    Some(match &envelope.event.body {
        Body::Pass(pass) => HandOver {
            seq,
            round,
            by,
            seat: before.phase.turn().map_or(Seat::Implementer, |turn| turn.seat),
            summary: pass.summary.clone(),
            findings: pass.findings.clone().unwrap_or_default(),
            answers: pass.answers.clone(),
        },
        Body::Convergence(claim) => {
            let (summary, answers) = (claim.summary.clone(), Answers::default());
            HandOver { seq, round, by, seat: Seat::Reviewer, summary, findings: Vec::new(), answers }
        }
        _ => return None,
    })
}
