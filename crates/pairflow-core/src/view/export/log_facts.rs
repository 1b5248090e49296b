//! What the page shows of a bubble's log, gathered line by line. Long lists keep their newest entries.

use std::collections::VecDeque;

use crate::bubble::BubbleState;
use crate::facts::{Answers, Finding, Receipt, Seat};
use crate::ids::{BubbleId, FindingId, MsgId, Party, TreeId};
use crate::log::{ApprovalDecision, Body, Envelope, Evidence, Question, Reply};
use crate::time::Timestamp;
use crate::view::timeline::{TimelineRow, TimelineState};

/// How many lines of the timeline are kept.
const ROWS: usize = 3000;
/// How many entries of every other list are kept.
const ENTRIES: usize = 500;

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

/// What the log alone says.
#[derive(Debug, Clone)]
pub struct LogFacts {
    timeline: TimelineState,
    pub(super) rows: Newest<TimelineRow>,
    /// What pairflow ran.
    pub(super) receipts: Newest<Logged<(RunKind, Receipt)>>,
    pub(super) hand_overs: Newest<Logged<HandOver>>,
    pub(super) asked: Newest<AskedQuestion>,
    pub(super) decisions: Newest<Logged<ApprovalDecision>>,
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
    limit: usize,
}

/// A part of the log, with its place in it.
#[derive(Debug, Clone)]
pub(super) struct Logged<T> {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) round: u32,
    pub(super) by: Party,
    pub(super) said: T,
}

/// What pairflow ran something for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    /// A check.
    Check,
    /// The reproducer of a finding.
    Reproducer(FindingId),
    /// The test of a fix, on the tree without the fix.
    WithoutFix(FindingId),
    /// The test of a fix, on the tree with it.
    WithFix(FindingId),
}

/// A hand-over in the agent's own words.
#[derive(Debug, Clone)]
pub(super) struct HandOver {
    pub(super) seat: Seat,
    /// Whether it hands over acceptance tests, and no review.
    pub(super) acceptance: bool,
    pub(super) summary: String,
    pub(super) findings: Vec<Finding>,
    pub(super) answers: Answers,
}

/// A question to a person, with its answers.
#[derive(Debug, Clone)]
pub(super) struct AskedQuestion {
    id: MsgId,
    pub(super) asked: Logged<Question>,
    pub(super) answers: Vec<Logged<Reply>>,
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

impl LogFacts {
    /// Begins to gather the facts of a bubble.
    pub fn new(id: BubbleId) -> Self {
        Self {
            timeline: TimelineState::new(id),
            rows: Newest::new(ROWS),
            receipts: Newest::new(ENTRIES),
            hand_overs: Newest::new(ENTRIES),
            asked: Newest::new(ENTRIES),
            decisions: Newest::new(ENTRIES),
            rounds: Newest::new(ENTRIES),
        }
    }

    /// Returns the state that the lines so far have led to.
    pub fn state(&self) -> &BubbleState {
        self.timeline.state()
    }

    /// Takes the next line.
    pub fn step(&mut self, envelope: &Envelope) {
        match &envelope.event.body {
            Body::Pass(pass) => self.hand_overs.push(logged(
                envelope,
                HandOver {
                    seat: self.state().phase.turn().map_or(Seat::Implementer, |turn| turn.seat),
                    acceptance: pass.acceptance,
                    summary: pass.summary.clone(),
                    findings: pass.findings.clone().unwrap_or_default(),
                    answers: pass.answers.clone(),
                },
            )),
            // pairflow's own conclusion is no hand-over.
            Body::Convergence(claim) if matches!(envelope.event.sender, Party::Agent(_)) => {
                let (summary, answers) = (claim.summary.clone(), Answers::default());
                let said = HandOver { seat: Seat::Reviewer, acceptance: false, summary, findings: Vec::new(), answers };
                self.hand_overs.push(logged(envelope, said));
            }
            Body::Evidence(Evidence::Receipt { receipt }) => {
                self.receipts.push(logged(envelope, (RunKind::Check, receipt.clone())));
            }
            Body::Evidence(Evidence::Reproduced { finding, receipt }) => {
                self.receipts.push(logged(envelope, (RunKind::Reproducer(*finding), receipt.clone())));
            }
            Body::Evidence(Evidence::FixTested { finding, before, after }) => {
                self.receipts.push(logged(envelope, (RunKind::WithoutFix(*finding), before.clone())));
                let with = after.iter().map(|after| logged(envelope, (RunKind::WithFix(*finding), after.clone())));
                with.for_each(|run| self.receipts.push(run));
            }
            Body::Evidence(Evidence::Snapshot { snapshot }) => self.snapshot(&snapshot.tree),
            Body::HumanQuestion(question) => {
                let (id, asked) = (envelope.id.clone(), logged(envelope, question.clone()));
                self.asked.push(AskedQuestion { id, asked, answers: Vec::new() });
            }
            Body::HumanReply(reply) => self.answered(envelope, &logged(envelope, reply.clone())),
            Body::ApprovalDecision(decision) => self.decisions.push(logged(envelope, decision.clone())),
            _ => {}
        }
        self.timeline.step(envelope).into_iter().for_each(|row| self.rows.push(row));
    }

    fn snapshot(&mut self, to: &TreeId) {
        let (round, to) = (self.state().recorded_round(), to.clone());
        let Some(from) = self.state().tree().cloned() else { return };
        match self.rounds.list.back_mut() {
            Some(last) if last.round == round => last.to = to,
            _ => self.rounds.push(RoundTrees { round, from, to }),
        }
    }

    /// Adds an answer to the question that it names, or else to every one that is open.
    fn answered(&mut self, envelope: &Envelope, answer: &Logged<Reply>) {
        let named = envelope.event.in_reply_to.as_ref();
        let open: Vec<_> = self.timeline.state().gate.questions.iter().map(|question| &question.id).collect();
        let meant = |asked: &AskedQuestion| named.map_or_else(|| open.contains(&&asked.id), |id| *id == asked.id);
        for asked in self.asked.list.iter_mut().filter(|asked| meant(asked)) {
            asked.answers.push(answer.clone());
        }
    }
}

fn logged<T>(envelope: &Envelope, said: T) -> Logged<T> {
    let (seq, at, round) = (envelope.seq, envelope.at.ts, envelope.event.round);
    Logged { seq, at, round, by: envelope.event.sender.clone(), said }
}

impl<T> Newest<T> {
    fn new(limit: usize) -> Self {
        Self { list: VecDeque::new(), dropped: 0, limit }
    }

    fn push(&mut self, one: T) {
        self.list.push_back(one);
        if self.list.len() > self.limit {
            self.list.pop_front();
            self.dropped += 1;
        }
    }
}
