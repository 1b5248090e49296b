//! Whether an acceptance follows from what stood in the log before it: anyone who has the log can say so.

use crate::ids::{BubbleId, Party};
use crate::log::{Body, Convergence, Envelope};
use crate::rounds::policy::strict;
use crate::unit::{Unit, Unmet, advance, claimed, unmet, waivers};

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
    let unit = match sender {
        Party::Agent(by) => claimed(before, by, "", claim.explanation.as_ref()),
        _ => before.clone(),
    };
    let waived = !certificate.waived.is_empty();
    let mut unmet = unmet(&unit, &unit.streak);
    unmet.retain(|criterion| !(waived && can_be_waived(criterion)));
    if !unmet.is_empty() {
        return Err(Unfounded::Missing(unmet));
    }
    if waived && certificate.waived != waivers(&unit) {
        return Err(Unfounded::Waivers);
    }
    match strict::certify(&unit, &unit.streak, certificate.waived.clone()) {
        Some(expected) if expected == *certificate => Ok(()),
        _ => Err(Unfounded::Differs),
    }
}

/// Whether a person may do without it: findings, a second review and what they are told, nothing else.
fn can_be_waived(criterion: &Unmet) -> bool {
    match criterion {
        Unmet::Blocking(_)
        | Unmet::Unanswered(_)
        | Unmet::Reviews { .. }
        | Unmet::NoAlternation
        | Unmet::Explanation(_)
        | Unmet::Comprehension => true,
        Unmet::NothingHandedOver
        | Unmet::NothingChanged
        | Unmet::CheckFailed(_)
        | Unmet::CheckMissing(_)
        | Unmet::Questions(_)
        | Unmet::TreeChanged(_)
        | Unmet::Slices(_) => false,
    }
}
