//! The modelled agents under the real rules: what each says in its turn, and what the person answers.

use std::collections::{BTreeMap, BTreeSet};

use pairflow_core::bubble::{Command, Phase};
use pairflow_core::facts::{Answers, Dispute, Finding, RowState, Seat, Severity};
use pairflow_core::findings::Row;
use pairflow_core::ids::FindingId;
use pairflow_core::log::{Decision, QuestionKind};

use super::agents::{Answer, Claim, Past, Proof, anchor, answer, class, fix, look, place, say, takes};
use super::bubble::{Bubble, named, reproducer, tree};
use super::code::{Code, Dice, FILES, Model, PARTS, Subject};
use super::{Cause, Params, Ran};

/// A loop that is not over after so many turns never ends.
const ENDLESS: u32 = 400;

/// Lets the real core decide when the work is done.
pub fn ours(params: &Params, seed: u64) -> Ran {
    let mut trial = Trial::begin(params, seed);
    while trial.ran.turns < ENDLESS {
        let (turn, kind) = match &trial.bubble.state.phase {
            Phase::Running(turn) => (turn.clone(), None),
            Phase::WaitingHuman(turn) => {
                (turn.clone(), trial.bubble.state.gate.questions.first().map(|open| open.kind))
            }
            _ => return trial.end(),
        };
        if let Some(kind) = kind {
            trial.ask(kind);
            continue;
        }
        let since = trial.code.changes;
        let model = if turn.agent == named(Model::Claude) { Model::Claude } else { Model::Codex };
        trial.ran.turns += 1;
        match turn.seat {
            Seat::Implementer => trial.produce(model),
            Seat::Reviewer => trial.review(model),
            Seat::Judge => unreachable!("no policy seats a judge yet"),
        }
        trial.settle(since);
    }
    panic!("seed {seed}: the loop did not end within {ENDLESS} turns");
}

/// One task in the hands of the real core.
struct Trial<'a> {
    params: &'a Params,
    dice: Dice,
    code: Code,
    bubble: Bubble,
    ran: Ran,
    /// What each row is about: what was claimed when it was filed.
    about: BTreeMap<FindingId, Subject>,
    /// The parts as each model saw them in its last review, with the round.
    seen: [Option<(u32, [u32; FILES * PARTS])>; 2],
    /// The tree of the last review.
    reviewed: u32,
    /// Rows of which the person has said that they do not hold.
    overruled: BTreeSet<FindingId>,
    cut: bool,
}

impl<'a> Trial<'a> {
    fn begin(params: &'a Params, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let code = Code::first_cut(params, &mut dice, Model::Codex);
        let bubble = Bubble::start(&Code { changes: 0, ..code.clone() });
        let ran = Ran { size: code.size, quiet: true, ..Ran::default() };
        Self {
            params,
            dice,
            code,
            bubble,
            ran,
            about: BTreeMap::new(),
            seen: [None; 2],
            reviewed: 0,
            overruled: BTreeSet::new(),
            cut: false,
        }
    }

    /// Performs what is owed; a check fails by chance now and then.
    fn settle(&mut self, since: u32) {
        let (dice, rate) = (&mut self.dice, self.params.flaky);
        self.bubble.settle(&self.code, since, || dice.chance(rate));
    }

    /// An implementer answers what blocks, and perhaps more, and looks after failing checks. What is answered already is
    /// answered again only if a command still fails for it.
    fn produce(&mut self, model: Model) {
        let mut answers = Answers::default();
        if self.cut {
            let due = |row: &&Row| row.proven() || !matches!(row.state, RowState::Fixed | RowState::Disputed);
            let rows = self.bubble.state.ledger.open().filter(due);
            let rows: Vec<_> = rows.map(|row| (row.id, row.blocks(), row.proven())).collect();
            for (id, blocks, proven) in rows {
                if blocks || self.dice.chance(self.params.tempted) {
                    self.answer(model, (id, proven), &mut answers);
                }
            }
            self.fix_checks(model);
        }
        self.cut = true;
        self.bubble.pass(|pass| pass_with(pass, None, answers));
    }

    fn answer(&mut self, model: Model, row: (FindingId, bool), answers: &mut Answers) {
        let (id, proven) = row;
        let Some(subject) = self.about.get(&id).copied() else { return };
        let said = if self.overruled.contains(&id) {
            Answer::Disputed
        } else if proven && self.code.holds(subject) {
            // A command that fails for a reason leaves nothing to dispute.
            fix(&mut self.code, self.params, &mut self.dice, model, subject);
            Answer::Fixed
        } else {
            answer(&mut self.code, self.params, &mut self.dice, model, subject)
        };
        match said {
            Answer::Fixed => answers.fixed.push(id),
            Answer::Disputed => answers.disputed.push(Dispute { finding: id, reason: "it is no fault".to_owned() }),
        }
    }

    /// The receipts say which check fails, so the implementer goes for what makes it fail.
    fn fix_checks(&mut self, model: Model) {
        let failing: Vec<_> = self.code.alive().filter(|(_, defect)| defect.fails_check).map(|(at, _)| at).collect();
        for at in failing {
            fix(&mut self.code, self.params, &mut self.dice, model, Subject::Defect(at));
        }
    }

    /// A reviewer looks at the work and at the answers, and says what it saw.
    fn review(&mut self, model: Model) {
        self.ran.looks += 1;
        self.reviewed = self.code.changes;
        let (settled, fixed) = (self.subjects(|row| row.settled), self.subjects(|row| row.state == RowState::Fixed));
        let past = Past { settled: &settled, fixed: &fixed };
        let claims = look(&mut self.code, self.params, &mut self.dice, model, past);
        let looked = claims.is_some();
        let claims = claims.unwrap_or_default();
        self.ran.quiet &= claims.iter().all(|claim| claim.severity == Severity::P3);
        let mut answers = if looked { self.judge(model, &claims) } else { Answers::default() };
        let new: Vec<_> = claims.into_iter().filter(|claim| !self.is_open(claim.subject)).collect();
        if new.is_empty() && answers.reopened.is_empty() && answers.retracted.is_empty() {
            answers.confirmed.clear();
        }
        let findings: Vec<_> = new.iter().map(|claim| self.finding(model, claim)).collect();
        let severe = findings.iter().any(|finding| finding.severity.blocks());
        self.ran.minor_looks += u32::from(!findings.is_empty() && !severe);
        self.bubble.pass(|pass| pass_with(pass, Some(findings), answers));
        for (name, claim) in self.bubble.last_names().into_iter().zip(&new) {
            self.about.entry(name).or_insert(claim.subject);
        }
        if let Some(cause) = self.cause(&new, &settled) {
            self.ran.causes[cause as usize] += 1;
        }
        self.seen[model as usize] = Some((self.bubble.state.rounds.round, self.code.versions));
    }

    /// Why the review that was just handed over is not clean.
    fn cause(&self, new: &[Claim], settled: &[Subject]) -> Option<Cause> {
        let state = &self.bubble.state;
        let severe = |claim: &&Claim| claim.severity.blocks();
        let holds = |row: &Row| self.about.get(&row.id).is_some_and(|subject| self.code.holds(*subject));
        let blocking = || state.ledger.blocking().filter(|row| row.severity.blocks());
        if new.iter().filter(severe).any(|claim| self.code.holds(claim.subject)) {
            Some(Cause::NewTrue)
        } else if blocking().any(holds) {
            Some(Cause::NotFixed)
        } else if new.iter().filter(severe).any(|claim| !settled.contains(&claim.subject)) {
            Some(Cause::NewFalse)
        } else if new.iter().any(|claim| severe(&claim)) {
            Some(Cause::Repeated)
        } else if blocking().next().is_some() {
            Some(Cause::Misjudged)
        } else if state.ledger.blocking().next().is_some() {
            Some(Cause::Unanswered)
        } else {
            (!self.code.checks_pass()).then_some(Cause::Check)
        }
    }

    /// Takes the answers that seem right, and not those that do not, or whose fault the look found again. A command that
    /// fails still is taken back with the answer, by the agent that brought it.
    fn judge(&mut self, model: Model, claims: &[Claim]) -> Answers {
        let mut answers = Answers::default();
        let answered = |row: &&Row| match row.state {
            RowState::Fixed => !row.proven(),
            RowState::Disputed => !row.proven() || row.reproducer_by() == Some(&named(model)),
            _ => false,
        };
        let rows = self.bubble.state.ledger.open().filter(answered);
        let rows: Vec<_> = rows.map(|row| (row.id, row.state, row.proven())).collect();
        for (id, state, proven) in rows {
            let Some(subject) = self.about.get(&id).copied() else { continue };
            let said = if state == RowState::Disputed { Answer::Disputed } else { Answer::Fixed };
            let found = claims.iter().any(|claim| claim.subject == subject);
            let taken = takes(&self.code, self.params, &mut self.dice, subject, said) && !found;
            if taken {
                answers.confirmed.push(id)
            } else {
                answers.reopened.push(id)
            }
            answers.retracted.extend(Some(id).filter(|_| taken && proven));
        }
        answers
    }

    /// A claim as the reviewer files it, with what pairflow finds out about its place.
    fn finding(&mut self, model: Model, claim: &Claim) -> Finding {
        let (part, _, _) = self.code.about(claim.subject);
        let (title, detail) = say(&self.code, claim.subject, claim.wording);
        let (file, line) = place(&self.code, claim.subject);
        let seen = self.seen[model as usize].filter(|(_, parts)| parts[part] == self.code.versions[part]);
        let command = match (claim.proof, claim.subject) {
            (Some(Proof::Right), Subject::Defect(at)) => Some(reproducer(at)),
            (Some(_), _) => Some("./cannot-pass".to_owned()),
            (None, _) => None,
        };
        Finding {
            detail,
            file: Some(file),
            line: Some(line),
            class: Some(class(&self.code, claim)),
            reproducer: command,
            anchor: anchor(&self.code, claim.subject),
            seen: seen.map(|(round, _)| round),
            reverses: self.undone_row(claim.subject),
            ..Finding::new(claim.severity, title)
        }
    }

    /// The row that a wish to undo something is about, if the reviewer says so.
    fn undone_row(&mut self, subject: Subject) -> Option<FindingId> {
        let Subject::Opinion(at) = subject else { return None };
        let undone = self.code.opinions[at].undoes?;
        let row = self.about.iter().rev().find(|(_, about)| **about == undone).map(|(id, _)| *id);
        row.filter(|_| self.dice.chance(self.params.owns_up))
    }

    /// The person says "continue" as often as their patience lasts, and then "accept".
    ///
    /// They know nothing that the ledger does not show. Asked about a wish to undo something, they side with what was
    /// asked for first.
    fn ask(&mut self, kind: QuestionKind) {
        self.ran.questions += 1;
        // There may be others beside it: a check that fails only in a fresh checkout, say.
        let question = self.bubble.state.gate.questions.first().map(|open| open.id.clone());
        if matches!(kind, QuestionKind::Failing | QuestionKind::Differs) {
            let message = "go by what fails".to_owned();
            let reply = Command::Reply { message, question, decision: None, refs: Vec::new(), key: None };
            self.bubble.send(&reply).expect("a question about what fails is answered with words");
            return self.settle(self.code.changes);
        }
        assert!(kind.is_tie_break(), "nothing else is asked in the lab: {kind:?}");
        self.ran.quarrels += 1;
        if kind == QuestionKind::Reversal {
            let reversals = self.bubble.state.ledger.open().filter(|row| row.state == RowState::Reversal);
            self.overruled.extend(reversals.map(|row| row.id));
        }
        let reply = |decision| Command::Reply {
            message: "go by the ledger".to_owned(),
            question: question.clone(),
            decision: Some(decision),
            refs: Vec::new(),
            key: None,
        };
        let patient = f64::from(self.ran.quarrels) <= self.params.patience;
        // What cannot be accepted yet, because a check fails, goes on.
        if patient || self.bubble.send(&reply(Decision::Accept)).is_err() {
            self.bubble.send(&reply(Decision::Continue)).expect("a tie-break can always go on");
        }
        self.settle(self.code.changes);
    }

    fn subjects(&self, which: impl Fn(&Row) -> bool) -> Vec<Subject> {
        let rows = self.bubble.state.ledger.rows.iter().filter(|row| which(row));
        rows.filter_map(|row| self.about.get(&row.id).copied()).collect()
    }

    /// Whether an open row, or one that the person waived, is about it.
    fn is_open(&self, subject: Subject) -> bool {
        let mine = |row: &&Row| self.about.get(&row.id) == Some(&subject);
        self.bubble.state.ledger.rows.iter().filter(mine).any(|row| row.is_open() || row.state == RowState::Waived)
    }

    /// The loop is over: what it accepted has to be what was reviewed and checked.
    fn end(mut self) -> Ran {
        let certificate = self.bubble.state.gate.certificate.as_ref();
        self.ran.taken = certificate.is_some_and(|certificate| !certificate.waived.is_empty());
        self.ran.one_sided = certificate.is_some_and(|certificate| !certificate.reviews.is_empty());
        let accepted = certificate.map(|certificate| certificate.tree.clone());
        let newest = tree(self.code.changes);
        self.ran.converged = matches!(self.bubble.state.phase, Phase::ReadyForApproval(_));
        self.ran.unreviewed = accepted.as_ref() != Some(&newest) || self.reviewed != self.code.changes;
        self.ran.ended_with(&self.code);
        let broken = self.bubble.broken();
        assert!(broken.is_empty(), "the log of the lab breaks rules: {broken:#?}");
        self.ran
    }
}

fn pass_with(
    pass: pairflow_core::bubble::PassCommand,
    findings: Option<Vec<Finding>>,
    answers: Answers,
) -> pairflow_core::bubble::PassCommand {
    pairflow_core::bubble::PassCommand { findings, answers, ..pass }
}
