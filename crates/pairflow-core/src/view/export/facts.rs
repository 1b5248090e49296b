//! What a page tells of a bubble, gathered from its log line by line. Long lists keep their newest entries.

use std::collections::VecDeque;

use crate::bubble::BubbleState;
use crate::facts::Receipt;
use crate::facts::Seat;
use crate::facts::{Answers, Finding};
use crate::ids::{AgentId, BubbleId, FindingId, MsgId, Party, TreeId};
use crate::log::{Body, Decision, Envelope, Evidence, GateDecision, QuestionKind};
use crate::time::Timestamp;
use crate::view::timeline::{TimelineRow, TimelineState};

/// How many lines of the story are kept.
pub(super) const ROWS: usize = 3000;
/// How many entries of every other list are kept.
pub(super) const ENTRIES: usize = 500;

/// What the log alone says.
#[derive(Debug, Clone)]
pub struct Facts {
    story: TimelineState,
    /// The story, oldest first.
    pub rows: Kept<TimelineRow>,
    /// The checks and reproducers that pairflow ran.
    pub receipts: Kept<Ran>,
    /// What the agents handed over.
    pub handed: Kept<Handed>,
    /// What a person was asked.
    pub asked: Kept<Asked>,
    /// What the person decided about packages.
    pub decided: Kept<Decided>,
    /// The trees of the rounds that recorded one.
    pub rounds: Kept<RoundTrees>,
}

/// The newest entries of a list, and how many older ones were let go.
#[derive(Debug, Clone)]
pub struct Kept<T> {
    /// The entries, oldest first.
    pub list: VecDeque<T>,
    /// How many there were before them.
    pub dropped: usize,
    most: usize,
}

/// A check or a reproducer that was run.
#[derive(Debug, Clone)]
pub struct Ran {
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
pub struct Handed {
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
pub struct Asked {
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
    pub answers: Vec<Said>,
}

/// What a person answered.
#[derive(Debug, Clone)]
pub struct Said {
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
pub struct Decided {
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

impl Facts {
    /// Begins to gather the facts of a bubble.
    pub fn new(id: BubbleId) -> Self {
        Self {
            story: TimelineState::new(id),
            rows: Kept::new(ROWS),
            receipts: Kept::new(ENTRIES),
            handed: Kept::new(ENTRIES),
            asked: Kept::new(ENTRIES),
            decided: Kept::new(ENTRIES),
            rounds: Kept::new(ENTRIES),
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
            Body::Pass(_) | Body::Convergence(_) => self.handed.extend(handed(self.story.state(), envelope)),
            Body::Evidence(evidence) => self.evidence(envelope, evidence),
            Body::HumanQuestion(asked) => self.asked.push(Asked {
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
                self.answered(envelope, Said { seq, at, message, decision });
            }
            Body::ApprovalDecision(it) => self.decided.push(Decided {
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
                self.receipts.push(Ran { seq, round, finding: None, receipt: receipt.clone() });
            }
            Evidence::Reproduced { finding, receipt } => {
                self.receipts.push(Ran { seq, round, finding: Some(*finding), receipt: receipt.clone() });
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
    fn answered(&mut self, envelope: &Envelope, said: Said) {
        let named = envelope.event.in_reply_to.as_ref();
        let open: Vec<_> = self.story.state().gate.questions.iter().map(|question| &question.id).collect();
        let meant = |asked: &Asked| named.map_or_else(|| open.contains(&&asked.id), |id| *id == asked.id);
        for asked in self.asked.list.iter_mut().filter(|asked| meant(asked)) {
            asked.answers.push(said.clone());
        }
    }
}

impl<T> Kept<T> {
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

fn handed(before: &BubbleState, envelope: &Envelope) -> Option<Handed> {
    let Party::Agent(by) = &envelope.event.sender else { return None };
    let (by, seq, round) = (by.clone(), envelope.seq, envelope.event.round);
    Some(match &envelope.event.body {
        Body::Pass(pass) => Handed {
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
            Handed { seq, round, by, seat: Seat::Reviewer, summary, findings: Vec::new(), answers }
        }
        _ => return None,
    })
}
