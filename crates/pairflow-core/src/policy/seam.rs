//! The seam between the machine and the rules of a loop: what a policy is told and asked.

use crate::facts::{Certificate, CleanReview, Seat, Seats};
use crate::ids::{AgentId, Party};
use crate::log::{Judged, NextTurn, Question, Reason, Verdict, Waivable};
use crate::policy::{Facts, Unmet, certify, questions};
use crate::progress::WentBack;

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

    /// Whether the clean reviews are enough.
    fn reviews_suffice(&self, facts: Facts<'_>) -> bool;

    /// Returns why a review that left these facts would not be clean if the waivers in `later` came too late for it.
    fn objections(&self, facts: Facts<'_>, later: &[Waivable]) -> Vec<Reason> {
        facts.objections(later)
    }

    /// Whether a test has to show that a severe finding is fixed.
    fn tests_fixes(&self) -> bool {
        false
    }

    /// A judge has decided, and the tree that its turn left is recorded. What blocks is fixed; a decision is no review.
    fn after_dispute(&self, facts: Facts<'_>, tree_changed: bool) -> Conclusion {
        let mut reasons = facts.objections(&[]);
        reasons.extend(tree_changed.then_some(Reason::TreeChanged));
        let next = match reasons.iter().any(|reason| matches!(reason, Reason::Blocking { .. })) {
            true => NextTurn::Implement,
            false => NextTurn::Review,
        };
        Conclusion { keeps_clean: !tree_changed, reasons, ..Conclusion::of(facts, next) }
    }

    /// The most reviews of one budget, however many rounds they belong to.
    fn max_looks(&self) -> u32 {
        questions::MAX_LOOKS
    }

    /// How many looks the work needs before it is accepted; none if the policy does not count them.
    fn looks_needed(&self, facts: Facts<'_>) -> u32 {
        let _ = facts;
        0
    }

    /// The person took back a waiver or changed checks on which clean reviews rest; `settled` work was about to be accepted.
    fn after_change(&self, facts: Facts<'_>, on: &Judged, settled: bool) -> Conclusion {
        let (next, reason) = match on {
            Judged::Waiver => (NextTurn::Implement, Reason::WaiverWithdrawn),
            _ => (NextTurn::Review, Reason::ChecksChanged),
        };
        let next = if settled { next } else { NextTurn::Stay };
        Conclusion { reasons: vec![reason], ..Conclusion::of(facts, next) }
    }

    /// The base was merged into accepted work: clean reviews of the same change are kept.
    fn after_merge(&self, facts: Facts<'_>, same_patch: bool) -> Conclusion {
        let next = if same_patch && self.reviews_suffice(facts) { NextTurn::Recheck } else { NextTurn::Review };
        Conclusion { reasons: vec![Reason::BaseMerged], ..Conclusion::of(facts, next) }
    }

    /// Returns every criterion of acceptance that does not hold yet.
    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet>;

    /// Returns the criteria that do not hold, and without which a person cannot accept the work at a tie-break either.
    fn unwaivable(&self, facts: Facts<'_>) -> Vec<Unmet> {
        self.unmet(facts).into_iter().filter(|criterion| !criterion.can_be_waived()).collect()
    }

    /// Writes down what is accepted, with what a person `waived`. Returns nothing while a required check has not passed.
    fn certify(&self, facts: Facts<'_>, waived: Vec<String>) -> Option<Certificate> {
        let certificate = certify(self.name(), self.version(), facts, waived)?;
        Some(Certificate { looks_needed: self.looks_needed(facts), ..certificate })
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
    /// Whether earlier clean reviews of the same tree still count although it adds none.
    pub keeps_clean: bool,
    /// What comes next.
    pub next: NextTurn,
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
    /// A conclusion that leaves the seats as they are and adds no clean review.
    pub fn of(facts: Facts<'_>, next: NextTurn) -> Self {
        Self { clean: None, keeps_clean: false, next, seats: facts.rounds.seats.clone(), reasons: Vec::new() }
    }

    /// Makes it the verdict of `policy` on something.
    pub fn verdict(self, policy: &dyn Policy, on: Judged) -> Verdict {
        let Self { clean, keeps_clean, next, seats, reasons } = self;
        let (name, version) = (policy.name().to_owned(), policy.version());
        Verdict { policy: name, version, on, clean, keeps_clean, next, seats, reasons }
    }
}

/// How often in a row work goes back without a review; after that a reviewer looks at it all the same.
const SEND_BACKS: u32 = 3;

/// Sends work back on which something fails; or asks about it, if the same files failed before in the same way: either
/// the check is wrong, or the implementer does not know what to do.
pub(in crate::policy) fn send_back(facts: Facts<'_>, why: Vec<Reason>) -> After {
    let rounds = facts.rounds;
    let author = facts.evidence.snapshot.as_ref().and_then(|snapshot| snapshot.author.as_ref());
    let produced = author == Some(&Party::Agent(rounds.seats.implementer.clone()));
    // What somebody else broke is reviewed first; what a review found nothing in, and fails now, goes back.
    if !produced && facts.streak.is_empty() {
        return After::Review;
    }
    let here = rounds.went_back.as_ref().filter(|last| Some(&last.tree) == facts.evidence.tree());
    if author == Some(&Party::Human) && !here.is_some_and(|last| last.asked) {
        return After::Ask(questions::fails_since_merge(facts, &why));
    }
    match here.filter(|last| last.why == why) {
        Some(WentBack { asked: false, .. }) => After::Ask(questions::fails_again(facts, &why)),
        None if rounds.sent_back >= SEND_BACKS => After::Review,
        _ => concluded(facts, NextTurn::Implement, why),
    }
}

/// A conclusion about work, with the seats as they are.
pub(in crate::policy) fn concluded(facts: Facts<'_>, next: NextTurn, reasons: Vec<Reason>) -> After {
    After::Concluded(Conclusion { reasons, ..Conclusion::of(facts, next) })
}
