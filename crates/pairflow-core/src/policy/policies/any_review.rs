//! A policy of the tests: whatever a review says, the work is accepted once its checks pass. It shows what a policy has to
//! say for itself, and what the seam gives it.

use crate::log::{NextTurn, Reason};
use crate::policy::{Conclusion, Facts, Look, Policy};

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
        let seats = facts.rounds.seats.clone();
        match facts.failing() {
            why if why.is_empty() => {
                Conclusion { clean, next: NextTurn::Accept, seats, reasons: vec![Reason::ReviewsSuffice] }
            }
            why => Conclusion { clean: None, next: NextTurn::Implement, seats, reasons: why },
        }
    }
}
