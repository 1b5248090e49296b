//! The consequences of a fact. The only place that changes a state; it cannot fail, because a recorded fact is true.

use crate::facts::{Outcome, Receipt, Snapshot};
use crate::ids::{AgentId, Party};
use crate::log::{
    ApprovalDecision, Body, Control, ControlAction, Decision, Envelope, Evidence, Lifecycle, Pass, Question,
    QuestionKind, Reply, Verdict, Warning,
};
use crate::rounds::RoundRoles;
use crate::rounds::policy::strict::{self, Route};
use crate::rules::Rules;
use crate::time::Moment;
use crate::unit::{
    Approval, CommitOrder, Committed, Handover, KEYS_KEPT, NOTES_KEPT, OpenQuestion, Phase, SUMMARIES_KEPT,
    SUPERSEDED_KEPT, Said, Seat, Seats, Stage, Turn, Unit, WARNINGS_KEPT,
};

/// Returns the state after `envelope`.
pub fn evolve(mut unit: Unit, envelope: &Envelope) -> Unit {
    advance(&mut unit, envelope);
    unit
}

/// Makes a state the one after `envelope`; for long logs, where moving the state for each line would take its time.
pub fn advance(unit: &mut Unit, envelope: &Envelope) {
    let at = envelope.at;
    let event = &envelope.event;
    if let Some(key) = &event.key {
        unit.keys.push_back((key.clone(), envelope.id.clone()));
        let surplus = unit.keys.len().saturating_sub(KEYS_KEPT);
        unit.keys.drain(..surplus);
    }
    if !matches!(event.body, Body::ProtocolWarning(_)) {
        unit.warnings.clear();
        unit.last_command_at = at.ts;
    }
    match &event.body {
        Body::Lifecycle(fact) => lifecycle(unit, fact, at),
        Body::Pass(pass) => {
            if let Party::Agent(by) = &event.sender {
                passed(unit, by, pass, at);
            }
        }
        Body::HumanQuestion(question) => asked(unit, envelope, question),
        Body::HumanReply(reply) => answered(unit, envelope, reply),
        Body::Evidence(Evidence::Snapshot { snapshot }) => snapshot_taken(unit, snapshot, at),
        Body::Evidence(Evidence::Receipt { receipt }) => checked(unit, receipt),
        Body::Evidence(Evidence::NotAvailable { check, .. }) => unit.not_available.push(check.clone()),
        Body::Convergence(claim) => {
            unit.streak.clone_from(&claim.certificate.reviews);
            unit.certificate = Some(claim.certificate.clone());
            if let Party::Agent(by) = &event.sender {
                unit.review(by, event.round, &[]);
                said(unit, by, Seat::Critic, &claim.summary);
            }
        }
        Body::ApprovalRequest(request) => {
            unit.phase = Phase::ReadyForApproval(request.clone());
            unit.package_at = at.ts;
            unit.paused = false;
        }
        Body::ApprovalDecision(decision) => decided(unit, decision, at),
        Body::DonePackage(_) => {
            if let Phase::Committed(committed) = &unit.phase {
                unit.phase = Phase::Done(committed.clone());
            }
        }
        Body::Control(control) => controlled(unit, control, at),
        Body::ProtocolWarning(warning) => warned(unit, &event.recipient, warning, at),
        Body::Task(task) => {
            unit.task.clone_from(&task.task);
            unit.acceptance_criteria.clone_from(&task.acceptance_criteria);
            unit.rules.scope.clone_from(&task.scope);
        }
        Body::Delivery(_) => {}
    }
}

fn lifecycle(unit: &mut Unit, fact: &Lifecycle, at: Moment) {
    match fact {
        Lifecycle::Created { .. } => created(unit, fact, at),
        Lifecycle::StartRequested { rules } => {
            use_rules(unit, rules);
            unit.start_failed = None;
            unit.phase = Phase::Preparing;
        }
        Lifecycle::WorkspaceReady { workspace } => {
            unit.workspace = Some(workspace.clone());
            unit.paused = false;
            let seats = unit.seats.clone();
            begin_round(unit, seats);
            begin_turn(unit, Seat::Producer, Stage::Opening, at);
        }
        Lifecycle::StartFailed { reason } => {
            unit.start_failed = Some(reason.clone());
            unit.phase = Phase::Created;
        }
        Lifecycle::TurnOpened { turn: number, .. } => opened(unit, *number, at),
        Lifecycle::TokenMinted { agent, token_sha256 } => {
            unit.tokens.insert(agent.clone(), token_sha256.clone());
        }
        Lifecycle::CommitRequested { message, hooks, author, .. } => {
            if let Phase::Approved(approval) = &mut unit.phase {
                approval.commit = Some(CommitOrder { message: message.clone(), hooks: *hooks, author: author.clone() });
                approval.failed = None;
            }
        }
        Lifecycle::Committed { commit, .. } => {
            if let Phase::Approved(Approval { request, .. }) = &unit.phase {
                let (request, tree) = (request.clone(), request.tree.clone());
                unit.phase = Phase::Committed(Committed { commit: commit.clone(), tree, request });
            }
        }
        Lifecycle::CommitFailed { reason } => {
            if let Phase::Approved(approval) = &mut unit.phase {
                approval.commit = None;
                approval.failed = Some(reason.clone());
            }
        }
        Lifecycle::UpdateRequested { resolved } => {
            unit.updating = true;
            unit.resolved.clone_from(resolved);
        }
        Lifecycle::Updated { base, base_tree } => {
            if let Some(workspace) = &mut unit.workspace {
                workspace.base = base.clone();
                workspace.base_tree = base_tree.clone();
            }
            updated(unit, at);
        }
        Lifecycle::UpdateFailed { conflict, .. } => {
            unit.updating = false;
            unit.resolved = None;
            if conflict.is_some() {
                unit.conflict.clone_from(conflict);
            }
        }
        Lifecycle::Merged { commit } => unit.merged = Some(commit.clone()),
        Lifecycle::Failed { reason } => ended(unit, Phase::Failed { reason: reason.clone() }),
        Lifecycle::Cancelled { .. } => ended(unit, Phase::Cancelled),
    }
}

fn created(unit: &mut Unit, fact: &Lifecycle, at: Moment) {
    let Lifecycle::Created { repo, task, acceptance_criteria, rules, confirmed } = fact else { return };
    unit.repo.clone_from(repo);
    unit.task.clone_from(task);
    unit.acceptance_criteria.clone_from(acceptance_criteria);
    unit.confirmed.clone_from(confirmed);
    unit.created_at = at.ts;
    use_rules(unit, rules);
}

fn updated(unit: &mut Unit, at: Moment) {
    unit.updating = false;
    unit.conflict = None;
    unit.resolved = None;
    review_anew(unit, at);
}

/// The bubble ends here: nothing is asked or owed any more.
fn ended(unit: &mut Unit, phase: Phase) {
    unit.phase = phase;
    unit.questions.clear();
    unit.updating = false;
}

fn use_rules(unit: &mut Unit, rules: &Rules) {
    unit.rules = rules.clone();
    unit.seats = Seats { producer: rules.agents.implementer.clone(), critic: rules.agents.reviewer.clone() };
}

/// Counts a new round with these seats.
fn begin_round(unit: &mut Unit, seats: Seats) {
    unit.round += 1;
    let roles = RoundRoles { round: unit.round, implementer: seats.producer.clone(), reviewer: seats.critic.clone() };
    unit.history.push(roles);
    unit.seats = seats;
}

/// Gives the next turn to whoever sits in `seat`, and sets the bubble running.
fn begin_turn(unit: &mut Unit, seat: Seat, stage: Stage, at: Moment) {
    unit.turns += 1;
    let agent = unit.seats.agent(seat).clone();
    let turn = Turn { number: unit.turns, seat, agent, since: at, heard: at, stage };
    let waiting = matches!(unit.phase, Phase::WaitingHuman(_));
    unit.phase = if waiting { Phase::WaitingHuman(turn) } else { Phase::Running(turn) };
}

fn opened(unit: &mut Unit, number: u32, at: Moment) {
    let Some(turn) = unit.phase.turn_mut().filter(|turn| turn.number == number) else { return };
    turn.stage = Stage::Open;
    turn.since = at;
    turn.heard = at;
    let held = unit.phase.turn().map(|turn| turn.agent.clone()).map(|agent| unit.held.entry(agent).or_default());
    if let Some(held) = held.filter(|held| held.last != number) {
        held.count += 1;
        held.last = number;
    }
}

/// An agent handed over. The next turn is the one that follows if the tree is as expected; the snapshot may correct it.
fn passed(unit: &mut Unit, by: &AgentId, pass: &Pass, at: Moment) {
    let Some(turn) = unit.phase.turn() else { return };
    let seat = turn.seat;
    said(unit, by, seat, &pass.summary);
    let seats = unit.seats.clone();
    let handover = Handover { by: by.clone(), seat, round: unit.round, clean: false, accepts: false, seats };
    match seat {
        Seat::Producer => {
            unit.notes.clear();
            begin_turn(unit, Seat::Critic, Stage::Closing(handover), at);
        }
        Seat::Critic => reviewed(unit, handover, pass, at),
    }
}

fn reviewed(unit: &mut Unit, mut handover: Handover, pass: &Pass, at: Moment) {
    unit.review(&handover.by, handover.round, pass.findings.as_deref().unwrap_or_default());
    unit.reviews += 1;
    handover.clean = strict::is_clean(unit);
    let mut streak = unit.streak.clone();
    if handover.clean {
        streak.push(strict::review_by(unit, &handover.by, handover.round));
    }
    match strict::route(unit, &streak, handover.clean) {
        Route::Mend => {
            let seats = unit.seats.clone();
            begin_round(unit, seats);
            begin_turn(unit, Seat::Producer, Stage::Closing(handover), at);
        }
        Route::ReviewAgain(seats) => {
            begin_round(unit, seats);
            begin_turn(unit, Seat::Critic, Stage::Closing(handover), at);
        }
        Route::Accept => {
            handover.accepts = true;
            if let Some(turn) = unit.phase.turn_mut() {
                turn.stage = Stage::Closing(handover);
            }
        }
    }
}

fn snapshot_taken(unit: &mut Unit, snapshot: &Snapshot, at: Moment) {
    let changed = unit.tree() != Some(&snapshot.tree);
    let stage = unit.phase.turn().map(|turn| turn.stage.clone());
    if changed {
        unit.receipts.clear();
        unit.superseded.clear();
        unit.could_not.clear();
        unit.not_available.clear();
        unit.streak.clear();
        if !unit.authors.contains(&snapshot.author) {
            unit.authors.push(snapshot.author.clone());
        }
    }
    unit.snapshot = Some(snapshot.clone());
    unit.snapshots += 1;
    match stage {
        Some(Stage::Closing(handover)) => closed(unit, handover, changed, at),
        Some(Stage::Open) if snapshot.author == Party::Human => set_stage(unit, Stage::Opening),
        _ => {}
    }
}

/// The tree that a hand-over left is recorded.
fn closed(unit: &mut Unit, handover: Handover, changed: bool, at: Moment) {
    match handover.seat {
        Seat::Producer => {
            supersede(unit);
            set_stage(unit, Stage::Opening);
        }
        Seat::Critic if handover.clean && changed => {
            // Spec: a critic that changed files has not reviewed what is there now, so it reviews again.
            if handover.accepts {
                begin_round(unit, handover.seats);
            } else {
                unit.seats = handover.seats;
                correct_roles(unit);
            }
            begin_turn(unit, Seat::Critic, Stage::Opening, at);
        }
        Seat::Critic if handover.clean => {
            let review = strict::review_by(unit, &handover.by, handover.round);
            unit.streak.push(review);
            set_stage(unit, if handover.accepts { Stage::Settled } else { Stage::Opening });
        }
        Seat::Critic => {
            unit.streak.clear();
            set_stage(unit, Stage::Opening);
        }
    }
}

/// Spec: a failed check runs again when the producer passes the same snapshot; both results are shown.
fn supersede(unit: &mut Unit) {
    let (passed, rest): (Vec<_>, Vec<_>) = unit.receipts.drain(..).partition(|receipt| receipt.outcome.passed());
    unit.receipts = passed;
    unit.superseded.extend(rest.into_iter().filter(|receipt| matches!(receipt.outcome, Outcome::Failed { .. })));
    let surplus = unit.superseded.len().saturating_sub(SUPERSEDED_KEPT);
    unit.superseded.drain(..surplus);
}

/// Writes the present seats into the present round's entry of the role history.
fn correct_roles(unit: &mut Unit) {
    if let Some(roles) = unit.history.last_mut() {
        roles.implementer = unit.seats.producer.clone();
        roles.reviewer = unit.seats.critic.clone();
    }
}

fn set_stage(unit: &mut Unit, stage: Stage) {
    if let Some(turn) = unit.phase.turn_mut() {
        turn.stage = stage;
    }
}

fn checked(unit: &mut Unit, receipt: &Receipt) {
    if matches!(receipt.outcome, Outcome::CouldNotCheck { .. }) {
        *unit.could_not.entry(receipt.check.clone()).or_default() += 1;
    }
    unit.receipts.push(receipt.clone());
}

fn asked(unit: &mut Unit, envelope: &Envelope, question: &Question) {
    let sender = envelope.event.sender.clone();
    heard(unit, &sender, envelope.at);
    unit.questions.push(OpenQuestion {
        id: envelope.id.clone(),
        by: sender,
        kind: question.kind,
        question: question.question.clone(),
        at: envelope.at.ts,
    });
    if let Phase::Running(turn) = &unit.phase {
        unit.phase = Phase::WaitingHuman(turn.clone());
    }
}

fn answered(unit: &mut Unit, envelope: &Envelope, reply: &Reply) {
    let asked = envelope.event.in_reply_to.as_ref().and_then(|id| unit.questions.iter().position(|one| one.id == *id));
    let Some(asked) = asked.map(|index| unit.questions.remove(index)) else { return };
    if let Party::Agent(agent) = &asked.by {
        unit.held.entry(agent.clone()).or_default().answered += 1;
    }
    match asked.kind {
        QuestionKind::TieBreak => unit.reviews = 0,
        QuestionKind::CouldNotCheck if reply.decision != Some(Decision::Accept) => unit.could_not.clear(),
        _ => {}
    }
    if !reply.message.trim().is_empty() {
        noted(unit, format!("{} -> {}", asked.question, reply.message));
    }
    if !unit.questions.is_empty() {
        return;
    }
    if let Phase::WaitingHuman(turn) = &unit.phase {
        unit.phase = Phase::Running(Turn { heard: envelope.at, ..turn.clone() });
    }
}

fn decided(unit: &mut Unit, decision: &ApprovalDecision, at: Moment) {
    let request = match &unit.phase {
        Phase::ReadyForApproval(request) | Phase::Approved(Approval { request, .. }) => request.clone(),
        _ => return,
    };
    if decision.decision == Verdict::Approve {
        unit.phase = Phase::Approved(Approval { request, commit: None, failed: None });
        return;
    }
    for id in &decision.findings {
        let row = unit.ledger.open.iter().find(|row| row.id == *id);
        if let Some(note) = row.map(|row| format!("rework: {} {} {}", row.id, row.severity, row.title)) {
            noted(unit, note);
        }
    }
    if !decision.message.trim().is_empty() {
        noted(unit, format!("rework: {}", decision.message));
    }
    unit.certificate = None;
    unit.streak.clear();
    unit.reviews = 0;
    let seats = unit.seats.clone();
    begin_round(unit, seats);
    begin_turn(unit, Seat::Producer, Stage::Opening, at);
}

/// After the base was merged into work that was reviewed, a critic looks at the merged tree.
fn review_anew(unit: &mut Unit, at: Moment) {
    unit.streak.clear();
    let accepted = matches!(unit.phase, Phase::ReadyForApproval(_) | Phase::Approved(_));
    let settled = unit.phase.turn().is_some_and(|turn| turn.stage == Stage::Settled);
    if accepted {
        unit.certificate = None;
        unit.reviews = 0;
    }
    if accepted || settled {
        let seats = unit.seats.clone();
        begin_round(unit, seats);
        begin_turn(unit, Seat::Critic, Stage::Opening, at);
    }
}

fn controlled(unit: &mut Unit, control: &Control, at: Moment) {
    match control.action {
        ControlAction::Halt => unit.paused = true,
        ControlAction::Resume => {
            unit.paused = false;
            if let Some(turn) = unit.phase.turn_mut() {
                turn.heard = at;
            }
        }
        ControlAction::Nudge | ControlAction::Escalate => {}
    }
}

/// A refused command is a sign of life, too; the same one over and over is written once and counts once.
fn warned(unit: &mut Unit, sender: &Party, warning: &Warning, at: Moment) {
    heard(unit, sender, at);
    unit.warnings.push_back((sender.clone(), warning.clone()));
    let surplus = unit.warnings.len().saturating_sub(WARNINGS_KEPT);
    unit.warnings.drain(..surplus);
}

fn heard(unit: &mut Unit, sender: &Party, at: Moment) {
    if let Some(turn) = unit.phase.turn_mut().filter(|turn| *sender == Party::Agent(turn.agent.clone())) {
        turn.heard = at;
    }
}

/// Keeps what the person said for the next brief; a state stays small however much is asked.
fn noted(unit: &mut Unit, note: String) {
    unit.notes.push(note);
    let surplus = unit.notes.len().saturating_sub(NOTES_KEPT);
    unit.notes.drain(..surplus);
}

fn said(unit: &mut Unit, by: &AgentId, seat: Seat, summary: &str) {
    unit.summaries.push_back(Said { round: unit.round, seat, agent: by.clone(), summary: summary.to_owned() });
    let surplus = unit.summaries.len().saturating_sub(SUMMARIES_KEPT);
    unit.summaries.drain(..surplus);
}
