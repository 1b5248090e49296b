//! Whether verdicts and acceptance follow from what stood in the log before them: anyone who has the log can say so.

use crate::bubble::decide::{
    verdict_on_handover, verdict_on_merge, verdict_on_work, verdict_with_rules, verdict_without_waiver,
};
use crate::bubble::derived::Claimed;
use crate::bubble::{BubbleState, Stage, advance};
use crate::facts::Seat;
use crate::ids::{BubbleId, Party};
use crate::log::{Body, ControlAction, Convergence, Envelope, Evidence, Judged, Lifecycle, Verdict};
use crate::policy::{self, Unmet, waivers};

/// What became of a verdict when it was computed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recomputed {
    /// The number of its line, or of the line that it should stand after.
    pub seq: u64,
    /// Whether it follows from the lines before it.
    pub stand: VerdictStand,
}

/// Whether a recorded verdict follows from the lines before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictStand {
    /// It does.
    Follows,
    /// The rules conclude something else.
    Differs,
    /// The rules conclude one, and none is recorded.
    Missing,
    /// The rules are not known here: it is of another policy, or of another version of its rules.
    NotRecomputed {
        /// The policy.
        policy: String,
        /// The version of its rules.
        version: u32,
    },
}

/// Recomputes every verdict of a log, each from the state before the facts that led to it.
pub fn recompute_verdicts<'a>(id: &BubbleId, log: impl IntoIterator<Item = &'a Envelope>) -> Vec<Recomputed> {
    let mut state = BubbleState::new(id.clone());
    let mut recomputed = Vec::new();
    // The verdict that the facts of the present append lead to and that has not been met yet.
    let mut owed: Option<Verdict> = None;
    for envelope in log {
        let seq = envelope.seq;
        if state.phase.turn().is_some() && policy::in_force(&state.rules).is_none() {
            // Nobody here knows which verdicts such rules lead to, so none can be missing.
            let (policy, version) = (state.rules.policy.clone(), state.rules.policy_version);
            let stand = VerdictStand::NotRecomputed { policy, version };
            if !recomputed.iter().any(|one: &Recomputed| one.stand == stand) {
                recomputed.push(Recomputed { seq, stand });
            }
        }
        if let Body::Verdict(verdict) = &envelope.event.body {
            let expected = match verdict.on {
                Judged::Work => verdict_on_work(&state),
                _ => owed.take(),
            };
            let stand = match expected {
                _ if verdict.policy != state.rules.policy && policy::named(&verdict.policy).is_some() => {
                    VerdictStand::Differs
                }
                _ if policy::recorded(verdict).is_none() => {
                    let (policy, version) = (verdict.policy.clone(), verdict.version);
                    VerdictStand::NotRecomputed { policy, version }
                }
                Some(expected) if expected == *verdict => VerdictStand::Follows,
                _ => VerdictStand::Differs,
            };
            recomputed.push(Recomputed { seq, stand });
        }
        // Work is judged before a reviewer gets it, and before it is accepted.
        let goes_on = match &envelope.event.body {
            Body::Lifecycle(Lifecycle::TurnOpened { seat, .. }) => *seat == Seat::Reviewer,
            Body::Convergence(_) => envelope.event.sender == Party::Orchestrator,
            _ => false,
        };
        if goes_on && policy::in_force(&state.rules).is_some() && verdict_on_work(&state).is_some() {
            recomputed.push(Recomputed { seq, stand: VerdictStand::Missing });
        }
        owed = owed.or_else(|| expected(&state, &envelope.event.body));
        if envelope.more == 0 && owed.take().is_some() && policy::in_force(&state.rules).is_some() {
            recomputed.push(Recomputed { seq, stand: VerdictStand::Missing });
        }
        advance(&mut state, envelope);
    }
    recomputed
}

/// The verdict that a fact leads to by itself, in the state before it.
fn expected(before: &BubbleState, fact: &Body) -> Option<Verdict> {
    match fact {
        Body::Evidence(Evidence::Snapshot { snapshot }) => verdict_on_handover(before, snapshot),
        Body::Control(control) if control.action == ControlAction::Withdraw => {
            verdict_without_waiver(before, control.waived.as_ref()?)
        }
        Body::Lifecycle(Lifecycle::Configured { rules, .. }) => verdict_with_rules(before, rules),
        Body::Lifecycle(Lifecycle::Updated { same_patch, .. }) => verdict_on_merge(before, *same_patch),
        _ => None,
    }
}

/// Why a certificate does not follow from the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfounded {
    /// A criterion did not hold, and nobody could waive it.
    #[error("it was given although this is missing: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Missing(Vec<Unmet>),
    /// It names waivers, and no person accepted the work.
    #[error("it names what was waived, and no person accepted the work")]
    NotAccepted,
    /// It does not name what the person did without.
    #[error("it does not name what was waived")]
    Waivers,
    /// The rules are not known here, or not in that version.
    #[error("this pairflow does not know the rules of {policy} version {version}")]
    NotRecomputed {
        /// The policy.
        policy: String,
        /// The version of its rules.
        version: u32,
    },
    /// It says something else.
    #[error("it does not say what the log says")]
    Differs,
}

/// Recomputes the newest certificate of a log. Returns nothing if nothing was accepted.
pub fn recompute<'a>(id: &BubbleId, log: impl IntoIterator<Item = &'a Envelope>) -> Option<Result<(), Unfounded>> {
    let mut state = BubbleState::new(id.clone());
    let mut newest = None;
    for envelope in log {
        if let Body::Convergence(claim) = &envelope.event.body {
            newest = Some(follows(&state, &envelope.event.sender, claim));
        }
        advance(&mut state, envelope);
    }
    newest
}

/// Whether the acceptance `claim` follows from the state `before` it.
fn follows(before: &BubbleState, sender: &Party, claim: &Convergence) -> Result<(), Unfounded> {
    let certificate = &claim.certificate;
    let (policy, version) = (certificate.policy.clone(), certificate.policy_version);
    if policy::named(&policy).is_none_or(|known| known.version() != version) {
        return Err(Unfounded::NotRecomputed { policy, version });
    }
    let claimed = match sender {
        Party::Agent(by) => Some(Claimed::of(before, by, claim.explanation.as_ref())),
        _ => None,
    };
    let facts = claimed.as_ref().map_or(before.facts(), |claimed| claimed.facts(before));
    let waived = !certificate.waived.is_empty();
    if waived && !before.phase.turn().is_some_and(|turn| turn.stage == Stage::Accepted) {
        return Err(Unfounded::NotAccepted);
    }
    let unmet = before.policy().unmet(facts);
    let given_up = waivers(facts, &unmet);
    let unmet = if waived { before.policy().unwaivable(facts) } else { unmet };
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
