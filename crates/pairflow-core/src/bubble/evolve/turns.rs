//! Turns: who is next, which tree the turn before left, and what a review came to.

use crate::progress::Evidence;
use std::collections::BTreeSet;

use crate::bubble::{CHECK_TRIES, Handover, NOTES_KEPT, Phase, SUMMARIES_KEPT, SUPERSEDED_KEPT, Stage, Turn, Unit};
use crate::facts::RoundRoles;
use crate::facts::{Outcome, Place, Receipt, Snapshot};
use crate::facts::{Seat, Seats};
use crate::ids::{AgentId, FindingId, Party};
use crate::log::{Judged, Next, Pass, Reason, Verdict};
use crate::progress::{CheckState, Returned, Said, WentBack};
use crate::time::Moment;

/// Counts a new round with these seats: an implementer's turn, and every look at what it leaves.
pub(super) fn begin_round(unit: &mut Unit, seats: Seats) {
    unit.rounds.round += 1;
    unit.rounds.spent.rounds += 1;
    unit.rounds.sent_back = 0;
    seat(unit, seats);
}

/// Seats the agents anew, in the present round.
fn seat(unit: &mut Unit, seats: Seats) {
    let roles =
        RoundRoles { round: unit.rounds.round, implementer: seats.producer.clone(), reviewer: seats.critic.clone() };
    unit.rounds.history.push(roles);
    unit.rounds.seats = seats;
}

/// Gives the next turn to the agent in `seat`, and sets the bubble running.
pub(super) fn begin_turn(unit: &mut Unit, seat: Seat, stage: Stage, at: Moment) {
    unit.rounds.turns += 1;
    let agent = unit.rounds.seats.agent(seat).clone();
    let before = unit.phase.turn().is_some_and(|turn| turn.follows_handover);
    let follows_handover = before || matches!(stage, Stage::Closing(_));
    let turn = Turn {
        number: unit.rounds.turns,
        seat,
        agent,
        since: at,
        heard: at,
        stage,
        slices: 0,
        uninterrupted: at,
        nudges: 0,
        overdue: false,
        follows_handover,
        others_at_work: false,
    };
    // The holder of the turn says itself whether its account is used up.
    unit.presence.parked = None;
    unit.rounds.returned = None;
    let waiting = matches!(unit.phase, Phase::WaitingHuman(_));
    unit.phase = if waiting { Phase::WaitingHuman(turn) } else { Phase::Running(turn) };
}

pub(super) fn opened(unit: &mut Unit, number: u32, slices: u32, at: Moment) {
    let Some(turn) = unit.phase.turn_mut().filter(|turn| turn.number == number) else { return };
    turn.stage = Stage::Open;
    turn.slices = slices;
    turn.follows_handover = false;
    (turn.since, turn.heard, turn.uninterrupted) = (at, at, at);
    let held = unit.phase.turn().map(|turn| turn.agent.clone()).map(|agent| unit.rounds.held.entry(agent).or_default());
    if let Some(held) = held.filter(|held| held.last != number) {
        held.count += 1;
        held.last = number;
    }
}

/// An agent handed over. Work goes to the reviewer; who is next after a review is concluded once its tree is recorded.
pub(super) fn passed(unit: &mut Unit, by: &AgentId, pass: &Pass, at: Moment) {
    let Some(turn) = unit.phase.turn() else { return };
    let (seat, others_at_work) = (turn.seat, turn.others_at_work);
    said(unit, by, seat, &pass.summary);
    if let Some(explanation) = &pass.explanation {
        unit.gate.explanation.take_over(explanation);
    }
    let handover = Handover {
        by: by.clone(),
        seat,
        round: unit.rounds.round,
        discuss: pass.discuss,
        others_at_work,
        waived: Vec::new(),
        checks_changed: false,
    };
    match seat {
        Seat::Producer => {
            unit.gate.said_before.append(&mut unit.gate.notes);
            let surplus = unit.gate.said_before.len().saturating_sub(NOTES_KEPT);
            unit.gate.said_before.drain(..surplus);
            unit.ledger.answer(by, unit.rounds.round, &pass.answers);
            unit.dry_run(by, pass);
            begin_turn(unit, Seat::Critic, Stage::Closing(handover), at);
        }
        // What a judge decides is recorded with the dispute.
        Seat::Judge => {}
        Seat::Critic => {
            unit.review(by, handover.round, Some(pass));
            unit.gate.steps.clone_from(&pass.steps);
            unit.rounds.spent.looks += 1;
            if let Some(turn) = unit.phase.turn_mut() {
                turn.stage = Stage::Closing(handover);
                turn.follows_handover = true;
            }
        }
    }
}

/// Keeps what an agent said about its turn.
pub(super) fn said(unit: &mut Unit, by: &AgentId, seat: Seat, summary: &str) {
    unit.gate.summaries.push_back(Said {
        round: unit.rounds.round,
        seat,
        agent: by.clone(),
        summary: summary.to_owned(),
    });
    let surplus = unit.gate.summaries.len().saturating_sub(SUMMARIES_KEPT);
    unit.gate.summaries.drain(..surplus);
}

pub(super) fn snapshot_taken(unit: &mut Unit, snapshot: &Snapshot) {
    let changed = unit.tree() != Some(&snapshot.tree);
    let base_only = std::mem::take(&mut unit.evidence.base_only);
    let stage = unit.phase.turn().map(|turn| turn.stage.clone());
    if changed {
        unit.evidence.receipts.clear();
        unit.evidence.superseded.clear();
        unit.evidence.could_not.clear();
        unit.evidence.not_available.clear();
        if !base_only {
            unit.rounds.streak.clear();
        }
        if let Some(author) = snapshot.author.as_ref().filter(|author| !unit.rounds.authors.contains(author)) {
            unit.rounds.authors.push(author.clone());
        }
    }
    touch(unit, snapshot);
    unit.evidence.snapshot = Some(snapshot.clone());
    unit.evidence.snapshots += 1;
    match stage {
        Some(Stage::Closing(handover)) if handover.seat == Seat::Producer => {
            supersede(unit);
            set_stage(unit, Stage::Opening);
        }
        Some(Stage::Open) if snapshot.author == Some(Party::Human) => set_stage(unit, Stage::Opening),
        _ => {}
    }
}

/// Writes down in which round the files were changed that still differ from the base.
fn touch(unit: &mut Unit, snapshot: &Snapshot) {
    let round = match unit.phase.turn().map(|turn| &turn.stage) {
        Some(Stage::Closing(handover)) => handover.round,
        _ => unit.rounds.round,
    };
    for file in &snapshot.since_last {
        let rounds = unit.evidence.touched.entry(file.path.clone()).or_default();
        if rounds.last() != Some(&round) {
            rounds.push(round);
        }
    }
    let differ: BTreeSet<_> = snapshot.changed.iter().map(|file| file.path.as_str()).collect();
    unit.evidence.touched.retain(|path, _| differ.contains(path.as_str()));
}

/// Applies what the policy concluded.
pub(super) fn judged(unit: &mut Unit, verdict: &Verdict, at: Moment) {
    match &verdict.on {
        Judged::Review { by, round } if verdict.reasons.contains(&Reason::TreeChanged) => {
            unit.ledger.retract(by, *round)
        }
        Judged::Work if verdict.next == Next::Implement => return sent_back(unit, &verdict.reasons, at),
        _ => {}
    }
    let renews = match &verdict.on {
        // The person wants it dealt with, so there is a fresh budget for that.
        Judged::Waiver => true,
        Judged::Merge => unit.gate.certificate.take().is_some(),
        Judged::Work | Judged::Review { .. } | Judged::Checks => false,
    };
    go_on(unit, verdict, at);
    if renews {
        unit.renew_budget();
    }
}

/// Gives the turn to whom the verdict says.
fn go_on(unit: &mut Unit, verdict: &Verdict, at: Moment) {
    match &verdict.clean {
        Some(review) => unit.rounds.streak.push(review.clone()),
        None if verdict.next != Next::Recheck && verdict.on != Judged::Work => unit.rounds.streak.clear(),
        None => {}
    }
    let next = match verdict.next {
        Next::Stay => return,
        Next::Accept => return settle(unit),
        Next::Implement => Seat::Producer,
        Next::Review | Next::Recheck => Seat::Critic,
    };
    match next {
        Seat::Producer => begin_round(unit, verdict.seats.clone()),
        // A clean review that does not suffice seats the agents anew, also if the same one reviews again.
        Seat::Critic if verdict.clean.is_some() || verdict.seats != unit.rounds.seats => {
            seat(unit, verdict.seats.clone())
        }
        Seat::Critic | Seat::Judge => {}
    }
    begin_turn(unit, next, Stage::Opening, at);
}

/// The reviews suffice.
fn settle(unit: &mut Unit) {
    if let Some(turn) = unit.phase.turn_mut() {
        turn.stage = Stage::Settled;
        turn.follows_handover = false;
    }
}

/// Spec: a failed check runs again when the producer passes the same snapshot; both results are shown.
fn supersede(unit: &mut Unit) {
    let passes: BTreeSet<_> = unit.rules.checks.iter().map(|check| &check.name).collect();
    let passes = passes.into_iter().filter(|name| matches!(unit.check(name), CheckState::Passed(_)));
    let passes: BTreeSet<String> = passes.cloned().collect();
    // One that passed before it failed in a fresh checkout has to pass again, too.
    run_again(unit, |receipt| receipt.outcome.passed() && passes.contains(&receipt.check));
}

/// Has every check run again whose receipt is not to be kept. That it failed is remembered.
pub(super) fn run_again(unit: &mut Unit, keep: impl Fn(&Receipt) -> bool) {
    let (kept, rest): (Vec<_>, Vec<_>) = unit.evidence.receipts.drain(..).partition(keep);
    unit.evidence.receipts = kept;
    unit.evidence
        .superseded
        .extend(rest.into_iter().filter(|receipt| matches!(receipt.outcome, Outcome::Failed { .. })));
    let surplus = unit.evidence.superseded.len().saturating_sub(SUPERSEDED_KEPT);
    unit.evidence.superseded.drain(..surplus);
}

pub(super) fn set_stage(unit: &mut Unit, stage: Stage) {
    if let Some(turn) = unit.phase.turn_mut() {
        turn.stage = stage;
    }
}

/// The work goes back to its producer, in the same round unless somebody has looked at it.
fn sent_back(unit: &mut Unit, why: &[Reason], at: Moment) {
    let round = unit.rounds.round;
    if unit.rounds.reviewed_by.values().any(|last| last.round == round) {
        begin_round(unit, unit.rounds.seats.clone());
    }
    unit.rounds.sent_back += 1;
    begin_turn(unit, Seat::Producer, Stage::Opening, at);
    let turn = unit.last_turn_of(&unit.rounds.seats.producer);
    unit.rounds.returned = unit.tree().cloned().map(|tree| Returned { turn, tree });
    unit.rounds.went_back = unit.tree().cloned().map(|tree| WentBack { tree, why: why.to_vec(), asked: false });
}

pub(super) fn checked(unit: &mut Unit, receipt: &Receipt) {
    let tries = match receipt.outcome {
        Outcome::CouldNotCheck { .. } => {
            let tries = unit.evidence.could_not.entry(receipt.check.clone()).or_default();
            *tries += 1;
            *tries
        }
        _ => {
            unit.evidence.could_not.remove(&receipt.check);
            CHECK_TRIES
        }
    };
    match receipt.place {
        // On the base only what is left after the last try says anything.
        Place::Base if tries < CHECK_TRIES => {}
        Place::Base => {
            unit.evidence.could_not.remove(&receipt.check);
            unit.evidence.baseline.push(receipt.clone());
        }
        _ => unit.evidence.receipts.push(receipt.clone()),
    }
}

/// The reproducer of a finding was run. One that could not be run is tried again, then dropped.
pub(super) fn reproduced(unit: &mut Unit, finding: FindingId, receipt: &Receipt) {
    if matches!(receipt.outcome, Outcome::CouldNotCheck { .. }) {
        let tries = unit.evidence.could_not.entry(Evidence::tries_of(finding)).or_default();
        *tries += 1;
        if *tries < CHECK_TRIES {
            return;
        }
    } else {
        unit.evidence.could_not.remove(&Evidence::tries_of(finding));
    }
    unit.ledger.reproduced(finding, receipt, unit.rounds.round);
}

/// The clean reviews hold for the tree that the next snapshot brings: only the base differs.
pub(super) fn keep_reviews(unit: &mut Unit) {
    let tree = unit.tree().cloned();
    for review in &mut unit.rounds.streak {
        review.tree = review.tree.take().or(tree.clone());
    }
    unit.evidence.base_only = true;
}
