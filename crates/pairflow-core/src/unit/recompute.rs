//! Whether verdicts and acceptance follow from what stood in the log before them: anyone who has the log can say so.

use crate::ids::{BubbleId, Party};
use crate::log::{Body, ControlAction, Convergence, Envelope, Evidence, Judged, Lifecycle, Verdict};
use crate::policy::{self, Unmet, waivers};
use crate::unit::answers::verdict_without_waiver;
use crate::unit::converge::Claimed;
use crate::unit::follow::verdict_on_work;
use crate::unit::lifecycle::{verdict_on_merge, verdict_with_rules};
use crate::unit::work::verdict_on_review;
use crate::unit::{Unit, advance};

/// What became of a verdict when it was computed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recomputed<'a> {
    /// The number of its line.
    pub seq: u64,
    /// What is recorded.
    pub verdict: &'a Verdict,
    /// Whether it follows from the lines before it.
    pub stand: VerdictStand,
}

/// Whether a recorded verdict follows from the lines before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictStand {
    /// It does.
    Follows,
    /// The rules conclude something else.
    Differs,
    /// The rules are not known here: it is of another policy, or of another version of its rules.
    NotRecomputed,
}

/// Recomputes every verdict of a log, each from the state before the facts that led to it.
pub fn recompute_verdicts<'a>(id: &BubbleId, log: impl IntoIterator<Item = &'a Envelope>) -> Vec<Recomputed<'a>> {
    let mut unit = Unit::new(id.clone());
    let mut recomputed = Vec::new();
    let (mut cause, mut more): (Option<(Unit, &Envelope)>, u32) = (None, 0);
    for envelope in log {
        if more == 0 {
            cause = None;
        }
        if cause.is_none() && leads_to_verdict(&envelope.event.body) {
            cause = Some((unit.clone(), envelope));
        }
        if let Body::Verdict(verdict) = &envelope.event.body {
            let stand =
                match cause.as_ref().and_then(|(before, cause)| expected(before, &cause.event.body, &verdict.on)) {
                    _ if policy::recorded(verdict).is_none() => VerdictStand::NotRecomputed,
                    _ if verdict.on == Judged::Work && verdict_on_work(&unit).as_ref() == Some(verdict) => {
                        VerdictStand::Follows
                    }
                    Some(expected) if expected == *verdict => VerdictStand::Follows,
                    _ => VerdictStand::Differs,
                };
            recomputed.push(Recomputed { seq: envelope.seq, verdict, stand });
        }
        more = envelope.more;
        advance(&mut unit, envelope);
    }
    recomputed
}

/// Whether a verdict may follow from a fact.
fn leads_to_verdict(body: &Body) -> bool {
    match body {
        Body::Evidence(Evidence::Snapshot { .. }) => true,
        Body::Control(control) => control.action == ControlAction::Withdraw,
        Body::Lifecycle(Lifecycle::Configured { .. } | Lifecycle::Updated { .. }) => true,
        _ => false,
    }
}

/// The verdict that follows from a fact in the state before it, if it is about the same.
fn expected(before: &Unit, cause: &Body, on: &Judged) -> Option<Verdict> {
    match (cause, on) {
        (Body::Evidence(Evidence::Snapshot { snapshot }), Judged::Review { .. }) => verdict_on_review(before, snapshot),
        (Body::Control(control), Judged::Waiver) => verdict_without_waiver(before, control.waived.as_ref()?),
        (Body::Lifecycle(Lifecycle::Configured { rules, .. }), Judged::Checks) => verdict_with_rules(before, rules),
        (Body::Lifecycle(Lifecycle::Updated { same_patch, .. }), Judged::Merge) => {
            verdict_on_merge(before, *same_patch)
        }
        _ => None,
    }
}

/// Why a certificate does not follow from the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfounded {
    /// A criterion did not hold, and nobody could waive it.
    #[error("it was given although this is missing: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Missing(Vec<Unmet>),
    /// It does not name what the person did without.
    #[error("it does not name what was waived")]
    Waivers,
    /// It says something else.
    #[error("it does not say what the log says")]
    Differs,
}

/// Recomputes the newest certificate of a log. Returns nothing if nothing was accepted.
pub fn recompute<'a>(id: &BubbleId, log: impl IntoIterator<Item = &'a Envelope>) -> Option<Result<(), Unfounded>> {
    let mut unit = Unit::new(id.clone());
    let mut newest = None;
    for envelope in log {
        if let Body::Convergence(claim) = &envelope.event.body {
            newest = Some(follows(&unit, &envelope.event.sender, claim));
        }
        advance(&mut unit, envelope);
    }
    newest
}

/// Whether the acceptance `claim` follows from the state `before` it.
fn follows(before: &Unit, sender: &Party, claim: &Convergence) -> Result<(), Unfounded> {
    let certificate = &claim.certificate;
    let claimed = match sender {
        Party::Agent(by) => Some(Claimed::of(before, by, claim.explanation.as_ref())),
        _ => None,
    };
    let facts = claimed.as_ref().map_or(before.facts(), |claimed| claimed.facts(before));
    let waived = !certificate.waived.is_empty();
    let mut unmet = before.policy().unmet(facts);
    let given_up = waivers(facts, &unmet);
    unmet.retain(|criterion| !(waived && criterion.can_be_waived()));
    if !unmet.is_empty() {
        return Err(Unfounded::Missing(unmet));
    }
    if waived && certificate.waived != given_up {
        return Err(Unfounded::Waivers);
    }
    match before.policy().certify(facts, certificate.waived.clone()) {
        Some(expected) if expected == *certificate => Ok(()),
        _ => Err(Unfounded::Differs),
    }
}
