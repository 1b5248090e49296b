//! What an agent may say to a row of the ledger, and what the person may live with.

use crate::ids::{FindingId, Party};
use crate::log::{Body, Control, ControlAction, Event, Waivable};
use crate::rounds::{Answers, Row, RowState};
use crate::unit::{Decided, Refusal, Seat, Unit};

/// Refuses answers that are not this seat's, or that speak of no open row.
pub(super) fn admit(unit: &Unit, seat: Seat, answers: &Answers) -> Result<(), Refusal> {
    let foreign = match seat {
        Seat::Producer => answers.of_critic().next(),
        Seat::Critic => answers.of_producer().next(),
    };
    if foreign.is_some() {
        return Err(Refusal::AnswersOfOtherSeat { seat });
    }
    if answers.disputed.iter().any(|dispute| dispute.reason.trim().is_empty()) {
        return Err(Refusal::Empty { what: "the reason of a dispute" });
    }
    for id in answers.of_producer().chain(answers.confirmed.iter().copied()) {
        open_row(unit, id)?;
    }
    for id in &answers.reopened {
        match unit.ledger.get(*id) {
            None => return Err(Refusal::UnknownFinding { id: id.to_string() }),
            Some(row) if row.state == RowState::Waived => return Err(Refusal::WaivedByPerson { id: *id }),
            Some(_) => {}
        }
    }
    let disputed = |id: &FindingId| answers.disputed.iter().any(|dispute| dispute.finding == *id);
    let twice = answers.confirmed.iter().find(|id| answers.reopened.contains(id));
    if let Some(id) = twice.or_else(|| answers.fixed.iter().find(|id| disputed(id))) {
        return Err(Refusal::TwoAnswers { id: *id });
    }
    match answers.confirmed.iter().find(|id| unit.ledger.get(**id).is_some_and(Row::proven)) {
        Some(id) => Err(Refusal::StillFails { id: *id }),
        None => Ok(()),
    }
}

/// The person lives with a finding, or with a check that does not pass.
pub(super) fn waive(unit: &Unit, what: &Waivable, reason: &str) -> Result<Decided, Refusal> {
    if reason.trim().is_empty() {
        return Err(Refusal::Empty { what: "the reason of the waiver" });
    }
    match what {
        Waivable::Finding(id) => open_row(unit, *id)?,
        Waivable::Check(name) if unit.rules.checks.iter().any(|check| check.name == *name) => {}
        Waivable::Check(name) => {
            let known = unit.rules.checks.iter().map(|check| check.name.clone()).collect();
            return Err(Refusal::UnknownCheck { name: name.clone(), known });
        }
    }
    let control = Control { action: ControlAction::Waive, reason: reason.to_owned(), waived: Some(what.clone()) };
    let mut event = Event::own(unit.round, Body::Control(control));
    event.sender = Party::Human;
    event.recipient = Party::Orchestrator;
    Ok(Decided::one(event))
}

fn open_row(unit: &Unit, id: FindingId) -> Result<(), Refusal> {
    match unit.ledger.get(id) {
        Some(row) if row.is_open() => Ok(()),
        _ => Err(Refusal::UnknownFinding { id: id.to_string() }),
    }
}
