//! What a bubble's policy is told, and says.

use crate::bubble::BubbleState;
use crate::policy::{self, Facts, Policy, Unmet};
use crate::rules::BubbleKind;

impl BubbleState {
    /// Returns the rules of its loop.
    pub fn policy(&self) -> &'static dyn Policy {
        policy::known(&self.rules.policy)
    }

    /// Returns what its policy is told.
    pub fn facts(&self) -> Facts<'_> {
        Facts {
            id: &self.id,
            rules: &self.rules,
            rounds: &self.rounds,
            streak: &self.rounds.streak,
            ledger: &self.ledger,
            evidence: &self.evidence,
            explanation: &self.gate.explanation,
            understood: self.is_understood(),
            questions: self.gate.questions.len(),
            last_said: self.gate.summaries.back(),
        }
    }

    /// Returns every criterion of acceptance that does not hold yet.
    pub fn unmet(&self) -> Vec<Unmet> {
        self.policy().unmet(self.facts())
    }

    /// Whether nobody has to say any more that the document is understood.
    fn is_understood(&self) -> bool {
        let understood = &self.gate.understood;
        self.rules.kind != BubbleKind::Document || (understood.is_some() && understood.as_ref() == self.tree())
    }
}
