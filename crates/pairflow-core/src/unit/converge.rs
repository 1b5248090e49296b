//! The claim that nothing grave is left, and what code says to it.

use std::fmt;

use crate::hash::sha256;
use crate::ids::{AgentId, Party};
use crate::log::{ApprovalRequest, Body, Convergence, Envelope, Event};
use crate::rounds::policy::strict;
use crate::rounds::{Certificate, CleanReview};
use crate::time::Moment;
use crate::unit::refusal::list;
use crate::unit::{
    Artifact, CheckState, Command, Decided, Phase, Refusal, Said, Seat, Stage, Turn, Unit, evolve, key_of, turn,
};
use crate::view::package;

/// A criterion of convergence that does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// No tree has been handed over yet.
    NothingHandedOver,
    /// Findings of P0 or P1 are open.
    Blocking(Vec<String>),
    /// A required check failed on this tree.
    CheckFailed(String),
    /// A required check has not been run on this tree.
    CheckMissing(String),
    /// Clean reviews of this tree are missing.
    Reviews {
        /// Who reviewed it clean so far.
        by: Vec<AgentId>,
    },
    /// The reviewer role has not alternated yet.
    NoAlternation,
    /// Questions wait for an answer.
    Questions(usize),
    /// The reviewer changed files.
    TreeChanged(Vec<String>),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingHandedOver => f.write_str("no work has been handed over yet"),
            Self::Blocking(findings) => write!(f, "open P0/P1 findings: {}", findings.join(", ")),
            Self::CheckFailed(check) => write!(f, "the check '{check}' fails on this tree"),
            Self::CheckMissing(check) => write!(f, "the check '{check}' has not passed on this tree"),
            Self::Reviews { by } if by.is_empty() => f.write_str("two clean reviews of this tree by different agents"),
            Self::Reviews { by } => {
                let names = by.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
                write!(f, "a second clean review of this tree by another agent (clean so far: {names})")
            }
            Self::NoAlternation => f.write_str("the reviewer role has not alternated yet (round_role_history)"),
            Self::Questions(1) => f.write_str("one question is not answered"),
            Self::Questions(n) => write!(f, "{n} questions are not answered"),
            Self::TreeChanged(files) => {
                write!(f, "files changed during the review: {}", list(files))
            }
        }
    }
}

/// Returns every criterion that does not hold yet, given these clean reviews of the newest snapshot.
pub fn unmet(unit: &Unit, streak: &[CleanReview]) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    if unit.snapshot.is_none() {
        unmet.push(Unmet::NothingHandedOver);
    }
    let blocking: Vec<_> =
        unit.ledger.blocking().map(|row| format!("{} {} {}", row.id, row.severity, row.title)).collect();
    if !blocking.is_empty() {
        unmet.push(Unmet::Blocking(blocking));
    }
    for check in unit.checks_not_passed() {
        unmet.push(match unit.check(check) {
            CheckState::Failed(_) => Unmet::CheckFailed(check.to_owned()),
            _ => Unmet::CheckMissing(check.to_owned()),
        });
    }
    if !strict::suffices(&unit.rules, streak) {
        unmet.push(Unmet::Reviews { by: streak.iter().map(|review| review.agent.clone()).collect() });
    }
    if !alternated(unit) {
        unmet.push(Unmet::NoAlternation);
    }
    if !unit.questions.is_empty() {
        unmet.push(Unmet::Questions(unit.questions.len()));
    }
    unmet
}

/// Whether the role history shows two different reviewers.
fn alternated(unit: &Unit) -> bool {
    let mut reviewers = unit.history.iter().map(|roles| &roles.reviewer);
    let first = reviewers.next();
    let different = reviewers.any(|reviewer| Some(reviewer) != first);
    different || (unit.rules.agents.same_model() && unit.history.len() >= 2)
}

/// An agent claims convergence in a running bubble.
pub(super) fn claim(unit: &Unit, at: &Turn, by: &AgentId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Converged { summary, refs, seen, .. } = command else { return Err(Refusal::NotOwed) };
    if at.agent == *by && at.seat == Seat::Producer {
        return Err(Refusal::NotReviewer { by: by.clone(), seat: at.seat, round: unit.round });
    }
    turn::may_act(unit, at, by, "converged")?;
    if summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    let cleared = claimed(unit, by, summary);
    let mut unmet = unmet(&cleared, &cleared.streak);
    if !seen.differing.is_empty() || unit.tree() != Some(&seen.tree) {
        unmet.push(Unmet::TreeChanged(seen.differing.clone()));
    }
    if !unmet.is_empty() {
        return Err(Refusal::NotConverged { unmet });
    }
    let sender = Party::Agent(by.clone());
    let mut decided = accept(&cleared, summary, sender, Vec::new()).ok_or(Refusal::NotOwed)?;
    if let Some(first) = decided.events.first_mut() {
        first.refs.clone_from(refs);
        first.key = key_of(unit, command);
    }
    Ok(decided)
}

/// Returns the state in which a claim of convergence by `by` is judged: as if its clean review were recorded.
pub fn claimed(unit: &Unit, by: &AgentId, summary: &str) -> Unit {
    let mut cleared = unit.clone();
    cleared.review(by, unit.round, &[]);
    cleared.streak.push(strict::review_by(unit, by, unit.round));
    let said = Said { round: unit.round, seat: Seat::Critic, agent: by.clone(), summary: summary.to_owned() };
    cleared.summaries.push_back(said);
    cleared
}

/// Returns what a person would waive by accepting the work as it is: open findings and a missing second review.
pub fn waivers(unit: &Unit) -> Vec<String> {
    let row = |row: &crate::rounds::Row| format!("{} {} {}", row.id, row.severity, row.title);
    let mut waived: Vec<_> = unit.ledger.open.iter().map(row).collect();
    if !strict::suffices(&unit.rules, &unit.streak) {
        waived.push("a second clean review".to_owned());
    }
    waived
}

/// Appends acceptance to a decision after which every criterion holds.
pub(super) fn conclude(unit: &Unit, mut decided: Decided, now: Moment) -> Decided {
    let moves = decided
        .events
        .iter()
        .any(|event| matches!(event.body, Body::Evidence(_) | Body::HumanReply(_) | Body::Control(_)));
    if !moves {
        return decided;
    }
    let after = fold(unit, &decided.events, now);
    let settled = matches!(&after.phase, Phase::Running(turn) if turn.stage == Stage::Settled);
    if settled && !after.paused && unmet(&after, &after.streak).is_empty() {
        let summary = after.summaries.back().map(|said| said.summary.clone()).unwrap_or_default();
        if let Some(accepted) = accept(&after, &summary, Party::Orchestrator, Vec::new()) {
            decided.events.extend(accepted.events);
            decided.artifacts.extend(accepted.artifacts);
        }
    }
    decided
}

/// The facts of an acceptance: the certificate, and the request to decide on the package.
///
/// Returns nothing while there is no snapshot, or a check has not passed.
pub(super) fn accept(unit: &Unit, summary: &str, sender: Party, waived: Vec<String>) -> Option<Decided> {
    let certificate: Certificate = strict::certify(unit, &unit.streak, waived)?;
    let message = package::commit_message(unit);
    let text = package::render(unit, &certificate, &message);
    let request = ApprovalRequest {
        tree: certificate.tree.clone(),
        commit_message: message,
        package: package::NAME.to_owned(),
        package_sha256: sha256(text.as_bytes()),
    };
    let mut convergence =
        Event::own(unit.round, Body::Convergence(Convergence { summary: summary.to_owned(), certificate }));
    convergence.sender = sender;
    convergence.recipient = Party::Orchestrator;
    let mut approval = Event::own(unit.round, Body::ApprovalRequest(request));
    approval.refs.push(format!("artifact://{}", package::NAME));
    let artifact = Artifact { name: package::NAME.to_owned(), bytes: text.into_bytes() };
    Some(Decided { events: vec![convergence, approval], artifacts: vec![artifact] })
}

/// The state after `events`, had they been recorded now.
pub(super) fn fold(unit: &Unit, events: &[Event], now: Moment) -> Unit {
    events.iter().fold(unit.clone(), |unit, event| {
        let id = Envelope::name(0, now);
        let bubble_id = unit.id.clone();
        evolve(unit, &Envelope { seq: 0, id, at: now, bubble_id, more: 0, event: event.clone() })
    })
}
