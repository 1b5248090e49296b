//! The seam between the machine and the rules of a loop: what a policy is told and asked.

use crate::facts::{Certificate, CleanReview, Seat, Seats};
use crate::ids::AgentId;
use crate::log::{Judged, Next, Question, Reason, Verdict, Waivable};
use crate::policy::{Facts, Unmet, certify, criteria, questions};

/// The rules of a loop.
///
/// Each method is a function of its arguments. What it says is recorded, so a changed rule needs another version.
pub trait Policy: Sync {
    /// Its name in rules, verdicts and certificates.
    fn name(&self) -> &'static str;

    /// The version of its rules.
    fn version(&self) -> u32;

    /// Work was handed over, or the base was merged into it, and everything that had to be run on it has been.
    fn after_work(&self, facts: Facts<'_>) -> After {
        let _ = facts;
        After::Review
    }

    /// A review was handed over, and the tree that it left is recorded.
    fn after_review(&self, facts: Facts<'_>, look: &Look<'_>) -> Conclusion;

    /// The turn of `seat` is next: what a person is asked first if the loop has used up what it may use by itself.
    fn at_cap(&self, facts: Facts<'_>, seat: Seat) -> Option<Question> {
        questions::cap(facts, seat, self.max_looks())
    }

    /// The turn of `seat` is next: what else a person has to decide first.
    fn question(&self, facts: Facts<'_>, seat: Seat) -> Option<Question> {
        let _ = (facts, seat);
        None
    }

    /// Whether the clean reviews are enough. Without a say of its own a policy needs none.
    fn reviews_suffice(&self, facts: Facts<'_>) -> bool {
        let _ = facts;
        true
    }

    /// The most reviews of one budget, however many rounds they belong to.
    fn max_looks(&self) -> u32 {
        questions::MAX_LOOKS
    }

    /// The person took back a waiver or changed checks on which clean reviews rest; `settled` work was about to be accepted.
    fn after_change(&self, facts: Facts<'_>, on: &Judged, settled: bool) -> Conclusion {
        let (next, reason) = match on {
            Judged::Waiver => (Next::Implement, Reason::WaiverWithdrawn),
            _ => (Next::Review, Reason::ChecksChanged),
        };
        let next = if settled { next } else { Next::Stay };
        Conclusion { clean: None, next, seats: facts.rounds.seats.clone(), reasons: vec![reason] }
    }

    /// The base was merged into accepted work: clean reviews of the same change are kept.
    fn after_merge(&self, facts: Facts<'_>, same_patch: bool) -> Conclusion {
        let next = if same_patch && self.reviews_suffice(facts) { Next::Recheck } else { Next::Review };
        Conclusion { clean: None, next, seats: facts.rounds.seats.clone(), reasons: vec![Reason::BaseMerged] }
    }

    /// Returns every criterion of acceptance that does not hold yet.
    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet> {
        criteria::evidence(facts).collect()
    }

    /// Returns the criteria that do not hold, and without which a person cannot accept the work at a tie-break either.
    fn unwaivable(&self, facts: Facts<'_>) -> Vec<Unmet> {
        self.unmet(facts).into_iter().filter(|criterion| !criterion.can_be_waived()).collect()
    }

    /// Writes down what is accepted, with what a person `waived`. Returns nothing while a required check has not passed.
    fn certify(&self, facts: Facts<'_>, waived: Vec<String>) -> Option<Certificate> {
        certify(self.name(), self.version(), facts, waived)
    }
}

/// What follows from work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// A review, as the loop goes. Nothing is recorded.
    Review,
    /// Something else.
    Concluded(Conclusion),
    /// A person has to decide first.
    Ask(Question),
}

/// What a policy concludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The clean review that it adds.
    pub clean: Option<CleanReview>,
    /// What comes next.
    pub next: Next,
    /// Who sits where from now on.
    pub seats: Seats,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// A review whose tree is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Who reviewed.
    pub by: &'a AgentId,
    /// In which round.
    pub round: u32,
    /// Whether it wants a person to decide first.
    pub discuss: bool,
    /// Whether files changed during it.
    pub tree_changed: bool,
    /// Whether the person changed checks after it.
    pub checks_changed: bool,
    /// What the person waived after it. A review that asked for changes does not become clean by that.
    pub waived_later: &'a [Waivable],
}

impl Conclusion {
    /// Makes it the verdict of `policy` on something.
    pub fn verdict(self, policy: &dyn Policy, on: Judged) -> Verdict {
        let Self { clean, next, seats, reasons } = self;
        Verdict { policy: policy.name().to_owned(), version: policy.version(), on, clean, next, seats, reasons }
    }
}
