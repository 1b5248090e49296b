//! The last gate: a person decides on the package, then one commit of exactly that tree is made.

use crate::bubble::decided::{not_updating, own};
use crate::bubble::{Approval, BubbleState, Command, Committed, Decided, Refusal, key_of, lifecycle};
use crate::ids::{CommitId, Party, TreeId};
use crate::log::{ApprovalDecision, ApprovalRequest, Body, DonePackage, Event, GateDecision, Lifecycle};

/// The person approves what was shown, provided that the worktree still is what was reviewed.
pub(super) fn approve(state: &BubbleState, package: &ApprovalRequest, command: &Command) -> Result<Decided, Refusal> {
    let Command::Approve { package_sha256, seen, .. } = command else { return Err(Refusal::NotOwed) };
    not_updating(state, "approve")?;
    if *package_sha256 != package.package_sha256 {
        return Err(Refusal::AnotherPackage.lost_race());
    }
    if seen.tree != package.tree {
        return Err(Refusal::WorktreeDiffers { files: seen.differing.clone() });
    }
    let decision = ApprovalDecision {
        decision: GateDecision::Approve,
        tree: package.tree.clone(),
        message: String::new(),
        findings: Vec::new(),
    };
    Ok(Decided::one(decision_event(state, decision, command)))
}

/// The person sends the work back.
pub(super) fn rework(state: &BubbleState, tree: &TreeId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Rework { message, reject, findings, refs, .. } = command else { return Err(Refusal::NotOwed) };
    if message.trim().is_empty() && findings.is_empty() {
        return Err(Refusal::Empty { what: "the message" });
    }
    if let Some(id) = findings.iter().find(|id| !state.ledger.open().any(|row| row.id == **id)) {
        return Err(Refusal::UnknownFinding { id: id.to_string() });
    }
    let decision = ApprovalDecision {
        decision: if *reject { GateDecision::Reject } else { GateDecision::Revise },
        tree: tree.clone(),
        message: message.clone(),
        findings: findings.clone(),
    };
    let mut event = decision_event(state, decision, command);
    event.refs.clone_from(refs);
    Ok(Decided::one(event))
}

/// The person sends approved work back; the approval is withdrawn.
pub(super) fn rework_approved(state: &BubbleState, at: &Approval, command: &Command) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    rework(state, &at.request.tree, command)
}

/// The person ends a bubble whose work is approved.
///
/// A commit that is under way may be made already; it has to be in the log before the bubble ends.
pub(super) fn stop(state: &BubbleState, at: &Approval, reason: &str) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    Ok(lifecycle::stop(state, reason))
}

/// The person asks for the commit.
pub(super) fn commit(state: &BubbleState, at: &Approval, command: &Command) -> Result<Decided, Refusal> {
    let Command::Commit { message, override_scope, hooks, author } = command else { return Err(Refusal::NotOwed) };
    not_updating(state, "commit")?;
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    let out_of_scope =
        state.evidence.snapshot.as_ref().map(|snapshot| snapshot.out_of_scope.clone()).unwrap_or_default();
    match override_scope {
        Some(reason) if reason.trim().is_empty() => return Err(Refusal::Empty { what: "the reason of the override" }),
        None if !out_of_scope.is_empty() => return Err(Refusal::OutOfScope { files: out_of_scope }),
        _ => {}
    }
    let message = message.clone().unwrap_or_else(|| at.request.commit_message.clone());
    if message.trim().is_empty() {
        return Err(Refusal::Empty { what: "the commit message" });
    }
    let (override_scope, author) = (override_scope.clone(), author.clone());
    let order = Lifecycle::CommitRequested { message, override_scope, hooks: *hooks, author };
    Ok(Decided::one(own(state, order)))
}

/// The commit was made.
pub(super) fn made(
    state: &BubbleState,
    at: &Approval,
    commit: &CommitId,
    old_tip: &Option<CommitId>,
) -> Result<Decided, Refusal> {
    if at.commit.is_none() {
        return Err(Refusal::NotOwed);
    }
    let fact = Lifecycle::Committed { commit: commit.clone(), old_tip: old_tip.clone() };
    Ok(Decided::one(own(state, fact)))
}

/// The commit could not be made; it can be asked for again.
pub(super) fn failed(state: &BubbleState, at: &Approval, reason: &str) -> Result<Decided, Refusal> {
    if at.commit.is_none() {
        return Err(Refusal::NotOwed);
    }
    Ok(Decided::one(own(state, Lifecycle::CommitFailed { reason: reason.to_owned() })))
}

/// The done package is recorded.
pub(super) fn done(state: &BubbleState, at: &Committed) -> Decided {
    let summary = at.request.commit_message.lines().next().unwrap_or_default().to_owned();
    let body = DonePackage {
        commit: at.commit.clone(),
        tree: at.tree.clone(),
        package: at.request.package.clone(),
        package_sha256: at.request.package_sha256.clone(),
        summary,
    };
    let mut event = Event::own(state.rounds.round, Body::DonePackage(body));
    event.refs.push(format!("artifact://{}", at.request.package));
    Decided::one(event)
}

/// The bubble's commit reached the base branch.
pub(super) fn merged(state: &BubbleState, commit: &CommitId) -> Decided {
    if state.gate.merged.as_ref() == Some(commit) {
        return Decided::default();
    }
    Decided::one(own(state, Lifecycle::Merged { commit: commit.clone() }))
}

fn decision_event(state: &BubbleState, decision: ApprovalDecision, command: &Command) -> Event {
    let mut event = Event::own(state.rounds.round, Body::ApprovalDecision(decision));
    event.sender = Party::Human;
    event.recipient = Party::Orchestrator;
    event.key = key_of(state, command);
    event
}
