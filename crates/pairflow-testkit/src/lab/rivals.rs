//! What pairflow is compared with: a single agent, a loop until nothing is found, and the rules of the original pairflow.
//!
//! The rivals get the benefit of the doubt: their reviewers run the checks in every review and look at the answers to
//! their last claims as closely as ours do.

use super::agents::{Answer, answer};
use super::agents::{Claim, Past, accepts_answer, look};
use super::code::Dice;
use super::code::{Code, Model, Subject};
use super::{Params, Ran};

/// The naive loop ends after so many reviews.
const CAP: u32 = 40;
/// The round from which on only P0/P1 go back, by the rules of the original.
const SEVERITY_GATE: u32 = 4;
/// How often the original's last reviewer may send the work back before a person is asked.
const REWORKS: u32 = 5;

/// One agent, one turn, no review.
pub fn single(params: &Params, seed: u64) -> Ran {
    let trial = Trial::begin(params, seed);
    trial.end(true)
}

/// A reviewer and an implementer until a review has no findings of any severity, with at most so many turns.
pub fn naive(params: &Params, seed: u64, turns: u32) -> Ran {
    let mut trial = Trial::begin(params, seed);
    while trial.ran.turns < turns && trial.ran.looks < CAP {
        let claims = trial.review(Model::Claude);
        if claims.is_empty() {
            return trial.end(true);
        }
        if trial.ran.turns < turns {
            trial.fix(&claims);
        }
    }
    trial.end(false)
}

/// The original's rules: seats never swap, minor findings go back before the severity gate and not after it, two clean
/// reviews before the gate or one after it converge, then a last reviewer may send the work back five times.
pub fn original(params: &Params, seed: u64) -> Ran {
    let mut trial = Trial::begin(params, seed);
    let mut reworks = 0;
    while trial.ran.looks < CAP {
        trial.converge();
        let mut blocking = trial.review(Model::Codex);
        blocking.retain(|claim| trial.blocks(claim));
        if blocking.is_empty() {
            return trial.end(true);
        }
        if reworks == REWORKS {
            trial.ran.questions += 1;
            return trial.end(true);
        }
        reworks += 1;
        trial.fix(&blocking);
    }
    trial.end(false)
}

/// One task in the hands of a rival.
struct Trial<'a> {
    params: &'a Params,
    dice: Dice,
    code: Code,
    ran: Ran,
    answers: Vec<(Subject, Answer)>,
    settled: Vec<Subject>,
    fixed: Vec<Subject>,
}

impl<'a> Trial<'a> {
    fn begin(params: &'a Params, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let code = Code::first_cut(params, &mut dice, Model::Codex);
        let ran = Ran { turns: 1, ..Ran::default() };
        Self { params, dice, code, ran, answers: Vec::new(), settled: Vec::new(), fixed: Vec::new() }
    }

    /// The original's loop of one implementer and one reviewer.
    fn converge(&mut self) {
        let mut clean = 0;
        while self.ran.looks < CAP {
            let gated = self.ran.looks + 1 >= SEVERITY_GATE;
            let mut claims = self.review(Model::Claude);
            claims.retain(|claim| !gated || self.blocks(claim));
            clean = if claims.is_empty() { clean + 1 } else { 0 };
            if clean == 2 || (gated && clean == 1) {
                return;
            }
            // After a first clean review the implementer has an empty turn.
            self.fix(&claims);
        }
    }

    /// One review: a look, the checks, and the answers to the last claims.
    fn review(&mut self, model: Model) -> Vec<Claim> {
        self.ran.turns += 1;
        self.ran.looks += 1;
        let past = Past { settled: &self.settled, fixed: &self.fixed };
        let looked = look(&mut self.code, self.params, &mut self.dice, model, past);
        let Some(mut claims) = looked else { return Vec::new() };
        let again = |subject| Claim { subject, wording: 0, reproducer: false };
        let failing = self.code.alive().filter(|(_, defect)| defect.fails_check);
        claims.extend(failing.map(|(at, _)| again(Subject::Defect(at))));
        for (subject, answer) in self.answers.drain(..) {
            if accepts_answer(&self.code, self.params, &mut self.dice, subject, answer) {
                self.settled.push(subject);
            } else {
                claims.push(again(subject));
            }
        }
        claims.sort_by_key(|claim| claim.subject);
        claims.dedup_by_key(|claim| claim.subject);
        let minor = !claims.is_empty() && claims.iter().all(|claim| !self.blocks(claim));
        self.ran.minor_looks += u32::from(minor);
        claims
    }

    /// One turn of the implementer.
    fn fix(&mut self, claims: &[Claim]) {
        self.ran.turns += 1;
        for claim in claims {
            let said = answer(&mut self.code, self.params, &mut self.dice, Model::Codex, claim.subject);
            self.answers.push((claim.subject, said));
            if said == Answer::Fixed {
                self.fixed.push(claim.subject);
            }
        }
    }

    fn blocks(&self, claim: &Claim) -> bool {
        self.code.about(claim.subject).1.blocks()
    }

    fn end(mut self, converged: bool) -> Ran {
        self.ran.converged = converged;
        self.ran.left = self.code.blocking();
        self.ran.checks_fail = !self.code.checks_pass();
        self.ran
    }
}
