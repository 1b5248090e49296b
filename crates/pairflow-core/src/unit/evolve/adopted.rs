//! A person took over the bubble: what only the word of the person before supports does not count any more.
//!
//! Work, findings and what the agents said stay. Evidence, decisions, questions and access do not.

use crate::time::Moment;
use crate::unit::evolve::turns::{begin_round, begin_turn, set_stage};
use crate::unit::{Phase, Seat, Stage, Turn, Unit};

/// The bubble is another person's now. One that is over stays over.
pub(super) fn adopted(unit: &mut Unit, at: Moment) {
    unit.tokens.clear();
    unit.sessions.clear();
    unit.keys.clear();
    if unit.phase.is_final() {
        return;
    }
    drop_evidence(unit);
    drop_decisions(unit);
    if unit.phase == Phase::Preparing {
        unit.phase = Phase::Created;
    }
    go_back(unit, at);
    unit.paused = unit.phase.turn().is_some();
}

/// Checks, reproducers and reviews have to be made again.
fn drop_evidence(unit: &mut Unit) {
    unit.receipts.clear();
    unit.baseline.clear();
    unit.known_failures.clear();
    unit.superseded.clear();
    unit.could_not.clear();
    unit.ledger.reproduce_again();
    unit.streak.clear();
    unit.reviewed_by.clear();
    (unit.reviewed, unit.certificate) = (None, None);
    unit.renew_budget();
}

/// Nobody has waived, answered, understood or asked for anything.
fn drop_decisions(unit: &mut Unit) {
    unit.not_available.clear();
    unit.waived_checks.clear();
    unit.ledger.drop_waivers(unit.round);
    unit.notes.clear();
    unit.said_before.clear();
    (unit.understood, unit.parked) = (None, None);
    (unit.updating, unit.resolved, unit.conflict) = (false, None, None);
    unit.questions.clear();
    unit.untold = false;
    if let Phase::WaitingHuman(turn) = &unit.phase {
        unit.phase = Phase::Running(turn.clone());
    }
}

/// Work that was accepted, or handed over and not judged yet, goes back to the implementer. A commit that was asked for
/// or made does not count: nobody has approved it.
fn go_back(unit: &mut Unit, at: Moment) {
    let accepted = matches!(unit.phase, Phase::ReadyForApproval(_) | Phase::Approved(_) | Phase::Committed(_));
    let unjudged = |turn: &Turn| matches!(turn.stage, Stage::Closing(_) | Stage::Settled);
    let reviewing = |turn: &Turn| turn.seat == Seat::Critic && turn.stage == Stage::Open;
    if accepted || unit.phase.turn().is_some_and(unjudged) {
        let seats = unit.seats.clone();
        begin_round(unit, seats);
        begin_turn(unit, Seat::Producer, Stage::Opening, at);
    } else if unit.phase.turn().is_some_and(reviewing) {
        // The checks come before the review.
        set_stage(unit, Stage::Opening);
    }
}
