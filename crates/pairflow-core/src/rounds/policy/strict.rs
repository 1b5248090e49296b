//! The `strict` policy: two clean reviews in a row of the same tree, by two different agents.
//!
//! After a clean review that does not yet suffice the seats swap, and the other agent reviews the same tree at
//! once. With a third agent the seats stay, and the third one takes the second review.

use crate::facts::Place;
use crate::ids::{AgentId, Party};
use crate::log::{Judged, Next, Reason, Verdict, Waivable};
use crate::rounds::{Certificate, CheckStand, CleanReview, Ledger, Row, RowStand, RowState};
use crate::rules::{Check, ChecksIn, ContextMode, DriverKind, Rules};
use crate::unit::{CheckState, Handover, Seats, Stage, Unit};

/// The name under which certificates mention this policy.
pub const NAME: &str = "strict";
/// The version of its rules; a changed rule is another version.
pub const VERSION: u32 = 1;

/// Whether a review that led to `ledger` is clean: no row blocks, every required check passed, and the work changes files.
pub fn is_clean(unit: &Unit, ledger: &Ledger) -> bool {
    not_clean(unit, ledger, &[]).is_empty()
}

/// Judges a review whose tree is recorded; `changed` says whether files changed during it.
pub fn after_review(unit: &Unit, handover: &Handover, changed: bool) -> Verdict {
    let (by, round) = (handover.by.clone(), handover.round);
    let mut reasons = not_clean(unit, &unit.ledger, &handover.waived);
    reasons.extend(handover.discuss.then_some(Reason::Discussion));
    reasons.extend(handover.checks_changed.then_some(Reason::ChecksChanged));
    reasons.extend(changed.then_some(Reason::TreeChanged));
    let review = review_by(unit, &by, round);
    let streak: Vec<_> = unit.rounds.streak.iter().chain([&review]).cloned().collect();
    let (clean, next, seats) = match () {
        () if reasons.is_empty() && suffices(&unit.rules, &streak) => {
            reasons.push(Reason::ReviewsSuffice);
            (Some(review), Next::Accept, unit.rounds.seats.clone())
        }
        () if reasons.is_empty() => {
            reasons.push(Reason::AnotherReviewNeeded);
            (Some(review), Next::Review, next_seats(unit, &by))
        }
        // Spec: if files changed in its turn, a critic has not reviewed what is there now, so it reviews again. The same
        // holds if checks changed before the review could be judged.
        () if reasons.iter().all(|reason| has_nothing_to_fix(handover, reason)) => {
            (None, Next::Review, unit.rounds.seats.clone())
        }
        () => (None, Next::Implement, unit.rounds.seats.clone()),
    };
    verdict(Judged::Review { by, round }, clean, next, seats, reasons)
}

/// Whether a reason leaves nothing to fix, only something to review again.
fn has_nothing_to_fix(handover: &Handover, reason: &Reason) -> bool {
    match reason {
        Reason::TreeChanged | Reason::ChecksChanged => true,
        Reason::CheckMissing { .. } => handover.checks_changed,
        _ => false,
    }
}

/// Clean reviews no longer hold, because what they rested on was taken back or changed.
pub fn no_longer_clean(unit: &Unit, on: Judged, next: Next) -> Verdict {
    let reason = if on == Judged::Waiver { Reason::WaiverWithdrawn } else { Reason::ChecksChanged };
    let settled = unit.phase.turn().is_some_and(|turn| turn.stage == Stage::Settled);
    let next = if settled { next } else { Next::Stay };
    verdict(on, None, next, unit.rounds.seats.clone(), vec![reason])
}

/// Says what follows for accepted work from a merge of the base; `same_patch` says that the work is the same change.
pub fn after_merge(unit: &Unit, same_patch: bool) -> Verdict {
    let kept = same_patch && suffices(&unit.rules, &unit.rounds.streak);
    let next = if kept { Next::Recheck } else { Next::Review };
    verdict(Judged::Merge, None, next, unit.rounds.seats.clone(), vec![Reason::BaseMerged])
}

fn verdict(on: Judged, clean: Option<CleanReview>, next: Next, seats: Seats, reasons: Vec<Reason>) -> Verdict {
    Verdict { policy: NAME.to_owned(), version: VERSION, on, clean, next, seats, reasons }
}

/// Why a review that led to `ledger` is not clean, if the waivers in `later` came too late for it; nothing if it is clean.
fn not_clean(unit: &Unit, ledger: &Ledger, later: &[Waivable]) -> Vec<Reason> {
    let waived_later = later.iter().filter_map(|what| match what {
        Waivable::Finding(id) => Some(*id).filter(|id| ledger.get(*id).is_some_and(Row::blocks_if_open)),
        Waivable::Check(_) => None,
    });
    let findings: Vec<_> = ledger.blocking().map(|row| row.id).chain(waived_later).collect();
    let blocking = (!findings.is_empty()).then_some(Reason::Blocking { findings });
    let checks = unit.rules.checks.iter().map(|check| check.name.as_str()).filter_map(|name| {
        let waived_later = later.iter().any(|what| matches!(what, Waivable::Check(one) if one == name));
        let state = if waived_later { unit.check_without_waiver(name) } else { unit.check(name) };
        match state {
            CheckState::Failed(_) => Some(Reason::CheckFails { check: name.to_owned() }),
            CheckState::Missing => Some(Reason::CheckMissing { check: name.to_owned() }),
            _ => None,
        }
    });
    let nothing = unit.changes_nothing().then_some(Reason::NothingChanged);
    blocking.into_iter().chain(checks).chain(nothing).collect()
}

/// Whether these clean reviews of one tree are enough.
pub fn suffices(rules: &Rules, streak: &[CleanReview]) -> bool {
    let second = streak.iter().any(|review| Some(&review.agent) != streak.first().map(|first| &first.agent));
    second || (rules.agents.same_model() && streak.len() >= 2)
}

/// The clean review that `agent` would add in the present round.
pub fn review_by(unit: &Unit, agent: &AgentId, round: u32) -> CleanReview {
    let own_work = unit.rounds.authors.contains(&Party::Agent(agent.clone()));
    CleanReview { agent: agent.clone(), round, own_work, tree: None }
}

/// Who sits where for the next review of the same tree.
fn next_seats(unit: &Unit, reviewed: &AgentId) -> Seats {
    let agents = &unit.rules.agents;
    match &agents.second_reviewer {
        Some(third) if third != reviewed => {
            Seats { producer: unit.rounds.seats.producer.clone(), critic: third.clone() }
        }
        Some(_) => {
            let producer = unit.rounds.seats.producer.clone();
            let other = [&agents.reviewer, &agents.implementer].into_iter().find(|agent| **agent != producer);
            Seats { critic: other.unwrap_or(reviewed).clone(), producer }
        }
        None => Seats { producer: unit.rounds.seats.critic.clone(), critic: unit.rounds.seats.producer.clone() },
    }
}

/// Writes down what is accepted: `streak` for the newest snapshot, with what the person `waived`.
///
/// Returns nothing while there is no snapshot, or a required check has not passed: nobody can waive that.
pub fn certify(unit: &Unit, streak: &[CleanReview], waived: Vec<String>) -> Option<Certificate> {
    let snapshot = unit.evidence.snapshot.as_ref()?;
    let stand = |check: &crate::rules::Check| {
        let stand = match unit.check(&check.name) {
            CheckState::Passed(_) => "passed".to_owned(),
            CheckState::NotAvailable => "not available".to_owned(),
            CheckState::Waived(reason) => format!("waived: {reason}"),
            CheckState::Failed(_) | CheckState::Missing => return None,
        };
        Some(CheckStand { check: check.name.clone(), stand })
    };
    let mut checks = unit.rules.checks.iter().map(stand).collect::<Option<Vec<_>>>()?;
    if checks.is_empty() {
        checks.push(CheckStand { check: "test".to_owned(), stand: "not available".to_owned() });
    }
    Some(Certificate {
        policy: NAME.to_owned(),
        max_rounds: unit.rules.max_rounds,
        tree: snapshot.tree.clone(),
        reviews: streak.to_vec(),
        checks,
        open: unit.ledger.claims(),
        ledger: unit.ledger.rows.iter().map(stands).collect(),
        round_role_history: unit.rounds.history.clone(),
        waived,
        notes: notes(unit),
    })
}

fn stands(row: &Row) -> RowStand {
    RowStand { id: row.id, severity: row.severity, state: row.state, settled: row.settled }
}

/// What a reader of the certificate should know.
fn notes(unit: &Unit) -> Vec<String> {
    let rules = &unit.rules;
    let flaky = rules.checks.iter().filter(|check| unit.flaky(&check.name).is_some());
    let mut notes: Vec<_> =
        flaky.map(|check| format!("check '{}': failed, then passed on the same tree", check.name)).collect();
    if rules.checks_in == ChecksIn::Worktree {
        notes.push("checks_in = \"worktree\": checks ran in the agents' own worktree".to_owned());
    }
    let warm = |check: &&Check| matches!(unit.check(&check.name), CheckState::Passed(one) if one.place != Place::Fresh);
    let elsewhere = rules.checks_in == ChecksIn::Checkout;
    let warm = rules.checks.iter().filter(|check| elsewhere && !check.is_own()).filter(warm);
    notes.extend(warm.map(|check| format!("check '{}': not repeated in a fresh checkout", check.name)));
    let missing = unit.gate.explanation.missing();
    if !missing.is_empty() {
        notes.push(format!("the agents did not explain: {}", missing.join(", ")));
    }
    let answered = unit.ledger.rows.iter().filter(|row| row.state == RowState::Waived);
    notes.extend(answered.map(|row| format!("waived by the person: {}", row.short())));
    notes.extend(unit.ledger.withdrawn());
    if rules.agents.same_model() {
        notes.push("same model: both seats were held by the same agent".to_owned());
    }
    if rules.driver == DriverKind::External {
        notes.push("external agents: pairflow cannot vouch that each review began with a fresh context".to_owned());
    }
    if rules.reviewer_context_mode == ContextMode::Persistent {
        notes.push("reviewer_context_mode = \"persistent\": reviews did not begin with a fresh context".to_owned());
    }
    notes
}
