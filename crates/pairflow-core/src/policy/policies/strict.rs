//! The `strict` policy: two clean reviews in a row of the same tree, by two different agents.
//!
//! Evidence goes before opinions: work on which a check or a reproducer fails, or that changes nothing, goes back to its
//! implementer before a review is paid for that could not be clean. After a clean review that does not yet suffice the
//! seats swap, and the other agent reviews the same tree at once. With a third agent the seats stay, and the third one
//! takes the second review.

use crate::facts::{CleanReview, RowState, Seat, Seats};
use crate::findings::Row;
use crate::ids::AgentId;
use crate::log::{NextTurn, Question, Reason};
use crate::policy::seam::{concluded, send_back};
use crate::policy::{After, Conclusion, Facts, Look, Policy, Unmet, questions};
use crate::rules::Rules;

/// The policy of a bubble.
pub(super) struct Strict;

impl Policy for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn version(&self) -> u32 {
        1
    }

    fn after_work(&self, facts: Facts<'_>) -> After {
        let why = facts.failing();
        match why.is_empty() {
            true if suffices(facts.rules, facts.streak) => {
                concluded(facts, NextTurn::Accept, vec![Reason::ReviewsSuffice])
            }
            true => After::Review,
            false => send_back(facts, why),
        }
    }

    fn after_review(&self, facts: Facts<'_>, look: &Look<'_>) -> Conclusion {
        let mut reasons = facts.objections(look.waived_later);
        reasons.extend(look.discuss.then_some(Reason::Discussion));
        reasons.extend(look.checks_changed.then_some(Reason::ChecksChanged));
        reasons.extend(look.tree_changed.then_some(Reason::TreeChanged));
        let review = facts.review_by(look.by, look.round);
        let streak: Vec<_> = facts.streak.iter().chain([&review]).cloned().collect();
        let (clean, next, seats) = match () {
            () if reasons.is_empty() && suffices(facts.rules, &streak) => {
                reasons.push(Reason::ReviewsSuffice);
                (Some(review), NextTurn::Accept, facts.rounds.seats.clone())
            }
            () if reasons.is_empty() => {
                reasons.push(Reason::AnotherReviewNeeded);
                (Some(review), NextTurn::Review, next_seats(facts, look.by))
            }
            // Spec: if files changed in its turn, a reviewer has not reviewed what is there now, so it reviews again.
            // The same holds if checks changed before the review could be judged.
            () if reasons.iter().all(|reason| has_nothing_to_fix(look, reason)) => {
                (None, NextTurn::Review, facts.rounds.seats.clone())
            }
            () => (None, NextTurn::Implement, facts.rounds.seats.clone()),
        };
        Conclusion { clean, next, seats, reasons }
    }

    fn at_cap(&self, facts: Facts<'_>, seat: Seat) -> Option<Question> {
        // Reviews that still suffice after a merge need no other.
        let kept = seat == Seat::Reviewer && suffices(facts.rules, facts.streak);
        if kept { None } else { questions::cap(facts, seat, self.max_looks()) }
    }

    /// A finding that wants an earlier one undone stops the loop before it goes round in circles.
    fn question(&self, facts: Facts<'_>, seat: Seat) -> Option<Question> {
        let reversal = |row: &&Row| row.state == RowState::Reversal && row.severity.blocks();
        let row = facts.ledger.open().find(reversal).filter(|_| seat == Seat::Implementer)?;
        Some(questions::reversal(facts, row, seat))
    }

    fn reviews_suffice(&self, facts: Facts<'_>) -> bool {
        suffices(facts.rules, facts.streak)
    }

    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet> {
        let missing = || Unmet::Reviews { by: facts.streak.iter().map(|review| review.agent.clone()).collect() };
        let reviews = (!suffices(facts.rules, facts.streak)).then(missing);
        let alternation = (!alternated(facts)).then_some(Unmet::NoAlternation);
        let evidence = facts.unmet_work().chain(facts.unmet_findings()).chain(facts.unmet_checks());
        let rest = facts.unmet_questions().into_iter().chain(facts.unmet_explanation());
        evidence.chain(reviews).chain(alternation).chain(rest).collect()
    }

    /// A person may do without a clean review, not without any.
    fn unwaivable(&self, facts: Facts<'_>) -> Vec<Unmet> {
        let unseen = facts.evidence.snapshot.is_none() || facts.rounds.reviewed.as_ref() != facts.evidence.tree();
        let unmet = self.unmet(facts).into_iter().filter(|criterion| !criterion.can_be_waived());
        unmet.chain(unseen.then_some(Unmet::NotReviewed)).collect()
    }
}

/// Whether these clean reviews of one tree are enough.
fn suffices(rules: &Rules, streak: &[CleanReview]) -> bool {
    let second = streak.iter().any(|review| Some(&review.agent) != streak.first().map(|first| &first.agent));
    second || (rules.agents.same_model() && streak.len() >= 2)
}

/// Whether the role history shows two different reviewers.
fn alternated(facts: Facts<'_>) -> bool {
    let history = &facts.rounds.history;
    let mut reviewers = history.iter().map(|roles| &roles.reviewer);
    let first = reviewers.next();
    let different = reviewers.any(|reviewer| Some(reviewer) != first);
    different || (facts.rules.agents.same_model() && history.len() >= 2)
}

/// Who sits where for the next review of the same tree.
fn next_seats(facts: Facts<'_>, reviewed: &AgentId) -> Seats {
    let (agents, seats) = (&facts.rules.agents, &facts.rounds.seats);
    match &agents.second_reviewer {
        Some(third) if third != reviewed => Seats { reviewer: third.clone(), ..seats.clone() },
        Some(_) => {
            let other = [&agents.reviewer, &agents.implementer].into_iter().find(|agent| **agent != seats.implementer);
            Seats { reviewer: other.unwrap_or(reviewed).clone(), ..seats.clone() }
        }
        None => Seats {
            implementer: seats.reviewer.clone(),
            reviewer: seats.implementer.clone(),
            judge: seats.judge.clone(),
        },
    }
}

/// Whether a reason leaves nothing to fix, only something to review again.
fn has_nothing_to_fix(look: &Look<'_>, reason: &Reason) -> bool {
    match reason {
        Reason::TreeChanged | Reason::ChecksChanged => true,
        Reason::CheckMissing { .. } => look.checks_changed,
        _ => false,
    }
}
