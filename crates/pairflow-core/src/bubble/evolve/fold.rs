//! One fact after the other: which consequence each has.

use crate::bubble::evolve::adopted::adopted;
use crate::bubble::evolve::configured::configured;
use crate::bubble::evolve::notices::{delivered, has_read, intervened, notify_holder, session_known};
use crate::bubble::evolve::people::{answered, asked, controlled, decided, warned};
use crate::bubble::evolve::turns::{
    begin_round, begin_turn, checked, judged, keep_reviews, opened, passed, reproduced, said, set_stage, snapshot_taken,
};
use crate::bubble::{CommitOrder, Committed, KEYS_KEPT, Phase, Stage, Unit};
use crate::facts::{Seat, Seats};
use crate::ids::Party;
use crate::log::{Body, Control, ControlAction, Convergence, Envelope, Event, Evidence, Lifecycle};
use crate::rules::Rules;
use crate::time::Moment;

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
    if let (Party::Agent(agent), false) = (&event.sender, matches!(event.body, Body::ProtocolWarning(_))) {
        has_read(unit, agent);
    }
    // What is found changed after a person has done something is theirs.
    let interrupts = |control: &Control| matches!(control.action, ControlAction::Halt | ControlAction::Resume);
    let person = event.sender == Party::Human || matches!(&event.body, Body::Control(one) if interrupts(one));
    if let Some(turn) = unit.phase.turn_mut().filter(|_| person) {
        turn.follows_handover = false;
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
        Body::Evidence(Evidence::Snapshot { snapshot }) => snapshot_taken(unit, snapshot),
        Body::Evidence(Evidence::Receipt { receipt }) => checked(unit, receipt),
        Body::Evidence(Evidence::Reproduced { finding, receipt }) => reproduced(unit, *finding, receipt),
        Body::Evidence(Evidence::NotAvailable { check, .. }) => unit.evidence.not_available.push(check.clone()),
        Body::Convergence(claim) => converged(unit, event, claim),
        Body::ApprovalRequest(request) => {
            unit.phase = Phase::ReadyForApproval(request.clone());
            unit.gate.package_at = at.ts;
            unit.paused = false;
        }
        Body::ApprovalDecision(decision) => decided(unit, decision, at),
        Body::DonePackage(_) => {
            if let Phase::Committed(committed) = &unit.phase {
                unit.phase = Phase::Done(committed.clone());
            }
        }
        Body::Verdict(verdict) => judged(unit, verdict, at),
        Body::Control(control) => {
            controlled(unit, control, at);
            intervened(unit, control, &event.recipient, at);
        }
        Body::ProtocolWarning(warning) => warned(unit, &event.recipient, warning, at),
        Body::Task(task) => {
            unit.about.task.clone_from(&task.task);
            unit.about.acceptance_criteria.clone_from(&task.acceptance_criteria);
            unit.rules.scope.clone_from(&task.scope);
        }
        Body::Delivery(delivery) => delivered(unit, &event.recipient, delivery, at),
    }
}

/// The work was accepted; a claim of an agent's is its clean review, too.
fn converged(unit: &mut Unit, event: &Event, claim: &Convergence) {
    unit.rounds.streak.clone_from(&claim.certificate.reviews);
    unit.gate.certificate = Some(claim.certificate.clone());
    set_stage(unit, Stage::Certified);
    if let Party::Agent(by) = &event.sender {
        unit.review(by, event.round, None);
        unit.rounds.spent.looks += 1;
        said(unit, by, Seat::Critic, &claim.summary);
    }
    if let Some(explanation) = &claim.explanation {
        unit.gate.explanation.take_over(explanation);
    }
}

fn lifecycle(unit: &mut Unit, fact: &Lifecycle, at: Moment) {
    match fact {
        Lifecycle::Created { .. } => created(unit, fact, at),
        Lifecycle::Adopted { repo, .. } => {
            unit.about.repo.clone_from(repo);
            adopted(unit, at);
        }
        Lifecycle::IdentitySet { identity } => unit.about.identity = Some(identity.clone()),
        Lifecycle::StartRequested { rules } => {
            use_rules(unit, rules);
            unit.gate.start_failed = None;
            unit.phase = Phase::Preparing;
        }
        Lifecycle::WorkspaceReady { workspace } => {
            unit.evidence.workspace = Some(workspace.clone());
            unit.paused = false;
            let seats = unit.rounds.seats.clone();
            begin_round(unit, seats);
            begin_turn(unit, Seat::Producer, Stage::Opening, at);
        }
        Lifecycle::StartFailed { reason } => {
            unit.gate.start_failed = Some(reason.clone());
            unit.phase = Phase::Created;
        }
        Lifecycle::TurnOpened { turn: number, slices, .. } => {
            opened(unit, *number, *slices, at);
            notify_holder(unit);
        }
        Lifecycle::AgentSession { .. } => session_known(unit, fact),
        Lifecycle::AtWorkOutOfTurn { turn: number, .. } => {
            if let Some(turn) = unit.phase.turn_mut().filter(|turn| turn.number == *number) {
                turn.others_at_work = true;
            }
        }
        Lifecycle::TokenMinted { agent, token_sha256: hash } => {
            drop(unit.presence.tokens.insert(agent.clone(), hash.clone()))
        }
        Lifecycle::CommitRequested { .. } | Lifecycle::Committed { .. } | Lifecycle::CommitFailed { .. } => {
            committing(unit, fact);
        }
        Lifecycle::UpdateRequested { resolved } => {
            unit.gate.updating = true;
            unit.gate.resolved.clone_from(resolved);
        }
        Lifecycle::Updated { base, base_tree, same_patch } => {
            if let Some(workspace) = &mut unit.evidence.workspace {
                workspace.base = base.clone();
                workspace.base_tree = base_tree.clone();
            }
            updated(unit, *same_patch);
        }
        Lifecycle::UpdateFailed { conflict, .. } => {
            unit.gate.updating = false;
            unit.gate.resolved = None;
            unit.gate.conflict = conflict.clone().or(unit.gate.conflict.take());
        }
        Lifecycle::Configured { rules, recheck, .. } => configured(unit, rules, *recheck),
        Lifecycle::Merged { commit } => unit.gate.merged = Some(commit.clone()),
        Lifecycle::Failed { reason } => ended(unit, Phase::Failed { reason: reason.clone() }),
        Lifecycle::Cancelled { .. } => ended(unit, Phase::Cancelled),
    }
}

/// The commit of approved work was asked for, made, or failed.
fn committing(unit: &mut Unit, fact: &Lifecycle) {
    let Phase::Approved(approval) = &mut unit.phase else { return };
    match fact {
        Lifecycle::CommitRequested { message, hooks, author, .. } => {
            approval.commit = Some(CommitOrder { message: message.clone(), hooks: *hooks, author: author.clone() });
            approval.failed = None;
            approval.hooks = *hooks;
        }
        Lifecycle::Committed { commit, .. } => {
            let (request, tree) = (approval.request.clone(), approval.request.tree.clone());
            unit.phase = Phase::Committed(Committed { commit: commit.clone(), tree, request });
        }
        Lifecycle::CommitFailed { reason } => {
            approval.commit = None;
            approval.failed = Some(reason.clone());
        }
        _ => {}
    }
}

fn created(unit: &mut Unit, fact: &Lifecycle, at: Moment) {
    let Lifecycle::Created { repo, task, acceptance_criteria, rules, confirmed, identity } = fact else { return };
    unit.about.repo.clone_from(repo);
    unit.about.task.clone_from(task);
    unit.about.acceptance_criteria.clone_from(acceptance_criteria);
    unit.about.confirmed.clone_from(confirmed);
    unit.about.identity.clone_from(identity);
    unit.about.created_at = at.ts;
    use_rules(unit, rules);
}

fn updated(unit: &mut Unit, same_patch: bool) {
    unit.gate.updating = false;
    unit.gate.conflict = None;
    unit.gate.resolved = None;
    unit.evidence.baseline.clear();
    unit.evidence.known_failures.clear();
    if same_patch {
        keep_reviews(unit);
    } else {
        unit.rounds.streak.clear();
    }
}

/// The bubble ends here: nothing is asked or owed any more.
fn ended(unit: &mut Unit, phase: Phase) {
    unit.phase = phase;
    unit.gate.questions.clear();
    unit.presence.parked = None;
    (unit.gate.updating, unit.paused) = (false, false);
}

fn use_rules(unit: &mut Unit, rules: &Rules) {
    unit.rules = rules.clone();
    unit.rounds.seats = Seats::chosen(rules);
}
