//! A policy of the tests: whatever a review says, the work is accepted once its checks pass. It shows what a policy has to
//! say for itself, and what the seam gives it.

use crate::log::{NextTurn, Reason};
use crate::policy::{Conclusion, Facts, Look, Policy, Unmet};

/// Accepts after any review.
pub(super) struct AnyReview;

impl Policy for AnyReview {
    fn name(&self) -> &'static str {
        "any_review"
    }

    fn version(&self) -> u32 {
        1
    }

    fn after_review(&self, facts: Facts<'_>, look: &Look<'_>) -> Conclusion {
        let clean = Some(facts.review_by(look.by, look.round));
        match facts.failing() {
            why if why.is_empty() => {
                Conclusion { clean, reasons: vec![Reason::ReviewsSuffice], ..Conclusion::of(facts, NextTurn::Accept) }
            }
            why => Conclusion { reasons: why, ..Conclusion::of(facts, NextTurn::Implement) },
        }
    }

    fn reviews_suffice(&self, facts: Facts<'_>) -> bool {
        !facts.streak.is_empty()
    }

    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet> {
        facts.unmet_evidence().collect()
    }
}
