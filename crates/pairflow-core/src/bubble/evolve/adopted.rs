//! A person took over the bubble: what only the word of the person before supports does not count any more.
//!
//! Work, findings and what the agents said stay. Evidence, decisions, questions and access do not.

use crate::bubble::evolve::turns::{begin_round, begin_turn, grant_round, set_stage};
use crate::bubble::{BubbleState, Phase, Stage, Turn};
use crate::facts::Seat;
use crate::time::Moment;

/// The bubble is another person's now. One that is over stays over.
pub(super) fn adopted(state: &mut BubbleState, at: Moment) {
    state.presence.tokens.clear();
    state.presence.sessions.clear();
    state.keys.clear();
    if state.phase.is_final() {
        return;
    }
    drop_evidence(state);
    drop_decisions(state);
    if state.phase == Phase::Preparing {
        state.phase = Phase::Created;
    }
    grant_round(state);
    go_back(state, at);
    state.renew_budget();
    state.paused = state.phase.turn().is_some();
}

/// Checks, reproducers and reviews have to be made again.
fn drop_evidence(state: &mut BubbleState) {
    state.evidence.receipts.clear();
    state.evidence.baseline.clear();
    state.evidence.known_failures.clear();
    state.evidence.superseded.clear();
    state.evidence.could_not.clear();
    state.ledger.reproduce_again();
    state.rounds.streak.clear();
    state.rounds.reviewed_by.clear();
    (state.rounds.reviewed, state.gate.certificate) = (None, None);
}

/// Nobody has waived, answered, understood or asked for anything.
fn drop_decisions(state: &mut BubbleState) {
    state.evidence.not_available.clear();
    state.evidence.waived_checks.clear();
    state.ledger.drop_waivers(state.rounds.round);
    state.gate.notes.clear();
    state.gate.said_before.clear();
    (state.gate.understood, state.presence.parked) = (None, None);
    (state.gate.updating, state.gate.resolved, state.gate.conflict) = (false, None, None);
    state.gate.questions.clear();
    state.gate.untold = false;
    if let Phase::WaitingHuman(turn) = &state.phase {
        state.phase = Phase::Running(turn.clone());
    }
}

/// Work that was accepted, or handed over and not judged yet, goes back to the implementer. A commit that was asked for
/// or made does not count: nobody has approved it.
fn go_back(state: &mut BubbleState, at: Moment) {
    let accepted = matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_) | Phase::Committed(_));
    let unjudged = |turn: &Turn| matches!(turn.stage, Stage::Closing(_) | Stage::Settled);
    let reviewing = |turn: &Turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Open;
    if accepted || state.phase.turn().is_some_and(unjudged) {
        let seats = state.rounds.seats.clone();
        begin_round(state, seats);
        begin_turn(state, Seat::Implementer, Stage::Opening, at);
    } else if state.phase.turn().is_some_and(reviewing) {
        // The checks come before the review.
        set_stage(state, Stage::Opening);
    }
}
