//! The last gate: a person decides on the package, then one commit of exactly that tree is made.

use crate::bubble::decided::{not_updating, own};
use crate::bubble::{Approval, Command, Committed, Decided, Refusal, Unit, key_of, lifecycle};
use crate::ids::{CommitId, Party, TreeId};
use crate::log::{ApprovalDecision, ApprovalRequest, Body, DonePackage, Event, GateDecision, Lifecycle};

/// The person approves what was shown, provided that the worktree still is what was reviewed.
pub(super) fn approve(unit: &Unit, package: &ApprovalRequest, command: &Command) -> Result<Decided, Refusal> {
    let Command::Approve { package_sha256, seen, .. } = command else { return Err(Refusal::NotOwed) };
    not_updating(unit, "approve")?;
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
    Ok(Decided::one(decision_event(unit, decision, command)))
}

/// The person sends the work back.
pub(super) fn rework(unit: &Unit, tree: &TreeId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Rework { message, reject, findings, refs, .. } = command else { return Err(Refusal::NotOwed) };
    if message.trim().is_empty() && findings.is_empty() {
        return Err(Refusal::Empty { what: "the message" });
    }
    if let Some(id) = findings.iter().find(|id| !unit.ledger.open().any(|row| row.id == **id)) {
        return Err(Refusal::UnknownFinding { id: id.to_string() });
    }
    let decision = ApprovalDecision {
        decision: if *reject { GateDecision::Reject } else { GateDecision::Revise },
        tree: tree.clone(),
        message: message.clone(),
        findings: findings.clone(),
    };
    let mut event = decision_event(unit, decision, command);
    event.refs.clone_from(refs);
    Ok(Decided::one(event))
}

/// The person sends approved work back; the approval is withdrawn.
pub(super) fn rework_approved(unit: &Unit, at: &Approval, command: &Command) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    rework(unit, &at.request.tree, command)
}

/// The person ends a bubble whose work is approved.
///
/// A commit that is under way may be made already; it has to be in the log before the bubble ends.
pub(super) fn stop(unit: &Unit, at: &Approval, reason: &str) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    Ok(lifecycle::stop(unit, reason))
}

/// The person asks for the commit.
pub(super) fn commit(unit: &Unit, at: &Approval, command: &Command) -> Result<Decided, Refusal> {
    let Command::Commit { message, override_scope, hooks, author } = command else { return Err(Refusal::NotOwed) };
    not_updating(unit, "commit")?;
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    let out_of_scope =
        unit.evidence.snapshot.as_ref().map(|snapshot| snapshot.out_of_scope.clone()).unwrap_or_default();
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
    Ok(Decided::one(own(unit, order)))
}

/// The commit was made.
pub(super) fn made(
    unit: &Unit,
    at: &Approval,
    commit: &CommitId,
    old_tip: &Option<CommitId>,
) -> Result<Decided, Refusal> {
    if at.commit.is_none() {
        return Err(Refusal::NotOwed);
    }
    let fact = Lifecycle::Committed { commit: commit.clone(), old_tip: old_tip.clone() };
    Ok(Decided::one(own(unit, fact)))
}

/// The commit could not be made; it can be asked for again.
pub(super) fn failed(unit: &Unit, at: &Approval, reason: &str) -> Result<Decided, Refusal> {
    if at.commit.is_none() {
        return Err(Refusal::NotOwed);
    }
    Ok(Decided::one(own(unit, Lifecycle::CommitFailed { reason: reason.to_owned() })))
}

/// The done package is recorded.
pub(super) fn done(unit: &Unit, at: &Committed) -> Decided {
    let summary = at.request.commit_message.lines().next().unwrap_or_default().to_owned();
    let body = DonePackage {
        commit: at.commit.clone(),
        tree: at.tree.clone(),
        package: at.request.package.clone(),
        package_sha256: at.request.package_sha256.clone(),
        summary,
    };
    let mut event = Event::own(unit.rounds.round, Body::DonePackage(body));
    event.refs.push(format!("artifact://{}", at.request.package));
    Decided::one(event)
}

/// The bubble's commit reached the base branch.
pub(super) fn merged(unit: &Unit, commit: &CommitId) -> Decided {
    if unit.gate.merged.as_ref() == Some(commit) {
        return Decided::default();
    }
    Decided::one(own(unit, Lifecycle::Merged { commit: commit.clone() }))
}

fn decision_event(unit: &Unit, decision: ApprovalDecision, command: &Command) -> Event {
    let mut event = Event::own(unit.rounds.round, Body::ApprovalDecision(decision));
    event.sender = Party::Human;
    event.recipient = Party::Orchestrator;
    event.key = key_of(unit, command);
    event
}
