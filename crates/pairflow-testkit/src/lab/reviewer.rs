//! A reviewer: what one look at the work brings up, and how answers are judged.

use pairflow_core::facts::Severity;

use super::Params;
use super::code::{Code, FILES, Model, Opinion, PARTS, Subject};
use super::dice::Dice;
use super::implementer::Answer;
use super::words::WORDINGS;

/// One claim of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    pub subject: Subject,
    /// In which words.
    pub wording: usize,
    /// Whether it comes with a command that shows the fault.
    pub reproducer: bool,
}

/// What a reviewer knows besides the work itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Past<'a> {
    /// What was settled in earlier rounds.
    pub settled: &'a [Subject],
    /// What was mended because a reviewer asked for it.
    pub mended: &'a [Subject],
}

/// One look of `model` at the work; nothing if it approves without looking.
pub(super) fn look(
    code: &mut Code,
    params: &Params,
    dice: &mut Dice,
    model: Model,
    past: Past<'_>,
) -> Option<Vec<Claim>> {
    if dice.chance(params.lazy) {
        return None;
    }
    let mut claims = Vec::new();
    for at in 0..code.defects.len() {
        let defect = &code.defects[at];
        if defect.alive && dice.chance(defect.seen_by(model)) {
            let proven = defect.severity.blocks() && dice.chance(params.reproducer);
            claims.push(Claim { reproducer: proven, ..claim(params, dice, Subject::Defect(at)) });
        }
    }
    for _ in 0..dice.poisson(code.noise) {
        let opinion = opinion(params, dice);
        code.opinions.push(opinion);
        claims.push(claim(params, dice, Subject::Opinion(code.opinions.len() - 1)));
    }
    if dice.chance(params.repeat) {
        claims.extend(dice.pick(past.settled).map(|subject| claim(params, dice, subject)));
    }
    if dice.chance(params.reversal) {
        claims.extend(dice.pick(past.mended).map(|mended| undo(code, params, dice, mended)));
    }
    claims.dedup_by_key(|claim| claim.subject);
    Some(claims)
}

/// Whether a reviewer takes an answer.
pub(super) fn takes(code: &Code, params: &Params, dice: &mut Dice, subject: Subject, answer: Answer) -> bool {
    let right = !code.holds(subject);
    let misjudged = dice.chance(params.misjudged);
    let insists = right && answer == Answer::Disputed && dice.chance(params.stubborn);
    right != misjudged && !insists
}

fn claim(params: &Params, dice: &mut Dice, subject: Subject) -> Claim {
    let wording = if dice.chance(params.reworded) { dice.below(WORDINGS) } else { 0 };
    Claim { subject, wording, reproducer: false }
}

/// A claim about nothing.
fn opinion(params: &Params, dice: &mut Dice) -> Opinion {
    let severity = match (dice.chance(params.noise_grave), dice.chance(0.5)) {
        (true, _) => Severity::P1,
        (false, true) => Severity::P2,
        (false, false) => Severity::P3,
    };
    let tagged = severity == Severity::P2 && dice.chance(params.tagged);
    Opinion { severity, part: dice.below(FILES * PARTS), tagged, undoes: None }
}

/// A claim that wants undone what was mended.
fn undo(code: &mut Code, params: &Params, dice: &mut Dice, mended: Subject) -> Claim {
    let (part, severity, tagged) = code.about(mended);
    code.opinions.push(Opinion { severity, part, tagged, undoes: Some(mended) });
    claim(params, dice, Subject::Opinion(code.opinions.len() - 1))
}
