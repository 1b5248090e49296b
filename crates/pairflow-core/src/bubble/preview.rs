//! What a review would come to if it were recorded as it is, so that it can be refused before.

use crate::bubble::{BubbleState, Refusal};
use crate::facts::{Answers, CleanReview, Explanation};
use crate::findings::{Ledger, Review};
use crate::ids::AgentId;
use crate::log::Pass;
use crate::policy::{Facts, Unmet};

/// By what a claim of convergence is judged: the facts as if the clean review of its sender were recorded.
pub(super) struct Claimed {
    ledger: Ledger,
    streak: Vec<CleanReview>,
    explanation: Explanation,
}

impl Claimed {
    pub(super) fn of(state: &BubbleState, by: &AgentId, explanation: Option<&Explanation>) -> Self {
        let (round, nothing) = (state.rounds.round, Answers::default());
        let review = Review { by, round, findings: &[], answers: &nothing, discuss: false };
        let mut streak = state.rounds.streak.clone();
        streak.push(state.facts().review_by(by, round));
        let mut told = state.gate.explanation.clone();
        explanation.into_iter().for_each(|newer| told.take_over(newer));
        Self { ledger: state.ledger.reviewed(&review), streak, explanation: told }
    }

    pub(super) fn facts<'a>(&'a self, state: &'a BubbleState) -> Facts<'a> {
        let Self { ledger, streak, explanation } = self;
        Facts { ledger, streak, explanation, ..state.facts() }
    }
}

/// Refuses the review that would complete the acceptance while the person has not been told what they decide on.
pub(super) fn explained(state: &BubbleState, by: &AgentId, pass: &Pass) -> Result<(), Refusal> {
    let claimed = Claimed::of(state, by, pass.explanation.as_ref());
    let (policy, facts) = (state.policy(), claimed.facts(state));
    let missing = policy.unmet(facts).into_iter().find(|criterion| matches!(criterion, Unmet::Explanation(_)));
    match missing {
        Some(missing) if policy.reviews_suffice(facts) && would_be_clean(state, by, pass) => {
            Err(Refusal::NotConverged { unmet: vec![missing] })
        }
        _ => Ok(()),
    }
}

/// Whether a review would be clean if no file changes before its snapshot.
pub(super) fn would_be_clean(state: &BubbleState, by: &AgentId, pass: &Pass) -> bool {
    let Some(findings) = &pass.findings else { return false };
    let (answers, discuss) = (&pass.answers, pass.discuss);
    let ledger = state.ledger.reviewed(&Review { by, round: state.rounds.round, findings, answers, discuss });
    !discuss && Facts { ledger: &ledger, ..state.facts() }.objections(&[]).is_empty()
}
