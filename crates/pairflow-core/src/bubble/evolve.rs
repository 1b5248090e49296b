//! Applies facts. This is the only place that changes a state; it cannot fail, because a recorded fact is true.

mod people;
mod turns;

use people::{answered, asked, controlled, decided, warned};
use turns::{
    begin_round, begin_turn, checked, closing, count_look, delivered, grant_round, has_read, intervened, judged,
    keep_reviews, notify_holder, opened, passed, reproduced, said, session_known, set_stage, snapshot_taken,
};

use crate::bubble::{BubbleState, CommitOrder, Committed, EscapedDefect, KEYS_KEPT, Phase, Stage, StateFields, Turn};
use std::path::Path;

use crate::facts::{Seat, Seats};
use crate::ids::{BubbleId, Party};
use crate::log::envelope::{Machine, Places};
use crate::log::{Body, Control, ControlAction, Convergence, Envelope, Event, Evidence, Lifecycle, MAX_ESCAPED};
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
        Body::Evidence(Evidence::FixTested { finding, before, after }) => {
            state.ledger.fix_tested(*finding, before, after.as_ref())
        }
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
        count_look(state);
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
            match state.first_seat() {
                Seat::Reviewer => write_tests(state, at),
                seat => begin_turn(state, seat, Stage::Opening, at),
            }
        }
        Lifecycle::AcceptanceReturned { .. } => write_tests(state, at),
        Lifecycle::PolicyMoved { version } => state.rules.policy_version = *version,
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
        Lifecycle::Escaped { severity, text } => {
            escaped(state, EscapedDefect { severity: *severity, text: text.clone(), at: at.ts });
        }
        Lifecycle::Failed { reason } => ended(state, Phase::Failed { reason: reason.clone() }),
        Lifecycle::Cancelled { .. } => ended(state, Phase::Cancelled),
    }
}

/// The reviewer's agent writes acceptance tests, from the task alone.
fn write_tests(state: &mut BubbleState, at: Moment) {
    state.rounds.acceptance_turns += 1;
    begin_turn(state, Seat::Reviewer, Stage::Opening, at);
    state.phase.turn_mut().into_iter().for_each(|turn| turn.acceptance = true);
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

/// Keeps a defect that was found later.
fn escaped(state: &mut BubbleState, found: EscapedDefect) {
    state.gate.escaped.push(found);
    let surplus = state.gate.escaped.len().saturating_sub(MAX_ESCAPED);
    state.gate.escaped.drain(..surplus);
}

fn use_rules(state: &mut BubbleState, rules: &Rules) {
    state.rules = rules.clone();
    state.rounds.seats = Seats::chosen(rules);
}

impl Machine for BubbleState {
    type Body = Body;
    type Shown = StateFields;

    const DIR: &'static str = "bubbles";
    const LOCK: &'static str = "lock";
    const CACHE_FORMAT: u32 = 10;

    fn new(id: BubbleId) -> Self {
        Self::new(id)
    }

    fn id(&self) -> &BubbleId {
        &self.id
    }

    fn advance(&mut self, envelope: &Envelope) {
        super::advance(self, envelope);
    }

    fn shown(&self) -> StateFields {
        StateFields::of(self)
    }

    fn place(&mut self, at: &Places<'_>) {
        let text = |path: &Path| path.display().to_string();
        if !self.about.repo.is_empty() {
            self.about.repo = text(at.repo);
        }
        let Some(record) = &mut self.evidence.workspace else { return };
        let clone = record.git_dir == record.common_dir;
        let common_dir = if clone { at.worktree.join(".git") } else { (at.common_dir)() };
        // The name that git has given to the worktree; the bubble's own if none is recorded.
        let name = Path::new(&record.git_dir).file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or(self.id.as_str());
        let git_dir = if clone { common_dir.clone() } else { common_dir.join("worktrees").join(name) };
        (record.path, record.common_dir, record.git_dir) = (text(at.worktree), text(&common_dir), text(&git_dir));
    }
}

/// Other rules are in force. What a check said under another command does not count any more.
pub(super) fn configured(state: &mut BubbleState, rules: &Rules, recheck: bool) {
    let before = std::mem::replace(&mut state.rules, rules.clone());
    if let Some(snapshot) = state.evidence.snapshot.as_mut().filter(|snapshot| snapshot.whole.is_none()) {
        let paths = snapshot.changed.iter().map(|file| &file.path);
        snapshot.out_of_scope = paths.filter(|path| !rules.scope.admits(path)).cloned().collect();
    }
    let other = before.changed_checks(rules);
    state.evidence.receipts.retain(|receipt| !other.contains(&receipt.check));
    state.evidence.superseded.retain(|receipt| !other.contains(&receipt.check));
    state.evidence.could_not.retain(|check, _| !other.contains(check));
    state.evidence.not_available.retain(|check| !other.contains(check));
    state.evidence.waived_checks.retain(|check, _| !other.contains(check));
    state.evidence.known_failures.retain(|check| !other.contains(check));
    // What failed without the right setup command says nothing.
    let set_up_anew = before.setup != rules.setup;
    state
        .evidence
        .baseline
        .retain(|receipt| !other.contains(&receipt.check) && (!set_up_anew || receipt.outcome.passed()));
    if set_up_anew {
        state.evidence.receipts.retain(|receipt| receipt.outcome.passed());
    }
    if let Some(handover) = closing(state).filter(|_| !other.is_empty()) {
        handover.checks_changed = true;
    }
    let reviewing = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Open);
    if recheck && reviewing {
        // The review goes on after they have run.
        set_stage(state, Stage::Opening);
    }
}

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
