//! People: questions, answers, decisions, interventions, warnings.

use crate::bubble::evolve::turns::{
    begin_round, begin_turn, closing, grant_round, heard, hold_round, notify_holder, run_again, set_stage,
};
use crate::bubble::{Approval, BubbleState, NOTES_KEPT, OpenQuestion, Phase, Stage, Turn, WARNINGS_KEPT};
use crate::facts::{Seat, Seats};
use crate::ids::{MsgId, Party};
use crate::log::{
    ApprovalDecision, Control, ControlAction, Decision, Envelope, GateDecision, Question, QuestionKind, Reply,
    Waivable, Warning,
};
use crate::progress::{RoundStage, WentBack};
use crate::time::Moment;

pub(super) fn asked(state: &mut BubbleState, envelope: &Envelope, question: &Question) {
    let sender = envelope.event.sender.clone();
    heard(state, &sender, envelope.at);
    state.gate.questions.push(OpenQuestion {
        id: envelope.id.clone(),
        by: sender,
        kind: question.kind,
        question: shown(state, question, &envelope.id),
        about: question.about.clone(),
        wants: question.wants.clone(),
        checks: question.checks.clone(),
        findings: question.findings.clone(),
        at: envelope.at.ts,
    });
    if question.kind.is_tie_break() {
        hold_round(state);
    }
    if question.kind == QuestionKind::Failing {
        let here = state.rounds.went_back.take().filter(|last| Some(&last.tree) == state.tree());
        let asked = |tree| WentBack { tree, why: Vec::new(), asked: true };
        state.rounds.went_back = match here {
            Some(last) => Some(WentBack { asked: true, ..last }),
            None => state.tree().cloned().map(asked),
        };
    }
    if let Phase::Running(turn) = &state.phase {
        let overdue = turn.overdue || question.kind == QuestionKind::LongTurn;
        state.phase = Phase::WaitingHuman(Turn { overdue, ..turn.clone() });
    }
}

pub(super) fn answered(state: &mut BubbleState, envelope: &Envelope, reply: &Reply) {
    let asked =
        envelope.event.in_reply_to.as_ref().and_then(|id| state.gate.questions.iter().position(|one| one.id == *id));
    let Some(asked) = asked.map(|index| state.gate.questions.remove(index)) else { return };
    if let Party::Agent(agent) = &asked.by {
        state.rounds.held.entry(agent.clone()).or_default().answered += 1;
    }
    match asked.kind {
        kind if kind.is_tie_break() => {
            if reply.decision == Some(Decision::Accept) {
                set_stage(state, Stage::Accepted);
                state.rounds.stage = RoundStage::Begun;
            } else {
                grant_round(state);
            }
            state.renew_budget();
            let round = state.rounds.round;
            match reply.decision.and_then(Decision::ruling) {
                Some(ruling) => state.ledger.decided(&asked.findings, round, ruling, &reply.message),
                None => state.ledger.undecided(&asked.findings),
            }
            state.ledger.admit_reversals(round);
        }
        QuestionKind::Comprehension => comprehended(state, reply, envelope.at),
        QuestionKind::CouldNotCheck if reply.decision != Some(Decision::Accept) => state.evidence.could_not.clear(),
        // What did not pass runs again.
        QuestionKind::Baseline if reply.decision.is_some() => {
            state.evidence.baseline.retain(|one| one.outcome.passed())
        }
        QuestionKind::Baseline => state.evidence.known_failures.extend(asked.checks.iter().cloned()),
        QuestionKind::Differs if reply.decision.is_some() => run_again(state, |one| one.outcome.passed()),
        // The failure counts, so what passed before does not.
        QuestionKind::Differs => {
            state.evidence.receipts.retain(|one| !(one.outcome.passed() && asked.checks.contains(&one.check)));
        }
        _ => {}
    }
    let by_person = envelope.event.sender == Party::Human;
    // Whether a permission was given is told to the agent by its own hook.
    let to_be_told = by_person && asked.kind != QuestionKind::Permit;
    if to_be_told && !reply.message.trim().is_empty() {
        noted(state, format!("{} -> {}", asked.in_short(), reply.message));
    }
    state.gate.untold |= to_be_told;
    if !state.gate.questions.is_empty() {
        return;
    }
    let untold = std::mem::take(&mut state.gate.untold);
    if let Phase::WaitingHuman(turn) = &state.phase {
        let back = Turn { heard: envelope.at, ..turn.clone() };
        let back = if by_person { Turn { uninterrupted: envelope.at, nudges: 0, ..back } } else { back };
        state.phase = Phase::Running(back);
        if untold {
            notify_holder(state);
        }
    }
}

/// The person was asked whether the document is understood. Any other answer goes to the implementer.
fn comprehended(state: &mut BubbleState, reply: &Reply, at: Moment) {
    if reply.decision == Some(Decision::Accept) {
        state.gate.understood = state.tree().cloned();
        return;
    }
    state.rounds.streak.clear();
    begin_round(state, Seats::chosen(&state.rules));
    begin_turn(state, Seat::Implementer, Stage::Opening, at);
    state.renew_budget();
}

pub(super) fn decided(state: &mut BubbleState, decision: &ApprovalDecision, at: Moment) {
    let request = match &state.phase {
        Phase::ReadyForApproval(request) | Phase::Approved(Approval { request, .. }) => request.clone(),
        _ => return,
    };
    if decision.decision == GateDecision::Approve {
        state.phase = Phase::Approved(Approval { request, commit: None, failed: None, hooks: false });
        return;
    }
    if decision.decision == GateDecision::Reject {
        noted(state, "rework: the whole approach is rejected; start with another one".to_owned());
    }
    for id in &decision.findings {
        if let Some(note) = state.ledger.get(*id).map(|row| format!("rework: {}", row.short())) {
            noted(state, note);
        }
        state.ledger.demand(*id, state.rounds.round);
    }
    if !decision.message.trim().is_empty() {
        noted(state, format!("rework: {}", decision.message));
    }
    state.gate.certificate = None;
    state.gate.understood = None;
    state.rounds.streak.clear();
    // The person's wish goes to the agent that was chosen to implement, however the seats stand after the reviews.
    begin_round(state, Seats::chosen(&state.rules));
    begin_turn(state, Seat::Implementer, Stage::Opening, at);
    state.renew_budget();
}

pub(super) fn controlled(state: &mut BubbleState, control: &Control, at: Moment) {
    match control.action {
        ControlAction::Halt => state.paused = true,
        ControlAction::Resume => {
            state.paused = false;
            state.presence.parked = None;
            if let Some(turn) = state.phase.turn_mut() {
                (turn.heard, turn.uninterrupted) = (at, at);
            }
            notify_holder(state);
        }
        ControlAction::Waive => waived(state, control),
        ControlAction::Withdraw => withdrawn(state, control),
        ControlAction::Nudge
        | ControlAction::Escalate
        | ControlAction::Restart
        | ControlAction::Park
        | ControlAction::Unpark => {}
    }
}

/// A refused command is a sign of life, too; the same one over and over is written once and counts once.
pub(super) fn warned(state: &mut BubbleState, sender: &Party, warning: &Warning, at: Moment) {
    heard(state, sender, at);
    // An agent that was told to wait for a person is told when that is over, also if nobody had to answer.
    let sent_away =
        |turn: &Turn| *sender == Party::Agent(turn.agent.clone()) && !state.is_asked_only_about(&turn.agent);
    let sent_away = matches!(&state.phase, Phase::WaitingHuman(turn) if sent_away(turn));
    state.gate.untold |= sent_away;
    state.warnings.push_back((sender.clone(), warning.clone()));
    let surplus = state.warnings.len().saturating_sub(WARNINGS_KEPT);
    state.warnings.drain(..surplus);
}

/// Keeps what the person said for the next brief; a state stays small however much is asked.
pub(super) fn noted(state: &mut BubbleState, note: String) {
    state.gate.notes.push(note);
    let surplus = state.gate.notes.len().saturating_sub(NOTES_KEPT);
    state.gate.notes.drain(..surplus);
}

/// A waiver of a check holds for this tree and for later ones, until it is taken back.
pub(super) fn waived(state: &mut BubbleState, control: &Control) {
    match &control.waived {
        Some(Waivable::Finding(id)) => state.ledger.waive(*id, state.rounds.round, &control.reason),
        Some(Waivable::Check(name)) => {
            state.evidence.waived_checks.insert(name.clone(), control.reason.clone());
        }
        None => {}
    }
    if let (Some(handover), Some(what)) = (closing(state), &control.waived) {
        handover.waived.push(what.clone());
    }
}

/// A waiver is taken back. What the check said of this tree counts again; if it said nothing, it is owed.
pub(super) fn withdrawn(state: &mut BubbleState, control: &Control) {
    match &control.waived {
        Some(Waivable::Finding(id)) => state.ledger.withdraw(*id, state.rounds.round, &control.reason),
        Some(Waivable::Check(name)) => {
            state.evidence.waived_checks.remove(name);
            if state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Open) {
                // The review goes on once it has run, or the work goes back.
                set_stage(state, Stage::Opening);
            }
        }
        None => {}
    }
    if let (Some(handover), Some(what)) = (closing(state), &control.waived) {
        handover.waived.retain(|one| one != what);
    }
}

/// Returns a question as a person reads it: the commands that answer a request for a permission have its name in them,
/// which it has only once it is recorded.
fn shown(state: &BubbleState, asked: &Question, name: &MsgId) -> String {
    let (id, question) = (&state.id, &asked.question);
    if asked.kind != QuestionKind::Permit {
        return question.clone();
    }
    let reply = format!("pairflow reply {id} --question {name}");
    format!(
        "{question} Allow it this once with '{reply} --decision accept', refuse it with '{reply} --message …', or answer in its pane: pairflow attach {id}"
    )
}
