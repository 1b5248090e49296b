//! Turns: who is next, which tree the turn before left, what a review came to, and what agents are told.

use std::collections::BTreeSet;

use crate::bubble::{
    BubbleState, CHECK_TRIES, Handover, KnownSession, NOTES_KEPT, Notice, Parked, Phase, SUMMARIES_KEPT,
    SUPERSEDED_KEPT, Stage, Turn,
};
use crate::facts::{CheckPlace, Outcome, Receipt, RoundRoles, Seat, Seats, Snapshot};
use crate::ids::{AgentId, FindingId, Party};
use crate::log::{Control, ControlAction, Delivery, Judged, Lifecycle, NextTurn, Pass, Reason, Verdict};
use crate::progress::{CheckState, HandoverSummary, Returned, RoundStage, WentBack, WorkEvidence};
use crate::time::Moment;

/// Counts a new round with these seats: an implementer's turn, and every look at what it leaves.
pub(super) fn begin_round(state: &mut BubbleState, seats: Seats) {
    state.rounds.round += 1;
    state.rounds.spent.rounds += 1;
    state.rounds.sent_back = 0;
    state.rounds.stage = RoundStage::Pending;
    seat(state, seats);
}

/// Takes back a round that no agent has worked in: a person is asked whether there is one at all.
pub(super) fn hold_round(state: &mut BubbleState) {
    let rounds = &mut state.rounds;
    if rounds.stage != RoundStage::Pending || rounds.round < 2 {
        return;
    }
    let round = rounds.round;
    rounds.history.retain(|roles| roles.round != round);
    rounds.round -= 1;
    rounds.spent.rounds = rounds.spent.rounds.saturating_sub(1);
    rounds.stage = RoundStage::AwaitingNext;
    let kept = rounds
        .history
        .last()
        .is_some_and(|last| last.implementer == rounds.seats.implementer && last.reviewer == rounds.seats.reviewer);
    if !kept {
        // The agents had swapped for the looks of the round before.
        seat(state, state.rounds.seats.clone());
    }
}

/// Begins the round that a person was asked about.
pub(super) fn grant_round(state: &mut BubbleState) {
    if state.rounds.stage == RoundStage::AwaitingNext {
        begin_round(state, state.rounds.seats.clone());
    }
}

/// Seats the agents anew, in the present round.
fn seat(state: &mut BubbleState, seats: Seats) {
    let roles = RoundRoles {
        round: state.rounds.round,
        implementer: seats.implementer.clone(),
        reviewer: seats.reviewer.clone(),
    };
    state.rounds.history.push(roles);
    state.rounds.seats = seats;
}

/// Gives the next turn to the agent in `seat`, and sets the bubble running.
pub(super) fn begin_turn(state: &mut BubbleState, seat: Seat, stage: Stage, at: Moment) {
    state.rounds.turns += 1;
    let agent = state.rounds.seats.agent(seat).clone();
    let before = state.phase.turn().is_some_and(|turn| turn.follows_handover);
    let follows_handover = before || matches!(stage, Stage::Closing(_));
    let turn = Turn {
        number: state.rounds.turns,
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
        acceptance: false,
    };
    // The holder of the turn says itself whether its account is used up.
    state.presence.parked = None;
    state.rounds.returned = None;
    let waiting = matches!(state.phase, Phase::WaitingHuman(_));
    state.phase = if waiting { Phase::WaitingHuman(turn) } else { Phase::Running(turn) };
}

pub(super) fn opened(state: &mut BubbleState, number: u32, slices: u32, at: Moment) {
    let Some(turn) = state.phase.turn_mut().filter(|turn| turn.number == number) else { return };
    turn.stage = Stage::Open;
    turn.slices = slices;
    turn.follows_handover = false;
    state.rounds.stage = RoundStage::Begun;
    (turn.since, turn.heard, turn.uninterrupted) = (at, at, at);
    let held =
        state.phase.turn().map(|turn| turn.agent.clone()).map(|agent| state.rounds.held.entry(agent).or_default());
    if let Some(held) = held.filter(|held| held.last != number) {
        held.count += 1;
        held.last = number;
    }
}

/// An agent handed over. Work goes to the reviewer; who is next after a review is concluded once its tree is recorded.
pub(super) fn passed(state: &mut BubbleState, by: &AgentId, pass: &Pass, at: Moment) {
    let Some(turn) = state.phase.turn() else { return };
    let (seat, others_at_work) = (turn.seat, turn.others_at_work);
    said(state, by, seat, &pass.summary);
    if let Some(explanation) = &pass.explanation {
        state.gate.explanation.take_over(explanation);
    }
    let handover = Handover {
        by: by.clone(),
        seat,
        round: state.rounds.round,
        discuss: pass.discuss,
        others_at_work,
        waived: Vec::new(),
        checks_changed: false,
        closed: Vec::new(),
    };
    match seat {
        Seat::Implementer => {
            state.gate.said_before.append(&mut state.gate.notes);
            let surplus = state.gate.said_before.len().saturating_sub(NOTES_KEPT);
            state.gate.said_before.drain(..surplus);
            state.ledger.answer(by, state.rounds.round, &pass.answers, state.rounds.reviewed.as_ref());
            state.dry_run(by, pass);
            begin_turn(state, Seat::Reviewer, Stage::Closing(handover), at);
        }
        Seat::Judge => {
            let Some(judgement) = &pass.judgement else { return };
            state.ledger.judged(by, state.rounds.round, judgement);
            state.rounds.contested.retain(|id| *id != judgement.finding);
            if state.rounds.contested.is_empty() {
                close(state, handover);
            }
        }
        Seat::Reviewer if pass.acceptance => {
            state.write_acceptance(by, pass);
            begin_turn(state, Seat::Implementer, Stage::Opening, at);
        }
        Seat::Reviewer => {
            let handover = Handover { closed: state.review(by, handover.round, Some(pass)), ..handover };
            state.gate.steps.clone_from(&pass.steps);
            count_look(state);
            close(state, handover);
        }
    }
}

/// Counts a review.
pub(super) fn count_look(state: &mut BubbleState) {
    state.rounds.spent.looks += 1;
    state.rounds.looks += 1;
}

/// The holder of the turn has handed over; who is next follows from the verdict.
fn close(state: &mut BubbleState, handover: Handover) {
    if let Some(turn) = state.phase.turn_mut() {
        turn.stage = Stage::Closing(handover);
        turn.follows_handover = true;
    }
}

/// Keeps what an agent said about its turn.
pub(super) fn said(state: &mut BubbleState, by: &AgentId, seat: Seat, summary: &str) {
    state.gate.summaries.push_back(HandoverSummary {
        round: state.rounds.round,
        seat,
        agent: by.clone(),
        summary: summary.to_owned(),
    });
    let surplus = state.gate.summaries.len().saturating_sub(SUMMARIES_KEPT);
    state.gate.summaries.drain(..surplus);
}

pub(super) fn snapshot_taken(state: &mut BubbleState, snapshot: &Snapshot) {
    let changed = state.tree() != Some(&snapshot.tree);
    let base_only = std::mem::take(&mut state.evidence.base_only);
    let stage = state.phase.turn().map(|turn| turn.stage.clone());
    if changed {
        state.evidence.receipts.clear();
        state.evidence.superseded.clear();
        state.evidence.could_not.clear();
        state.evidence.not_available.clear();
        if !base_only {
            state.rounds.streak.clear();
        }
        if let Some(author) = snapshot.author.as_ref().filter(|author| !state.rounds.authors.contains(author)) {
            state.rounds.authors.push(author.clone());
        }
    }
    touch(state, snapshot);
    state.evidence.snapshot = Some(snapshot.clone());
    state.evidence.snapshots += 1;
    match stage {
        Some(Stage::Closing(handover)) if handover.seat == Seat::Implementer => {
            supersede(state);
            set_stage(state, Stage::Opening);
        }
        Some(Stage::Open) if snapshot.author == Some(Party::Human) => set_stage(state, Stage::Opening),
        _ => {}
    }
}

/// Writes down in which round the files were changed that still differ from the base.
fn touch(state: &mut BubbleState, snapshot: &Snapshot) {
    let round = match state.phase.turn().map(|turn| &turn.stage) {
        Some(Stage::Closing(handover)) => handover.round,
        _ => state.rounds.round,
    };
    for file in &snapshot.since_last {
        let rounds = state.evidence.touched.entry(file.path.clone()).or_default();
        if rounds.last() != Some(&round) {
            rounds.push(round);
        }
    }
    let differ: BTreeSet<_> = snapshot.changed.iter().map(|file| file.path.as_str()).collect();
    state.evidence.touched.retain(|path, _| differ.contains(path.as_str()));
}

/// Applies what the policy concluded.
pub(super) fn judged(state: &mut BubbleState, verdict: &Verdict, at: Moment) {
    match &verdict.on {
        Judged::Review { by, round } if verdict.reasons.contains(&Reason::TreeChanged) => {
            let closed = closing(state).map(|handover| std::mem::take(&mut handover.closed));
            state.ledger.retract(by, *round, &closed.unwrap_or_default())
        }
        Judged::Work if verdict.next == NextTurn::Implement => return sent_back(state, &verdict.reasons, at),
        _ => {}
    }
    let contested = verdict.reasons.iter().find_map(|reason| match reason {
        Reason::Contested { findings } => Some(findings.clone()),
        _ => None,
    });
    state.rounds.contested = contested.unwrap_or_default();
    let renews = match &verdict.on {
        // The person wants it dealt with, so there is a fresh budget for that.
        Judged::Waiver => true,
        Judged::Merge => state.gate.certificate.take().is_some(),
        Judged::Work | Judged::Review { .. } | Judged::Dispute { .. } | Judged::Checks => false,
    };
    go_on(state, verdict, at);
    if renews {
        state.renew_budget();
    }
}

/// Gives the turn to whom the verdict says.
fn go_on(state: &mut BubbleState, verdict: &Verdict, at: Moment) {
    if matches!(verdict.on, Judged::Review { .. }) {
        state.rounds.contradicted = verdict.clean.is_none();
    }
    match &verdict.clean {
        Some(review) => state.rounds.streak.push(review.clone()),
        None if verdict.keeps_clean => {}
        None if verdict.next != NextTurn::Recheck && verdict.on != Judged::Work => state.rounds.streak.clear(),
        None => {}
    }
    let next = match verdict.next {
        NextTurn::Stay => return,
        NextTurn::Accept => return settle(state),
        NextTurn::Implement => Seat::Implementer,
        NextTurn::Review | NextTurn::Recheck => Seat::Reviewer,
        NextTurn::Judge => Seat::Judge,
    };
    match next {
        Seat::Implementer => begin_round(state, verdict.seats.clone()),
        // A clean review that does not suffice seats the agents anew, also if the same one reviews again.
        Seat::Reviewer if verdict.clean.is_some() || verdict.seats != state.rounds.seats => {
            seat(state, verdict.seats.clone())
        }
        // The judge sits beside the others.
        Seat::Judge => state.rounds.seats = verdict.seats.clone(),
        Seat::Reviewer => {}
    }
    begin_turn(state, next, Stage::Opening, at);
}

/// The reviews suffice.
fn settle(state: &mut BubbleState) {
    if let Some(turn) = state.phase.turn_mut() {
        turn.stage = Stage::Settled;
        turn.follows_handover = false;
    }
}

/// Spec: a failed check runs again when the implementer passes the same snapshot; both results are shown.
fn supersede(state: &mut BubbleState) {
    let passes: BTreeSet<_> = state.rules.checks.iter().map(|check| &check.name).collect();
    let passes = passes.into_iter().filter(|name| matches!(state.check(name), CheckState::Passed(_)));
    let passes: BTreeSet<String> = passes.cloned().collect();
    // One that passed before it failed in a fresh checkout has to pass again, too.
    run_again(state, |receipt| receipt.outcome.passed() && passes.contains(&receipt.check));
}

/// Has every check run again whose receipt is not to be kept. That it failed is remembered.
pub(super) fn run_again(state: &mut BubbleState, keep: impl Fn(&Receipt) -> bool) {
    let (kept, rest): (Vec<_>, Vec<_>) = state.evidence.receipts.drain(..).partition(keep);
    state.evidence.receipts = kept;
    state
        .evidence
        .superseded
        .extend(rest.into_iter().filter(|receipt| matches!(receipt.outcome, Outcome::Failed { .. })));
    let surplus = state.evidence.superseded.len().saturating_sub(SUPERSEDED_KEPT);
    state.evidence.superseded.drain(..surplus);
}

pub(super) fn set_stage(state: &mut BubbleState, stage: Stage) {
    if let Some(turn) = state.phase.turn_mut() {
        turn.stage = stage;
    }
}

/// The work goes back to its implementer, in the same round unless somebody has looked at it.
fn sent_back(state: &mut BubbleState, why: &[Reason], at: Moment) {
    let round = state.rounds.round;
    if state.rounds.reviewed_by.values().any(|last| last.round == round) {
        begin_round(state, state.rounds.seats.clone());
    }
    let not_shown = why.iter().filter_map(|reason| match reason {
        Reason::FixNotShown { finding } => Some(*finding),
        _ => None,
    });
    let not_shown: Vec<_> = not_shown.collect();
    state.ledger.fixes_returned(&not_shown);
    state.rounds.sent_back += 1;
    begin_turn(state, Seat::Implementer, Stage::Opening, at);
    let turn = state.last_turn_of(&state.rounds.seats.implementer);
    state.rounds.returned = state.tree().cloned().map(|tree| Returned { turn, tree });
    state.rounds.went_back = state.tree().cloned().map(|tree| WentBack { tree, why: why.to_vec(), asked: false });
}

pub(super) fn checked(state: &mut BubbleState, receipt: &Receipt) {
    let tries = match receipt.outcome {
        Outcome::CouldNotCheck { .. } => {
            let tries = state.evidence.could_not.entry(receipt.check.clone()).or_default();
            *tries += 1;
            *tries
        }
        _ => {
            state.evidence.could_not.remove(&receipt.check);
            CHECK_TRIES
        }
    };
    match receipt.place {
        // On the base only what is left after the last try says anything.
        CheckPlace::Base if tries < CHECK_TRIES => {}
        CheckPlace::Base => {
            state.evidence.could_not.remove(&receipt.check);
            state.evidence.baseline.push(receipt.clone());
        }
        _ => state.evidence.receipts.push(receipt.clone()),
    }
}

/// The reproducer of a finding was run. One that could not be run is tried again, then dropped.
pub(super) fn reproduced(state: &mut BubbleState, finding: FindingId, receipt: &Receipt) {
    if matches!(receipt.outcome, Outcome::CouldNotCheck { .. }) {
        let tries = state.evidence.could_not.entry(WorkEvidence::tries_of(finding)).or_default();
        *tries += 1;
        if *tries < CHECK_TRIES {
            return;
        }
    } else {
        state.evidence.could_not.remove(&WorkEvidence::tries_of(finding));
    }
    // Tests that came back once and cannot run on the base may need what the work brings.
    let keeps_tests = state.evidence.snapshot.is_none() && state.rounds.acceptance_turns > 1;
    state.ledger.reproduced(finding, receipt, state.rounds.round, keeps_tests);
}

/// The clean reviews hold for the tree that the next snapshot brings: only the base differs.
pub(super) fn keep_reviews(state: &mut BubbleState) {
    let tree = state.tree().cloned();
    for review in &mut state.rounds.streak {
        review.tree = review.tree.take().or(tree.clone());
    }
    state.evidence.base_only = true;
}

/// The hand-over whose tree is not recorded yet.
pub(super) fn closing(state: &mut BubbleState) -> Option<&mut Handover> {
    match &mut state.phase.turn_mut()?.stage {
        Stage::Closing(handover) => Some(handover),
        _ => None,
    }
}

/// The holder of the open turn is to be told; an older notice to the same agent says nothing that this one does not.
pub(super) fn notify_holder(state: &mut BubbleState) {
    let Phase::Running(turn) = &state.phase else { return };
    if !turn.is_open() || !state.notifies() {
        return;
    }
    let (agent, turn) = (turn.agent.clone(), turn.number);
    state.presence.notices += 1;
    // The turn has moved on: nobody else has anything to read any more.
    state.presence.outbox.clear();
    state.presence.outbox.push(Notice { number: state.presence.notices, agent, turn, attempts: 0, sent: None });
}

/// An agent did something that it can only do after reading, and with an account that is not used up.
pub(super) fn has_read(state: &mut BubbleState, agent: &AgentId) {
    knows_return(state, agent);
    state.sits_down(agent);
    state.presence.outbox.retain(|notice| notice.agent != *agent);
    state.presence.parked = state.presence.parked.take().filter(|parked| parked.agent != *agent);
}

/// From here on `agent` knows that its work came back, if it did: the same words are a new hand-over.
fn knows_return(state: &mut BubbleState, agent: &AgentId) {
    if state.phase.turn().is_some_and(|turn| turn.agent == *agent) {
        state.rounds.returned = None;
    }
}

/// The holder of the turn gave a sign of life.
pub(super) fn heard(state: &mut BubbleState, sender: &Party, at: Moment) {
    if let Some(turn) = state.phase.turn_mut().filter(|turn| *sender == Party::Agent(turn.agent.clone())) {
        turn.heard = at;
    }
}

pub(super) fn delivered(state: &mut BubbleState, to: &Party, delivery: &Delivery, at: Moment) {
    if delivery.acknowledged {
        state.presence.outbox.retain(|notice| notice.number != delivery.notice);
        if let Party::Agent(agent) = to {
            knows_return(state, agent);
            state.sits_down(agent);
        }
        heard(state, to, at);
        return;
    }
    if let Some(notice) = state.presence.outbox.iter_mut().find(|notice| notice.number == delivery.notice) {
        notice.attempts = delivery.attempt;
        notice.sent = Some(at);
    }
}

pub(super) fn session_known(state: &mut BubbleState, fact: &Lifecycle) {
    let Lifecycle::AgentSession { agent, turn, seat, session } = fact else { return };
    state.note_session(KnownSession { agent, turn: *turn, seat: *seat, id: session.as_ref() });
}

/// An intervention that is about the agents' programs.
pub(super) fn intervened(state: &mut BubbleState, control: &Control, to: &Party, at: Moment) {
    match (control.action, to) {
        (ControlAction::Nudge, _) => {
            if let Some(turn) = state.phase.turn_mut() {
                turn.nudges += 1;
                turn.heard = at;
            }
        }
        (ControlAction::Restart, _) => {
            state.presence.restarts += 1;
            state.presence.parked = None;
            state.presence.outbox.clear();
            notify_holder(state);
        }
        (ControlAction::Park, Party::Agent(agent)) => {
            state.presence.parked = control.until.map(|until| Parked { agent: agent.clone(), since: at, until });
        }
        (ControlAction::Unpark, _) => {
            state.presence.parked = None;
            if let Some(turn) = state.phase.turn_mut() {
                turn.heard = at;
            }
            notify_holder(state);
        }
        _ => {}
    }
}
