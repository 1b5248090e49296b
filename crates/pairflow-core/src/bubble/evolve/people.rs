//! People: questions, answers, decisions, interventions, warnings.

use crate::bubble::evolve::notices::{heard, notify_holder};
use crate::bubble::evolve::turns::{begin_round, begin_turn, run_again, set_stage};
use crate::bubble::evolve::waivers::{waived, withdrawn};
use crate::bubble::{Approval, NOTES_KEPT, OpenQuestion, Phase, Stage, Turn, Unit, WARNINGS_KEPT, questions};
use crate::facts::{Seat, Seats};
use crate::ids::Party;
use crate::log::{
    ApprovalDecision, Control, ControlAction, Decision, Envelope, GateDecision, Question, QuestionKind, Reply, Warning,
};
use crate::progress::WentBack;
use crate::time::Moment;

pub(super) fn asked(unit: &mut Unit, envelope: &Envelope, question: &Question) {
    let sender = envelope.event.sender.clone();
    heard(unit, &sender, envelope.at);
    unit.gate.questions.push(OpenQuestion {
        id: envelope.id.clone(),
        by: sender,
        kind: question.kind,
        question: questions::shown(unit, question, &envelope.id),
        about: question.about.clone(),
        wants: question.wants.clone(),
        checks: question.checks.clone(),
        at: envelope.at.ts,
    });
    if question.kind == QuestionKind::Failing {
        let here = unit.rounds.went_back.take().filter(|last| Some(&last.tree) == unit.tree());
        let asked = |tree| WentBack { tree, why: Vec::new(), asked: true };
        unit.rounds.went_back = match here {
            Some(last) => Some(WentBack { asked: true, ..last }),
            None => unit.tree().cloned().map(asked),
        };
    }
    if let Phase::Running(turn) = &unit.phase {
        let overdue = turn.overdue || question.kind == QuestionKind::LongTurn;
        unit.phase = Phase::WaitingHuman(Turn { overdue, ..turn.clone() });
    }
}

pub(super) fn answered(unit: &mut Unit, envelope: &Envelope, reply: &Reply) {
    let asked =
        envelope.event.in_reply_to.as_ref().and_then(|id| unit.gate.questions.iter().position(|one| one.id == *id));
    let Some(asked) = asked.map(|index| unit.gate.questions.remove(index)) else { return };
    if let Party::Agent(agent) = &asked.by {
        unit.rounds.held.entry(agent.clone()).or_default().answered += 1;
    }
    match asked.kind {
        kind if kind.is_tie_break() => {
            unit.renew_budget();
            unit.ledger.admit_reversals(unit.rounds.round);
            if reply.decision == Some(Decision::Accept) {
                set_stage(unit, Stage::Accepted);
            }
        }
        QuestionKind::Comprehension => comprehended(unit, reply, envelope.at),
        QuestionKind::CouldNotCheck if reply.decision != Some(Decision::Accept) => unit.evidence.could_not.clear(),
        // What did not pass runs again.
        QuestionKind::Baseline if reply.decision.is_some() => unit.evidence.baseline.retain(|one| one.outcome.passed()),
        QuestionKind::Baseline => unit.evidence.known_failures.extend(asked.checks.iter().cloned()),
        QuestionKind::Differs if reply.decision.is_some() => run_again(unit, |one| one.outcome.passed()),
        // The failure counts, so what passed before does not.
        QuestionKind::Differs => {
            unit.evidence.receipts.retain(|one| !(one.outcome.passed() && asked.checks.contains(&one.check)));
        }
        _ => {}
    }
    let by_person = envelope.event.sender == Party::Human;
    // Whether a permission was given is told to the agent by its own hook.
    let to_be_told = by_person && asked.kind != QuestionKind::Permit;
    if to_be_told && !reply.message.trim().is_empty() {
        noted(unit, format!("{} -> {}", asked.in_short(), reply.message));
    }
    unit.gate.untold |= to_be_told;
    if !unit.gate.questions.is_empty() {
        return;
    }
    let untold = std::mem::take(&mut unit.gate.untold);
    if let Phase::WaitingHuman(turn) = &unit.phase {
        let back = Turn { heard: envelope.at, ..turn.clone() };
        let back = if by_person { Turn { uninterrupted: envelope.at, nudges: 0, ..back } } else { back };
        unit.phase = Phase::Running(back);
        if untold {
            notify_holder(unit);
        }
    }
}

/// The person was asked whether the document is understood. Any other answer goes to the producer.
fn comprehended(unit: &mut Unit, reply: &Reply, at: Moment) {
    if reply.decision == Some(Decision::Accept) {
        unit.gate.understood = unit.tree().cloned();
        return;
    }
    unit.rounds.streak.clear();
    begin_round(unit, Seats::chosen(&unit.rules));
    begin_turn(unit, Seat::Producer, Stage::Opening, at);
    unit.renew_budget();
}

pub(super) fn decided(unit: &mut Unit, decision: &ApprovalDecision, at: Moment) {
    let request = match &unit.phase {
        Phase::ReadyForApproval(request) | Phase::Approved(Approval { request, .. }) => request.clone(),
        _ => return,
    };
    if decision.decision == GateDecision::Approve {
        unit.phase = Phase::Approved(Approval { request, commit: None, failed: None, hooks: false });
        return;
    }
    if decision.decision == GateDecision::Reject {
        noted(unit, "rework: the approach as such is rejected, not a detail of it; begin with another one".to_owned());
    }
    for id in &decision.findings {
        if let Some(note) = unit.ledger.get(*id).map(|row| format!("rework: {}", row.short())) {
            noted(unit, note);
        }
        unit.ledger.demand(*id, unit.rounds.round);
    }
    if !decision.message.trim().is_empty() {
        noted(unit, format!("rework: {}", decision.message));
    }
    unit.gate.certificate = None;
    unit.gate.understood = None;
    unit.rounds.streak.clear();
    // The person's wish goes to the agent that was chosen to implement, however the seats stand after the reviews.
    begin_round(unit, Seats::chosen(&unit.rules));
    begin_turn(unit, Seat::Producer, Stage::Opening, at);
    unit.renew_budget();
}

pub(super) fn controlled(unit: &mut Unit, control: &Control, at: Moment) {
    match control.action {
        ControlAction::Halt => unit.paused = true,
        ControlAction::Resume => {
            unit.paused = false;
            unit.presence.parked = None;
            if let Some(turn) = unit.phase.turn_mut() {
                (turn.heard, turn.uninterrupted) = (at, at);
            }
            notify_holder(unit);
        }
        ControlAction::Waive => waived(unit, control),
        ControlAction::Withdraw => withdrawn(unit, control),
        ControlAction::Nudge
        | ControlAction::Escalate
        | ControlAction::Restart
        | ControlAction::Park
        | ControlAction::Unpark => {}
    }
}

/// A refused command is a sign of life, too; the same one over and over is written once and counts once.
pub(super) fn warned(unit: &mut Unit, sender: &Party, warning: &Warning, at: Moment) {
    heard(unit, sender, at);
    // An agent that was told to wait for a person is told when that is over, also if nobody had to answer.
    let sent_away =
        |turn: &Turn| *sender == Party::Agent(turn.agent.clone()) && !questions::only_about(unit, &turn.agent);
    let sent_away = matches!(&unit.phase, Phase::WaitingHuman(turn) if sent_away(turn));
    unit.gate.untold |= sent_away;
    unit.warnings.push_back((sender.clone(), warning.clone()));
    let surplus = unit.warnings.len().saturating_sub(WARNINGS_KEPT);
    unit.warnings.drain(..surplus);
}

/// Keeps what the person said for the next brief; a state stays small however much is asked.
pub(super) fn noted(unit: &mut Unit, note: String) {
    unit.gate.notes.push(note);
    let surplus = unit.gate.notes.len().saturating_sub(NOTES_KEPT);
    unit.gate.notes.drain(..surplus);
}
