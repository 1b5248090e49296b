//! The `strict` policy: two different agents find the same tree clean, after enough looks for its size and risk.
//!
//! Evidence goes before opinions: work on which a check or a reproducer fails, whose fixes no test shows, or that changes
//! nothing goes back to its implementer before a review is paid for that could not be clean. After a clean review that does
//! not yet suffice the seats swap, and the other agent looks at the same tree at once. With a third agent the seats stay,
//! and the third one takes the next look. A clean review holds while the tree is the same.
//!
//! Every change can break something, so minor findings buy a change after the first two looks only. A disputed finding on
//! which the reviewer insists without a command that shows it goes to a judge.

use crate::facts::{ChangeSize, RowState, Seat, Seats};
use crate::findings::Row;
use crate::ids::AgentId;
use crate::log::{NextTurn, Question, Reason, Waivable};
use crate::policy::seam::{concluded, send_back};
use crate::policy::{After, Conclusion, Facts, Look, Policy, Unmet, questions};
use crate::rules::ReviewDepth;

/// So many clean reviews are needed at least.
const CLEAN_REVIEWS: u32 = 2;
/// After so many looks, open minor findings do not keep a review from being clean.
const MINOR_LOOKS: u32 = 2;

/// The policy of a bubble.
pub(super) struct Strict;

impl Policy for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn version(&self) -> u32 {
        2
    }

    fn after_work(&self, facts: Facts<'_>) -> After {
        let mut why = facts.failing();
        why.extend(facts.fixes_not_shown());
        why.extend(facts.decided_by_person());
        match why.is_empty() {
            // Every agent takes its first look before the work goes back.
            _ if is_blind(facts) => After::Review,
            true if self.reviews_suffice(facts) => concluded(facts, NextTurn::Accept, vec![Reason::ReviewsSuffice]),
            true => After::Review,
            false => send_back(facts, why),
        }
    }

    fn after_review(&self, facts: Facts<'_>, look: &Look<'_>) -> Conclusion {
        let mut reasons = self.objections(facts, look.waived_later);
        reasons.extend(look.discuss.then_some(Reason::Discussion));
        reasons.extend(look.checks_changed.then_some(Reason::ChecksChanged));
        reasons.extend(look.tree_changed.then_some(Reason::TreeChanged));
        let clean = reasons.is_empty().then(|| facts.review_by(look.by, look.round));
        let streak: Vec<_> = facts.streak.iter().chain(&clean).cloned().collect();
        let facts = Facts { streak: &streak, ..facts };
        // A tree that changed since has not been reviewed by anybody.
        let next = match blind_look(facts, look.by).filter(|_| !look.tree_changed) {
            Some(seats) => (NextTurn::Review, seats, Reason::BlindLook),
            None if clean.is_some() => after_clean(facts, look.by),
            None => return after_objections(facts, look, reasons),
        };
        let (next, seats, reason) = next;
        reasons.push(reason);
        Conclusion { clean, keeps_clean: true, next, seats, reasons }
    }

    fn at_cap(&self, facts: Facts<'_>, seat: Seat) -> Option<Question> {
        // Reviews that still suffice after a merge need no other.
        let kept = seat == Seat::Reviewer && self.reviews_suffice(facts);
        if kept { None } else { questions::cap(facts, seat, self.max_looks()) }
    }

    /// A finding that wants an earlier one undone stops the loop before it goes round in circles.
    fn question(&self, facts: Facts<'_>, seat: Seat) -> Option<Question> {
        let reversal = |row: &&Row| row.state == RowState::Reversal && row.severity.blocks();
        let row = facts.ledger.open().find(reversal).filter(|_| seat == Seat::Implementer);
        row.map(|row| questions::reversal(facts, row, seat)).or_else(|| questions::deadlock(facts, seat))
    }

    fn reviews_suffice(&self, facts: Facts<'_>) -> bool {
        // Clean reviews hold although a later one objected, but what became of that needs another look.
        let contradicted = facts.rounds.contradicted && facts.looks == facts.rounds.looks;
        !contradicted && agents_suffice(facts) && facts.looks >= looks_needed(facts)
    }

    fn objections(&self, facts: Facts<'_>, later: &[Waivable]) -> Vec<Reason> {
        let minor = Some(facts.open_minor()).filter(|rows| facts.looks <= MINOR_LOOKS && !rows.is_empty());
        let mut reasons = facts.objections(later);
        reasons.extend(minor.map(|findings| Reason::MinorOpen { findings }));
        reasons
    }

    fn looks_needed(&self, facts: Facts<'_>) -> u32 {
        looks_needed(facts)
    }

    fn tests_fixes(&self) -> bool {
        true
    }

    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet> {
        let missing = || Unmet::Reviews { by: facts.streak.iter().map(|review| review.agent.clone()).collect() };
        let reviews = (!agents_suffice(facts)).then(missing);
        let (had, needed) = (facts.looks, looks_needed(facts));
        // Looks that the missing clean reviews bring anyway are not named beside them.
        let coming = if facts.streak.is_empty() { CLEAN_REVIEWS } else { u32::from(reviews.is_some()) };
        let looks = (had + coming < needed).then_some(Unmet::Looks { had, needed });
        let minor = Some(facts.open_minor()).filter(|rows| had <= MINOR_LOOKS && !rows.is_empty());
        let alternation = (!alternated(facts)).then_some(Unmet::NoAlternation);
        let findings = facts.unmet_findings().chain(minor.map(Unmet::MinorOpen));
        let evidence = facts.unmet_work().chain(findings).chain(facts.unmet_checks());
        let rest = facts.unmet_questions().into_iter().chain(facts.unmet_explanation());
        evidence.chain(reviews).chain(looks).chain(alternation).chain(rest).collect()
    }

    /// A person may do without a clean review, not without any.
    fn unwaivable(&self, facts: Facts<'_>) -> Vec<Unmet> {
        let unseen = facts.evidence.snapshot.is_none() || facts.rounds.reviewed.as_ref() != facts.evidence.tree();
        let unmet = self.unmet(facts).into_iter().filter(|criterion| !criterion.can_be_waived());
        unmet.chain(unseen.then_some(Unmet::NotReviewed)).collect()
    }
}

/// Who is next after a clean review.
fn after_clean(facts: Facts<'_>, by: &AgentId) -> (NextTurn, Seats, Reason) {
    let (had, needed) = (facts.looks, looks_needed(facts));
    match agents_suffice(facts) {
        true if had >= needed => (NextTurn::Accept, facts.rounds.seats.clone(), Reason::ReviewsSuffice),
        true => (NextTurn::Review, next_seats(facts, by), Reason::MoreLooksNeeded { had, needed }),
        false => (NextTurn::Review, next_seats(facts, by), Reason::AnotherReviewNeeded),
    }
}

/// Who is next after a review that was not clean.
fn after_objections(facts: Facts<'_>, look: &Look<'_>, mut reasons: Vec<Reason>) -> Conclusion {
    let contested: Vec<_> = facts.ledger.open().filter(|row| row.is_contested()).map(|row| row.id).collect();
    let keeps_clean = !look.tree_changed && !look.checks_changed;
    // Spec: if files changed in its turn, a reviewer has not reviewed what is there now, so it reviews again.
    // The same holds if checks changed before the review could be judged.
    let next = match () {
        () if reasons.iter().all(|reason| has_nothing_to_fix(look, reason)) => NextTurn::Review,
        () if look.discuss || contested.is_empty() => NextTurn::Implement,
        () => NextTurn::Judge,
    };
    let mut seats = first_seats(facts);
    if next == NextTurn::Judge {
        reasons.push(Reason::Contested { findings: contested });
        seats.judge = third_agent(facts);
    }
    Conclusion { clean: None, keeps_clean, next, seats, reasons }
}

/// The agent that holds neither seat, if there is one.
fn third_agent(facts: Facts<'_>) -> Option<AgentId> {
    let seats = &facts.rounds.seats;
    let free = |agent: &&AgentId| **agent != seats.implementer && **agent != seats.reviewer;
    facts.rules.agents.all().find(free).cloned()
}

/// Whether clean reviews of one tree are by enough agents.
fn agents_suffice(facts: Facts<'_>) -> bool {
    let streak = facts.streak;
    let second = streak.iter().any(|review| Some(&review.agent) != streak.first().map(|first| &first.agent));
    second || (facts.rules.agents.same_model() && streak.len() >= 2)
}

/// How many looks the work needs: the larger and the riskier it is, the more. Configuration can only add to that, and a
/// thorough review has a first look by every agent.
fn looks_needed(facts: Facts<'_>) -> u32 {
    let size = facts.evidence.snapshot.as_ref().map_or(ChangeSize::Small, |snapshot| snapshot.size());
    let needed = match size {
        _ if facts.is_risky() => 4,
        ChangeSize::Small => 2,
        ChangeSize::Medium => 3,
        ChangeSize::Large => 4,
    };
    let blind = if facts.rules.review_depth == ReviewDepth::Thorough { facts.rules.agents.all().count() } else { 0 };
    needed.max(facts.rules.min_looks).max(blind as u32)
}

/// The agents of a thorough review that have not taken their first look yet, in the order in which they do.
fn first_looks_left(facts: Facts<'_>) -> impl Iterator<Item = &AgentId> {
    let agents = &facts.rules.agents;
    let order = std::iter::once(&agents.reviewer).chain(&agents.second_reviewer).chain([&agents.implementer]);
    let thorough = facts.rules.review_depth == ReviewDepth::Thorough;
    order.filter(move |agent| thorough && !facts.rounds.reviewed_by.contains_key(*agent))
}

/// Whether some agents have taken their first look at the newest tree, and others have not.
fn is_blind(facts: Facts<'_>) -> bool {
    let here = facts.rounds.reviewed.is_some() && facts.rounds.reviewed.as_ref() == facts.evidence.tree();
    here && first_looks_left(facts).next().is_some()
}

/// Who takes the next of the first looks, which all agents take without knowing what the others found.
fn blind_look(facts: Facts<'_>, by: &AgentId) -> Option<Seats> {
    let (seats, next) = (&facts.rounds.seats, first_looks_left(facts).next()?);
    match *next == seats.implementer {
        true => Some(Seats { implementer: by.clone(), reviewer: next.clone(), judge: None }),
        false => Some(Seats { reviewer: next.clone(), ..seats.clone() }),
    }
}

/// The seats in which work goes back: those of the round, also if the agents have only swapped for their first looks.
fn first_seats(facts: Facts<'_>) -> Seats {
    let blind = facts.rules.review_depth == ReviewDepth::Thorough && facts.rounds.round == 1;
    if blind { Seats::chosen(facts.rules) } else { facts.rounds.seats.clone() }
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
        None => Seats { implementer: seats.reviewer.clone(), reviewer: seats.implementer.clone(), judge: None },
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
