//! The `single` policy: one agent, checked by pairflow, reviewed by nobody.

use crate::log::{NextTurn, Reason};
use crate::policy::seam::{concluded, send_back};
use crate::policy::{After, Conclusion, Facts, Look, Policy, Unmet, questions};

/// The policy of a task without a reviewer.
pub(super) struct Single;

impl Policy for Single {
    fn name(&self) -> &'static str {
        "single"
    }

    fn version(&self) -> u32 {
        1
    }

    fn after_work(&self, facts: Facts<'_>) -> After {
        let why = facts.failing();
        if why.is_empty() {
            return concluded(facts, NextTurn::Accept, vec![Reason::ChecksSuffice]);
        }
        match send_back(facts, why.clone()) {
            // There is nobody to look at it all the same: the person is asked, then it goes back.
            After::Review if was_asked(facts) => concluded(facts, NextTurn::Implement, why),
            After::Review => After::Ask(questions::fails_unreviewed(facts, &why)),
            after => after,
        }
    }

    /// Nobody reviews; if somebody does, the work goes on from there.
    fn after_review(&self, facts: Facts<'_>, _look: &Look<'_>) -> Conclusion {
        let mut reasons = facts.objections(&[]);
        // A check that has not run leaves the implementer nothing to fix.
        reasons.retain(|reason| !matches!(reason, Reason::CheckMissing { .. }));
        let next = if reasons.is_empty() { NextTurn::Accept } else { NextTurn::Implement };
        Conclusion { reasons, ..Conclusion::of(facts, next) }
    }

    /// No review is needed.
    fn reviews_suffice(&self, _facts: Facts<'_>) -> bool {
        true
    }

    /// The checks decide.
    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet> {
        facts.unmet_evidence().collect()
    }
}

/// Whether a person was asked about the newest tree.
fn was_asked(facts: Facts<'_>) -> bool {
    let here = facts.rounds.went_back.as_ref().filter(|last| Some(&last.tree) == facts.evidence.tree());
    here.is_some_and(|last| last.asked)
}
