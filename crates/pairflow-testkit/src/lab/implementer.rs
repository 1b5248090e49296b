//! An implementer: what it makes of a finding, and what that does to the work.

use super::Params;
use super::code::{Code, Model, Subject};
use super::dice::Dice;

/// What an implementer says to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is mended. Which may be a lie.
    Fixed,
    /// It is no fault.
    Disputed,
}

/// Answers one finding, and does to the work what it does.
pub(super) fn answer(code: &mut Code, params: &Params, dice: &mut Dice, by: Model, subject: Subject) -> Answer {
    if code.holds(subject) {
        if dice.chance(params.disputes_true) {
            return Answer::Disputed;
        }
        mend(code, params, dice, by, subject);
        return Answer::Fixed;
    }
    let gone = matches!(subject, Subject::Defect(_));
    if gone || dice.chance(params.disputes_false) {
        // What is mended already needs no second change, and the implementer says so.
        return Answer::Disputed;
    }
    heed(code, params, dice, by, subject);
    Answer::Fixed
}

/// Tries to mend a defect, or only says so.
pub(super) fn mend(code: &mut Code, params: &Params, dice: &mut Dice, by: Model, subject: Subject) {
    let Subject::Defect(at) = subject else { return };
    if dice.chance(params.lie) {
        return;
    }
    if dice.chance(params.mended) {
        code.defects[at].alive = false;
    }
    code.change(params, dice, by, code.defects[at].part);
}

/// Does what a wrong claim asks for: right code is changed, or what was mended is undone.
fn heed(code: &mut Code, params: &Params, dice: &mut Dice, by: Model, subject: Subject) {
    let Subject::Opinion(at) = subject else { return };
    let (part, undoes) = (code.opinions[at].part, code.opinions[at].undoes);
    if let Some(Subject::Defect(undone)) = undoes {
        code.defects[undone].alive = true;
    }
    code.change(params, dice, by, part);
}
