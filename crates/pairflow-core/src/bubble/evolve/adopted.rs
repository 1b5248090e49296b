//! A person took over the bubble: what only the word of the person before supports does not count any more.
//!
//! Work, findings and what the agents said stay. Evidence, decisions, questions and access do not.

use crate::bubble::evolve::turns::{begin_round, begin_turn, set_stage};
use crate::bubble::{Phase, Stage, Turn, Unit};
use crate::facts::Seat;
use crate::time::Moment;

/// The bubble is another person's now. One that is over stays over.
pub(super) fn adopted(unit: &mut Unit, at: Moment) {
    unit.presence.tokens.clear();
    unit.presence.sessions.clear();
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
    unit.renew_budget();
    unit.paused = unit.phase.turn().is_some();
}

/// Checks, reproducers and reviews have to be made again.
fn drop_evidence(unit: &mut Unit) {
    unit.evidence.receipts.clear();
    unit.evidence.baseline.clear();
    unit.evidence.known_failures.clear();
    unit.evidence.superseded.clear();
    unit.evidence.could_not.clear();
    unit.ledger.reproduce_again();
    unit.rounds.streak.clear();
    unit.rounds.reviewed_by.clear();
    (unit.rounds.reviewed, unit.gate.certificate) = (None, None);
}

/// Nobody has waived, answered, understood or asked for anything.
fn drop_decisions(unit: &mut Unit) {
    unit.evidence.not_available.clear();
    unit.evidence.waived_checks.clear();
    unit.ledger.drop_waivers(unit.rounds.round);
    unit.gate.notes.clear();
    unit.gate.said_before.clear();
    (unit.gate.understood, unit.presence.parked) = (None, None);
    (unit.gate.updating, unit.gate.resolved, unit.gate.conflict) = (false, None, None);
    unit.gate.questions.clear();
    unit.gate.untold = false;
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
        let seats = unit.rounds.seats.clone();
        begin_round(unit, seats);
        begin_turn(unit, Seat::Producer, Stage::Opening, at);
    } else if unit.phase.turn().is_some_and(reviewing) {
        // The checks come before the review.
        set_stage(unit, Stage::Opening);
    }
}
