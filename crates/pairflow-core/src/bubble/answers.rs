//! What an agent may say to a row of the ledger, and what the person may live with.

use crate::bubble::Stage;
use crate::bubble::{BubbleState, Command, Decided, PassCommand, Refusal, human, preview};
use crate::facts::Seat;
use crate::facts::{Answers, RowState};
use crate::findings::Row;
use crate::ids::{AgentId, FindingId, Party};
use crate::log::{Body, Control, ControlAction, Event, Judged, Pass, Verdict, Waivable};
use crate::policy::Facts;
use crate::progress::CheckState;

/// Refuses answers that are not this seat's, or that speak of no open row.
pub(super) fn admit(state: &BubbleState, by: &AgentId, seat: Seat, answers: &Answers) -> Result<(), Refusal> {
    let foreign = match seat {
        Seat::Implementer => answers.of_reviewer().next(),
        Seat::Reviewer => answers.of_implementer().next(),
        Seat::Judge => answers.of_implementer().chain(answers.of_reviewer()).next(),
    };
    if foreign.is_some() {
        return Err(Refusal::AnswersOfOtherSeat { seat });
    }
    if answers.disputed.iter().any(|dispute| dispute.reason.trim().is_empty()) {
        return Err(Refusal::Empty { what: "the reason of a dispute" });
    }
    for id in answers.of_implementer().chain(answers.confirmed.iter().copied()) {
        open_row(state, id)?;
    }
    for id in &answers.reopened {
        match state.ledger.get(*id) {
            None => return Err(Refusal::UnknownFinding { id: id.to_string() }),
            Some(row) if row.state == RowState::Waived => return Err(Refusal::WaivedByPerson { id: *id }),
            Some(_) => {}
        }
    }
    answers.retracted.iter().try_for_each(|id| retractable(state, by, *id))?;
    let disputed = |id: &FindingId| answers.disputed.iter().any(|dispute| dispute.finding == *id);
    let twice = answers.confirmed.iter().find(|id| answers.reopened.contains(id));
    if let Some(id) = twice.or_else(|| answers.fixed.iter().find(|id| disputed(id))) {
        return Err(Refusal::TwoAnswers { id: *id });
    }
    let confirmed =
        |is: fn(&Row) -> bool| answers.confirmed.iter().filter(move |id| state.ledger.get(**id).is_some_and(is));
    let proven = confirmed(Row::proven).find(|id| !answers.retracted.contains(id));
    match (proven, confirmed(Row::unresolved).next()) {
        (Some(id), _) => Err(Refusal::StillFails { id: *id }),
        (None, Some(id)) => Err(Refusal::Unresolved { id: *id }),
        (None, None) => Ok(()),
    }
}

/// Whether `by` may take back the reproducer of row `id`: it is the one who brought it.
fn retractable(state: &BubbleState, by: &AgentId, id: FindingId) -> Result<(), Refusal> {
    let Some(row) = state.ledger.get(id) else { return Err(Refusal::UnknownFinding { id: id.to_string() }) };
    match row.reproducer_by() {
        None => Err(Refusal::NoReproducer { id }),
        Some(author) if author != by => Err(Refusal::NotItsReproducer { id, author: author.clone() }),
        Some(_) => Ok(()),
    }
}

/// Refuses a review that asks for changes and would count as a clean one all the same, because nothing in it blocks.
pub(super) fn admit_claim(state: &BubbleState, pass: &PassCommand, body: &Pass) -> Result<(), Refusal> {
    match pass.insists && preview::would_be_clean(state, &pass.by, body) {
        true => Err(Refusal::NothingBlocks),
        false => Ok(()),
    }
}

/// The person lives with something, or does so no longer.
pub(super) fn live_with(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    match command {
        Command::Waive { what, reason } => waive(state, what, reason),
        Command::Withdraw { what, reason } => withdraw(state, what, reason),
        _ => Err(Refusal::NotOwed),
    }
}

/// The person lives with a finding, or with a check that does not pass.
fn waive(state: &BubbleState, what: &Waivable, reason: &str) -> Result<Decided, Refusal> {
    if reason.trim().is_empty() {
        return Err(Refusal::Empty { what: "the reason of the waiver" });
    }
    if is_waived(state, what) {
        return Err(Refusal::WaivedAlready { what: what.clone() });
    }
    match what {
        Waivable::Finding(id) => open_row(state, *id)?,
        Waivable::Check(name) if matches!(state.check(name), CheckState::Passed(_)) => {
            return Err(Refusal::CheckPasses { name: name.clone() });
        }
        Waivable::Check(name) if state.rules.checks.iter().any(|check| check.name == *name) => {}
        Waivable::Check(name) => {
            let known = state.rules.checks.iter().map(|check| check.name.clone()).collect();
            return Err(Refusal::UnknownCheck { name: name.clone(), known });
        }
    }
    Ok(decided(state, ControlAction::Waive, what, reason))
}

/// The person no longer lives with it: the row is open again, the check is owed again.
fn withdraw(state: &BubbleState, what: &Waivable, reason: &str) -> Result<Decided, Refusal> {
    if !is_waived(state, what) {
        return Err(Refusal::NotWaived { what: what.clone() });
    }
    Ok(decided(state, ControlAction::Withdraw, what, reason))
}

/// The person's decision.
fn decided(state: &BubbleState, action: ControlAction, what: &Waivable, reason: &str) -> Decided {
    let control = Control { action, reason: reason.to_owned(), waived: Some(what.clone()), until: None };
    let mut event = Event::own(state.rounds.round, Body::Control(control));
    event.sender = Party::Human;
    event.recipient = Party::Orchestrator;
    let more = match action {
        ControlAction::Waive => human::nothing_fails(state, what),
        _ => verdict_without_waiver(state, what)
            .map(|verdict| Event::own(state.rounds.round, Body::Verdict(verdict)))
            .into_iter()
            .collect(),
    };
    Decided::of(std::iter::once(event).chain(more).collect())
}

/// The verdict on the clean reviews once a waiver is taken back; nothing if they do not need it.
pub(super) fn verdict_without_waiver(state: &BubbleState, what: &Waivable) -> Option<Verdict> {
    let holds = match what {
        Waivable::Finding(id) => {
            let ledger = state.ledger.without_waiver(*id);
            Facts { ledger: &ledger, ..state.facts() }.objections(&[]).is_empty()
        }
        Waivable::Check(name) => {
            let later = [Waivable::Check(name.clone())];
            state.facts().objections(&later).is_empty()
        }
    };
    (!holds).then(|| no_longer_clean(state, Judged::Waiver))
}

fn is_waived(state: &BubbleState, what: &Waivable) -> bool {
    match what {
        Waivable::Finding(id) => state.ledger.get(*id).is_some_and(|row| row.state == RowState::Waived),
        Waivable::Check(name) => state.evidence.waived_checks.contains_key(name),
    }
}

fn open_row(state: &BubbleState, id: FindingId) -> Result<(), Refusal> {
    match state.ledger.get(id) {
        Some(row) if row.is_open() => Ok(()),
        _ => Err(Refusal::UnknownFinding { id: id.to_string() }),
    }
}

/// The policy's verdict on clean reviews whose ground was taken back or changed.
pub(super) fn no_longer_clean(state: &BubbleState, on: Judged) -> Verdict {
    let settled = state.phase.turn().is_some_and(|turn| turn.stage == Stage::Settled);
    state.policy().after_change(state.facts(), &on, settled).verdict(state.policy(), on)
}
