//! The modelled agents under the real rules: what each says in its turn, and what the person answers.

use std::collections::{BTreeMap, BTreeSet};

use pairflow_core::bubble::{Command, PassCommand, Phase};
use pairflow_core::facts::{
    AcceptanceFile, AcceptanceTests, Answers, Dispute, Finding, FixTest, Judgement, RowState, Ruling, Seat, Severity,
};
use pairflow_core::findings::Row;
use pairflow_core::ids::FindingId;
use pairflow_core::log::{Decision, QuestionKind, Reason};
use pairflow_core::rules::ReviewDepth;

use super::agents::{
    Answer, Claim, Past, Proof, anchor, answer, answer_with_test, class, fix, heed, look, place, say, takes,
};
use super::bubble::{ACCEPTANCE, Bubble, fix_test, named, reproducer, tree};
use super::code::{Code, Defect, Dice, FILES, Model, PARTS, Subject};
use super::{Cause, Params, Ran};

/// A loop that is not over after so many turns never ends.
const ENDLESS: u32 = 400;
/// In how many turns that fix findings the brief shows the implementer minor ones.
const MINOR_FIX_TURNS: u32 = 2;

/// How the real core is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// As by default: two agents.
    Standard,
    /// Acceptance tests from the task first, then a first look by both agents, each blind to what the other found.
    ThoroughTwo,
    /// The same with a third agent, which reviews and judges.
    ThoroughThree,
}

/// Lets the real core decide when the work is done.
pub fn ours(params: &Params, seed: u64, setup: Setup) -> Ran {
    let mut trial = Trial::begin(params, seed, setup);
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
        let named_so = |model: &Model| turn.agent == named(*model);
        let model = [Model::Claude, Model::Codex].into_iter().find(named_so).unwrap_or(Model::Third);
        trial.ran.turns += 1;
        match turn.seat {
            Seat::Implementer => trial.produce(model),
            Seat::Reviewer if turn.acceptance => trial.write_acceptance(),
            Seat::Reviewer => trial.review(model),
            Seat::Judge => trial.decide_disputes(),
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
    seen: [Option<(u32, [u32; FILES * PARTS])>; 3],
    /// The tree of the last review.
    reviewed: u32,
    /// Rows of which the person has said that they do not hold.
    overruled: BTreeSet<FindingId>,
    /// How often the person said "continue".
    continued: u32,
    cut: bool,
}

/// What an implementer said to a row, and whether it has a test of the fix.
type Said = (Answer, bool);

impl<'a> Trial<'a> {
    fn begin(params: &'a Params, seed: u64, setup: Setup) -> Self {
        let mut dice = Dice::new(seed);
        let code = Code::first_cut(params, &mut dice, Model::Codex);
        let depth = if setup == Setup::Standard { ReviewDepth::Standard } else { ReviewDepth::Thorough };
        let third = (setup == Setup::ThoroughThree).then(|| named(Model::Third));
        let bubble = Bubble::start(&Code { changes: 0, ..code.clone() }, depth, third);
        let ran = Ran { size: code.size, quiet: true, ..Ran::default() };
        Self {
            params,
            dice,
            code,
            bubble,
            ran,
            about: BTreeMap::new(),
            seen: [None; 3],
            reviewed: 0,
            overruled: BTreeSet::new(),
            continued: 0,
            cut: false,
        }
    }

    /// Performs what is owed; a check fails by chance now and then. Before the first cut there is only the base.
    fn settle(&mut self, since: u32) {
        let (dice, rate) = (&mut self.dice, self.params.flaky);
        match self.cut {
            true => self.bubble.settle(&self.code, since, || dice.chance(rate)),
            false => self.bubble.settle(&Code { changes: 0, ..self.code.clone() }, 0, || false),
        }
    }

    /// The reviewer's agent writes acceptance tests before there is any work. They may be wrong, as any reproducer.
    fn write_acceptance(&mut self) {
        let wrong = self.code.aside.chance(self.params.wrong_reproducer);
        let run = if wrong { format!("{ACCEPTANCE} and more") } else { ACCEPTANCE.to_owned() };
        let content = format!("artifact://acceptance/{}", "0".repeat(64));
        let files = vec![AcceptanceFile { path: "tests/acceptance.rs".to_owned(), content }];
        self.bubble.pass(|pass| PassCommand { acceptance: Some(AcceptanceTests { run, files }), ..pass });
        self.about.extend(self.bubble.last_names().into_iter().map(|name| (name, Subject::Acceptance)));
    }

    /// A judge decides each dispute, and is wrong now and then.
    fn decide_disputes(&mut self) {
        self.ran.judged += 1;
        for finding in self.bubble.state.rounds.contested.clone() {
            let holds = self.about.get(&finding).is_some_and(|subject| self.code.holds(*subject));
            let upheld = holds != self.dice.chance(self.params.judge_errs);
            let ruling = if upheld { Ruling::Upheld } else { Ruling::Dismissed };
            let by = self.bubble.state.phase.turn().expect("a judge decides in its turn").agent.clone();
            let judgement = Judgement { finding, ruling, reason: "as the code reads".to_owned() };
            let decided = self.bubble.send(&Command::Judge { by, judgement, key: None });
            decided.unwrap_or_else(|refusal| panic!("a judgement was refused: {refusal}"));
        }
    }

    /// An implementer answers what its brief asks for, perhaps what else the brief shows, and looks after failing checks. What
    /// is answered already is answered again only if a command still fails for it, or the work came back because of it.
    fn produce(&mut self, model: Model) {
        let mut answers = Answers::default();
        if self.cut {
            let mut said = BTreeMap::new();
            for (id, asked) in self.shown_rows() {
                if asked || self.dice.chance(self.params.tempted) {
                    self.answer(model, id, &mut answers, &mut said);
                }
            }
            self.fix_checks(model);
        }
        self.cut = true;
        self.bubble.pass(|pass| pass_with(pass, None, answers));
    }

    /// The rows that the brief shows, and whether each has to be answered. Of those that do not block it shows P2, and these
    /// in the first fix turns only.
    fn shown_rows(&self) -> Vec<(FindingId, bool)> {
        let state = &self.bubble.state;
        let objections = state.policy().objections(state.facts(), &[]);
        let minor = |id: &FindingId| {
            objections.iter().any(|one| matches!(one, Reason::MinorOpen { findings } if findings.contains(id)))
        };
        let early = state.rounds.round <= 1 + MINOR_FIX_TURNS;
        let due = |row: &&Row| {
            let answered = matches!(row.state, RowState::Fixed | RowState::Disputed);
            row.proven() || self.came_back(row.id) || !answered
        };
        let open = state.ledger.open().filter(due);
        let rows = open.map(|row| (row, row.blocks() || minor(&row.id)));
        let rows = rows.filter(|(row, asked)| *asked || (early && row.severity == Severity::P2));
        rows.map(|(row, asked)| (row.id, asked)).collect()
    }

    /// Whether the work came back because no test shows that this row is fixed.
    fn came_back(&self, id: FindingId) -> bool {
        let rounds = &self.bubble.state.rounds;
        let back = rounds.went_back.as_ref().filter(|_| rounds.returned.is_some());
        back.is_some_and(|back| {
            let about = |reason: &Reason| match reason {
                Reason::FixFails { finding } | Reason::FixNotShown { finding } => *finding == id,
                _ => false,
            };
            back.why.iter().any(about)
        })
    }

    /// Answers one row. Two rows about the same fault get the same answer.
    fn answer(&mut self, model: Model, id: FindingId, answers: &mut Answers, said: &mut BTreeMap<Subject, Said>) {
        let Some(subject) = self.about.get(&id).copied() else { return };
        let (said, test) = match said.get(&subject) {
            Some(said) => *said,
            None => {
                let answered = self.answer_row(model, id, subject);
                said.insert(subject, answered);
                answered
            }
        };
        if said == Answer::Disputed {
            return answers.disputed.push(Dispute { finding: id, reason: "it is no fault".to_owned() });
        }
        answers.fixed.push(id);
        let row = self.bubble.state.ledger.get(id);
        let reproduced = row.is_some_and(|row| row.reproducer_by().is_some() || !row.severity.blocks());
        match subject {
            _ if reproduced => {}
            Subject::Defect(at) if self.code.is_testable(subject) => {
                let wrong = self.dice.chance(self.params.wrong_reproducer);
                answers.tests.extend(test.then(|| FixTest { finding: id, command: fix_test(at, wrong) }));
            }
            _ => answers.untestable.push(Dispute { finding: id, reason: "it cannot be tested".to_owned() }),
        }
    }

    /// What the implementer says to a row, and whether it has a test of the fix.
    fn answer_row(&mut self, model: Model, id: FindingId, subject: Subject) -> Said {
        let Some(row) = self.bubble.state.ledger.get(id) else { return (Answer::Disputed, false) };
        let (proven, tested) = (row.proven(), row.severity.blocks() && row.reproducer_by().is_none());
        let came_back = self.came_back(id);
        let (upheld, decided) = (matches!(row.ruling, Some((Ruling::Upheld, _))), row.must_be_fixed());
        let (code, params, dice) = (&mut self.code, self.params, &mut self.dice);
        let holds = code.holds(subject);
        if subject == Subject::Acceptance {
            // What the tests show is fixed like a failing check; tests that fail without a fault are disputed.
            return (if holds { Answer::Fixed } else { Answer::Disputed }, false);
        }
        if self.overruled.contains(&id) {
            return (Answer::Disputed, false);
        }
        if upheld {
            // Whoever decided, the implementer does what it is told, except that it disobeys a judge now and then.
            if !decided && dice.chance(params.disputes_true) {
                return (Answer::Disputed, false);
            }
            heed(code, params, dice, model, subject);
        }
        // A command that fails for a reason leaves nothing to dispute, and neither does what was said to be fixed already.
        if upheld || (proven && holds) || came_back {
            // For what somebody else has fixed since, there is a test now.
            let test = if holds { fix(code, params, dice, model, subject) } else { came_back && !upheld };
            return (Answer::Fixed, test);
        }
        match tested && code.is_testable(subject) {
            true => answer_with_test(code, params, dice, model, subject),
            false => (answer(code, params, dice, model, subject), true),
        }
    }

    /// The receipts say which check fails, so the implementer goes for what makes it fail. The same holds for what acceptance
    /// tests show.
    fn fix_checks(&mut self, model: Model) {
        let accepts = self.bubble.state.ledger.rows.iter().any(Row::is_acceptance);
        let fails = |defect: &Defect| defect.fails_check || (accepts && defect.fails_acceptance);
        let failing: Vec<_> = self.code.alive().filter(|(_, defect)| fails(defect)).map(|(at, _)| at).collect();
        for at in failing {
            fix(&mut self.code, self.params, &mut self.dice, model, Subject::Defect(at));
        }
    }

    /// A reviewer looks at the work and at the answers, and says what it saw.
    fn review(&mut self, model: Model) {
        let blind = self.is_blind();
        self.ran.looks += 1;
        self.reviewed = self.code.changes;
        let (settled, fixed) = (self.subjects(|row| row.settled), self.subjects(|row| row.state == RowState::Fixed));
        let past = Past { settled: &settled, fixed: &fixed };
        let claims = look(&mut self.code, self.params, &mut self.dice, model, past);
        let looked = claims.is_some();
        let claims = claims.unwrap_or_default();
        self.ran.quiet &= claims.iter().all(|claim| claim.severity == Severity::P3);
        let mut answers = if looked { self.judge(model, &claims) } else { Answers::default() };
        let known = |claim: &Claim| self.known_row(claim.subject, model, blind);
        // A row that is open says it already, unless the reviewer finds it blocking only now.
        let says_more = |claim: &Claim, row: &Row| row.is_open() && claim.severity.blocks() && !row.severity.blocks();
        let new = claims.into_iter().map(|claim| (claim, known(&claim).map(|row| (row.id, says_more(&claim, row)))));
        let new = new.filter(|(_, row)| row.is_none_or(|(_, says_more)| says_more));
        let (new, repeats): (Vec<_>, Vec<_>) = new.map(|(claim, row)| (claim, row.map(|(id, _)| id))).unzip();
        if new.is_empty() && answers.reopened.is_empty() && answers.retracted.is_empty() {
            answers.confirmed.clear();
        }
        let findings = new.iter().zip(repeats);
        let findings: Vec<_> =
            findings.map(|(claim, repeats)| Finding { repeats, ..self.finding(model, claim) }).collect();
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

    /// The person knows nothing that the ledger does not show. Asked about a wish to undo something, they side with what was
    /// asked for first; about a dispute that a judge decided, with the judge. At the cap they say "continue" as often as
    /// their patience lasts, and then "accept". Without any patience they accept whatever they are asked.
    fn ask(&mut self, kind: QuestionKind) {
        self.ran.questions += 1;
        // There may be others beside it: a check that fails only in a fresh checkout, say.
        let open = self.bubble.state.gate.questions.first();
        let (question, findings) = open.map(|open| (open.id.clone(), open.findings.clone())).unzip();
        let reply = |message: &str, decision| Command::Reply {
            message: message.to_owned(),
            question: question.clone(),
            decision,
            refs: Vec::new(),
            key: None,
        };
        if matches!(kind, QuestionKind::Failing | QuestionKind::Differs) {
            self.ran.failing_questions += 1;
            self.bubble
                .send(&reply("go by what fails", None))
                .expect("a question about what fails is answered with words");
            return self.settle(self.code.changes);
        }
        assert!(kind.is_tie_break(), "nothing else is asked in the lab: {kind:?}");
        self.ran.quarrels += 1;
        let decision = self.decide_tie(kind, &findings.unwrap_or_default());
        let decided = self.bubble.send(&reply("go by the ledger", Some(decision)));
        if decision == Decision::Accept && decided.is_err() {
            // What cannot be accepted yet, because a check fails, goes on.
            self.bubble
                .send(&reply("go by the ledger", Some(Decision::Continue)))
                .expect("a tie-break can always go on");
        } else {
            decided.expect("a tie-break can be decided");
        }
        self.settle(self.code.changes);
    }

    fn decide_tie(&mut self, kind: QuestionKind, findings: &[FindingId]) -> Decision {
        let ledger = &self.bubble.state.ledger;
        let ruling = findings.iter().find_map(|id| ledger.get(*id)?.ruling.as_ref()).map(|(ruling, _)| *ruling);
        match (kind, ruling) {
            _ if self.params.patience <= 0.0 => Decision::Accept,
            (QuestionKind::Reversal, _) => {
                let reversals = ledger.open().filter(|row| row.state == RowState::Reversal);
                self.overruled.extend(reversals.map(|row| row.id));
                Decision::SideWithImplementer
            }
            (QuestionKind::Deadlock, Some(Ruling::Dismissed)) => Decision::SideWithImplementer,
            (QuestionKind::Deadlock, _) => Decision::SideWithFinding,
            _ if f64::from(self.continued) < self.params.patience => {
                self.continued += 1;
                Decision::Continue
            }
            _ => Decision::Accept,
        }
    }

    fn subjects(&self, which: impl Fn(&Row) -> bool) -> Vec<Subject> {
        let rows = self.bubble.state.ledger.rows.iter().filter(|row| which(row));
        let about = rows.filter_map(|row| self.about.get(&row.id).copied());
        about.filter(|subject| *subject != Subject::Acceptance).collect()
    }

    /// The open row about it, or the one that the person waived, if `model` knows it. In a blind look it knows only what it
    /// has found itself.
    fn known_row(&self, subject: Subject, model: Model, blind: bool) -> Option<&Row> {
        let mine = |row: &&Row| self.about.get(&row.id) == Some(&subject) && (!blind || row.by == named(model));
        let mut mine = self.bubble.state.ledger.rows.iter().filter(mine);
        mine.find(|row| row.is_open() || row.state == RowState::Waived)
    }

    /// Whether the next look is one of the first ones, which the agents take without knowing what the others found.
    fn is_blind(&self) -> bool {
        let state = &self.bubble.state;
        let agents = state.rules.agents.all().count() as u32;
        state.rules.review_depth == ReviewDepth::Thorough && state.rounds.looks < agents
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

fn pass_with(pass: PassCommand, findings: Option<Vec<Finding>>, answers: Answers) -> PassCommand {
    PassCommand { findings, answers, ..pass }
}
