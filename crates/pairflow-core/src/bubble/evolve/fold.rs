//! One fact after the other: which consequence each has.

use crate::bubble::evolve::adopted::adopted;
use crate::bubble::evolve::configured::configured;
use crate::bubble::evolve::notices::{delivered, has_read, intervened, notify_holder, session_known};
use crate::bubble::evolve::people::{answered, asked, controlled, decided, warned};
use crate::bubble::evolve::turns::{
    begin_round, begin_turn, checked, judged, keep_reviews, opened, passed, reproduced, said, set_stage, snapshot_taken,
};
use crate::bubble::{BubbleState, CommitOrder, Committed, KEYS_KEPT, Phase, Stage};
use crate::facts::{Seat, Seats};
use crate::ids::Party;
use crate::log::{Body, Control, ControlAction, Convergence, Envelope, Event, Evidence, Lifecycle};
use crate::rules::Rules;
use crate::time::Moment;

/// Returns the state after `envelope`.
pub fn evolve(mut state: BubbleState, envelope: &Envelope) -> BubbleState {
    advance(&mut state, envelope);
    state
}

/// Makes a state the one after `envelope`; for long logs, where moving the state for each line would take its time.
pub fn advance(state: &mut BubbleState, envelope: &Envelope) {
    let at = envelope.at;
    let event = &envelope.event;
    if let Some(key) = &event.key {
        state.keys.push_back((key.clone(), envelope.id.clone()));
        let surplus = state.keys.len().saturating_sub(KEYS_KEPT);
        state.keys.drain(..surplus);
    }
    if !matches!(event.body, Body::ProtocolWarning(_)) {
        state.warnings.clear();
        state.last_command_at = at.ts;
    }
    if let (Party::Agent(agent), false) = (&event.sender, matches!(event.body, Body::ProtocolWarning(_))) {
        has_read(state, agent);
    }
    // What is found changed after a person has done something is theirs.
    let interrupts = |control: &Control| matches!(control.action, ControlAction::Halt | ControlAction::Resume);
    let person = event.sender == Party::Human || matches!(&event.body, Body::Control(one) if interrupts(one));
    if let Some(turn) = state.phase.turn_mut().filter(|_| person) {
        turn.follows_handover = false;
    }
    match &event.body {
        Body::Lifecycle(fact) => lifecycle(state, fact, at),
        Body::Pass(pass) => {
            if let Party::Agent(by) = &event.sender {
                passed(state, by, pass, at);
            }
        }
        Body::HumanQuestion(question) => asked(state, envelope, question),
        Body::HumanReply(reply) => answered(state, envelope, reply),
        Body::Evidence(Evidence::Snapshot { snapshot }) => snapshot_taken(state, snapshot),
        Body::Evidence(Evidence::Receipt { receipt }) => checked(state, receipt),
        Body::Evidence(Evidence::Reproduced { finding, receipt }) => reproduced(state, *finding, receipt),
        Body::Evidence(Evidence::NotAvailable { check, .. }) => state.evidence.not_available.push(check.clone()),
        Body::Convergence(claim) => converged(state, event, claim),
        Body::ApprovalRequest(request) => {
            state.phase = Phase::ReadyForApproval(request.clone());
            state.gate.package_at = at.ts;
            state.paused = false;
        }
        Body::ApprovalDecision(decision) => decided(state, decision, at),
        Body::DonePackage(_) => {
            if let Phase::Committed(committed) = &state.phase {
                state.phase = Phase::Done(committed.clone());
            }
        }
        Body::Verdict(verdict) => judged(state, verdict, at),
        Body::Control(control) => {
            controlled(state, control, at);
            intervened(state, control, &event.recipient, at);
        }
        Body::ProtocolWarning(warning) => warned(state, &event.recipient, warning, at),
        Body::Task(task) => {
            state.about.task.clone_from(&task.task);
            state.about.acceptance_criteria.clone_from(&task.acceptance_criteria);
            state.rules.scope.clone_from(&task.scope);
        }
        Body::Delivery(delivery) => delivered(state, &event.recipient, delivery, at),
    }
}

/// The work was accepted; a claim of an agent's is its clean review, too.
fn converged(state: &mut BubbleState, event: &Event, claim: &Convergence) {
    state.rounds.streak.clone_from(&claim.certificate.reviews);
    state.gate.certificate = Some(claim.certificate.clone());
    set_stage(state, Stage::Certified);
    if let Party::Agent(by) = &event.sender {
        drop(state.review(by, event.round, None));
        state.rounds.spent.looks += 1;
        said(state, by, Seat::Reviewer, &claim.summary);
    }
    if let Some(explanation) = &claim.explanation {
        state.gate.explanation.take_over(explanation);
    }
}

fn lifecycle(state: &mut BubbleState, fact: &Lifecycle, at: Moment) {
    match fact {
        Lifecycle::Created { .. } => created(state, fact, at),
        Lifecycle::Adopted { repo, .. } => {
            state.about.repo.clone_from(repo);
            adopted(state, at);
        }
        Lifecycle::IdentitySet { identity } => state.about.identity = Some(identity.clone()),
        Lifecycle::StartRequested { rules } => {
            use_rules(state, rules);
            state.gate.start_failed = None;
            state.phase = Phase::Preparing;
        }
        Lifecycle::WorkspaceReady { workspace } => {
            state.evidence.workspace = Some(workspace.clone());
            state.paused = false;
            let seats = state.rounds.seats.clone();
            begin_round(state, seats);
            begin_turn(state, Seat::Implementer, Stage::Opening, at);
        }
        Lifecycle::StartFailed { reason } => {
            state.gate.start_failed = Some(reason.clone());
            state.phase = Phase::Created;
        }
        Lifecycle::TurnOpened { turn: number, slices, .. } => {
            opened(state, *number, *slices, at);
            notify_holder(state);
        }
        Lifecycle::AgentSession { .. } => session_known(state, fact),
        Lifecycle::AtWorkOutOfTurn { turn: number, .. } => {
            if let Some(turn) = state.phase.turn_mut().filter(|turn| turn.number == *number) {
                turn.others_at_work = true;
            }
        }
        Lifecycle::TokenMinted { agent, token_sha256: hash } => {
            drop(state.presence.tokens.insert(agent.clone(), hash.clone()))
        }
        Lifecycle::CommitRequested { .. } | Lifecycle::Committed { .. } | Lifecycle::CommitFailed { .. } => {
            committing(state, fact);
        }
        Lifecycle::UpdateRequested { resolved } => {
            state.gate.updating = true;
            state.gate.resolved.clone_from(resolved);
        }
        Lifecycle::Updated { base, base_tree, same_patch } => {
            if let Some(workspace) = &mut state.evidence.workspace {
                workspace.base = base.clone();
                workspace.base_tree = base_tree.clone();
            }
            updated(state, *same_patch);
        }
        Lifecycle::UpdateFailed { conflict, .. } => {
            state.gate.updating = false;
            state.gate.resolved = None;
            state.gate.conflict = conflict.clone().or(state.gate.conflict.take());
        }
        Lifecycle::Configured { rules, recheck, .. } => configured(state, rules, *recheck),
        Lifecycle::Merged { commit } => state.gate.merged = Some(commit.clone()),
        Lifecycle::Failed { reason } => ended(state, Phase::Failed { reason: reason.clone() }),
        Lifecycle::Cancelled { .. } => ended(state, Phase::Cancelled),
    }
}

/// The commit of approved work was asked for, made, or failed.
fn committing(state: &mut BubbleState, fact: &Lifecycle) {
    let Phase::Approved(approval) = &mut state.phase else { return };
    match fact {
        Lifecycle::CommitRequested { message, hooks, author, .. } => {
            approval.commit = Some(CommitOrder { message: message.clone(), hooks: *hooks, author: author.clone() });
            approval.failed = None;
            approval.hooks = *hooks;
        }
        Lifecycle::Committed { commit, .. } => {
            let (request, tree) = (approval.request.clone(), approval.request.tree.clone());
            state.phase = Phase::Committed(Committed { commit: commit.clone(), tree, request });
        }
        Lifecycle::CommitFailed { reason } => {
            approval.commit = None;
            approval.failed = Some(reason.clone());
        }
        _ => {}
    }
}

fn created(state: &mut BubbleState, fact: &Lifecycle, at: Moment) {
    let Lifecycle::Created { repo, task, acceptance_criteria, rules, confirmed, identity } = fact else { return };
    state.about.repo.clone_from(repo);
    state.about.task.clone_from(task);
    state.about.acceptance_criteria.clone_from(acceptance_criteria);
    state.about.confirmed.clone_from(confirmed);
    state.about.identity.clone_from(identity);
    state.about.created_at = at.ts;
    use_rules(state, rules);
}

fn updated(state: &mut BubbleState, same_patch: bool) {
    state.gate.updating = false;
    state.gate.conflict = None;
    state.gate.resolved = None;
    state.evidence.baseline.clear();
    state.evidence.known_failures.clear();
    if same_patch {
        keep_reviews(state);
    } else {
        state.rounds.streak.clear();
    }
}

/// The bubble ends here: nothing is asked or owed any more.
fn ended(state: &mut BubbleState, phase: Phase) {
    state.phase = phase;
    state.gate.questions.clear();
    state.presence.parked = None;
    (state.gate.updating, state.paused) = (false, false);
}

fn use_rules(state: &mut BubbleState, rules: &Rules) {
    state.rules = rules.clone();
    state.rounds.seats = Seats::chosen(rules);
}
