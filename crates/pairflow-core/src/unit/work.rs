//! What the supervisor reports: snapshots, receipts, opened turns, ended agents, and time.

use crate::facts::{Outcome, Receipt, Snapshot};
use crate::ids::{FindingId, Party};
use crate::log::{Body, Event, Evidence, Lifecycle, QuestionKind};
use crate::rounds::{Row, RowState, Severity};
use crate::time::Moment;
use crate::unit::human::own_question;
use crate::unit::lifecycle::own;
use crate::unit::{
    CHECK_TRIES, CheckState, Decided, FILED_KEPT, Filed, Phase, Refusal, Seat, Stage, Turn, Unit, converge,
};

/// A snapshot was taken: after a hand-over, or because the tree was not the expected one.
pub(super) fn snapshot(unit: &Unit, snapshot: &Snapshot) -> Result<Decided, Refusal> {
    let stage = unit.phase.turn().map(|turn| &turn.stage);
    let owed = match stage {
        Some(Stage::Closing(handover)) => snapshot.author == Party::Agent(handover.by.clone()),
        Some(Stage::Opening) => {
            // What pairflow itself put into the worktree before the first turn is nobody else's work.
            let own = snapshot.author == Party::Orchestrator && unit.snapshot.is_none();
            (own || snapshot.author == Party::Human) && unit.tree() != Some(&snapshot.tree)
        }
        _ => false,
    };
    if !owed {
        return Err(Refusal::NotOwed);
    }
    let reviewed = matches!(stage, Some(Stage::Closing(handover)) if handover.seat == Seat::Critic);
    let fact = Evidence::Snapshot { snapshot: snapshot.clone() };
    let mut events = vec![Event::own(unit.round, Body::Evidence(fact))];
    if reviewed {
        events.extend(stop(unit, &events));
    }
    Ok(Decided::of(events))
}

/// The reproducer of a finding was run on the newest snapshot.
pub(super) fn reproduced(unit: &Unit, finding: FindingId, receipt: &Receipt) -> Result<Decided, Refusal> {
    let here = unit.snapshot.as_ref().is_some_and(|snapshot| snapshot.tree == receipt.tree);
    let wanted = unit.to_reproduce().any(|(id, command)| id == finding && command == receipt.command);
    if !here || !wanted {
        return Err(Refusal::NotOwed);
    }
    let fact = Evidence::Reproduced { finding, receipt: receipt.clone() };
    let mut events = vec![Event::own(unit.round, Body::Evidence(fact))];
    events.extend(stop(unit, &events));
    Ok(Decided::of(events))
}

/// The one question with which a loop stops that does not get anywhere: a finding that wants an earlier one undone,
/// two reviews in a row that brought only what could have been said before, or no reviews left.
pub(super) fn stop(unit: &Unit, events: &[Event]) -> Option<Event> {
    let after = converge::fold(unit, events, Moment::default());
    let turn = after.phase.turn()?;
    let settled = turn.stage == Stage::Settled;
    let asked = after.questions.iter().any(|open| open.kind.is_tie_break());
    if settled || asked || after.to_reproduce().next().is_some() {
        return None;
    }
    if turn.seat == Seat::Producer {
        if let Some(row) = after.ledger.open().find(|row| row.state == RowState::Reversal && row.severity.blocks()) {
            return Some(reversal(&after, row));
        }
        if only_late(&after) {
            return Some(late(&after));
        }
    }
    tie_break(&after)
}

fn reversal(unit: &Unit, row: &Row) -> Event {
    let why = row.history.last().map_or("asks to undo an earlier finding", |change| change.note.as_str());
    let question = format!(
        "{} {why}, so that the loop would go round in circles. Accept the work as it is, or continue? Say which of the \
         two findings holds.",
        row.short()
    );
    own_question(unit, QuestionKind::Reversal, question)
}

/// Whether the two newest reviews each brought P1 findings, and nothing but such that their reviewers had missed
/// when they reviewed the same lines before.
fn only_late(unit: &Unit) -> bool {
    let late = |filed: &Filed| {
        let rows = filed.findings.iter().filter_map(|id| unit.ledger.get(*id));
        let grave: Vec<_> = rows.filter(|row| row.severity.blocks()).collect();
        !filed.reopened && !grave.is_empty() && grave.iter().all(|row| row.severity == Severity::P1 && row.late())
    };
    unit.filed.len() >= FILED_KEPT && unit.filed.iter().all(late)
}

fn late(unit: &Unit) -> Event {
    let ids: Vec<_> = unit.filed.iter().flat_map(|filed| &filed.findings).map(ToString::to_string).collect();
    let question = format!(
        "two reviews in a row brought only findings on lines that the same reviewers had seen before ({}). Accept the \
         work as it is, or continue?",
        ids.join(", ")
    );
    own_question(unit, QuestionKind::Late, question)
}

/// The question that stops a loop whose reviews are used up.
fn tie_break(after: &Unit) -> Option<Event> {
    if after.reviews_left() > 0 {
        return None;
    }
    let open = match after.ledger.blocking().count() {
        0 => "no P0/P1 finding is open".to_owned(),
        1 => "one P0/P1 finding is open".to_owned(),
        n => format!("{n} P0/P1 findings are open"),
    };
    let reviews = match after.reviews {
        1 => "one review has".to_owned(),
        n => format!("{n} reviews have"),
    };
    let question = format!(
        "{reviews} not brought an agreement; {open}. Accept the work as it is, or continue with a fresh budget?"
    );
    Some(own_question(after, QuestionKind::TieBreak, question))
}

/// A check was run on the newest snapshot.
pub(super) fn checked(unit: &Unit, receipt: &Receipt) -> Result<Decided, Refusal> {
    let wanted = unit.rules.checks.iter().any(|check| check.name == receipt.check && check.command == receipt.command);
    let here = unit.snapshot.as_ref().is_some_and(|snapshot| snapshot.tree == receipt.tree);
    if !wanted || !here || given_up(unit, &receipt.check) || unit.check(&receipt.check) != CheckState::Missing {
        return Err(Refusal::NotOwed);
    }
    let fact = Evidence::Receipt { receipt: receipt.clone() };
    let mut events = vec![Event::own(unit.round, Body::Evidence(fact))];
    events.extend(could_not_check(unit, &events));
    Ok(Decided::of(events))
}

/// The one question about all checks that could not be run, once nothing else is left to try.
fn could_not_check(unit: &Unit, events: &[Event]) -> Option<Event> {
    let after = converge::fold(unit, events, Moment::default());
    let missing = super::missing_checks(&after);
    if missing.is_empty() || !missing.iter().all(|check| given_up(&after, &check.name)) {
        return None;
    }
    let why = after.receipts.iter().rev().find_map(|receipt| match &receipt.outcome {
        Outcome::CouldNotCheck { why } => Some(why.as_str()),
        _ => None,
    });
    let names = missing.iter().map(|check| format!("'{}'", check.name)).collect::<Vec<_>>().join(", ");
    let (checks, them) = if missing.len() == 1 { ("check", "it") } else { ("checks", "them") };
    let question = format!(
        "the {checks} {names} could not be run ({}). Try again (continue), or record {them} as not available (accept)?",
        why.unwrap_or("no reason is known")
    );
    Some(own_question(unit, QuestionKind::CouldNotCheck, question))
}

fn given_up(unit: &Unit, check: &str) -> bool {
    unit.could_not.get(check).is_some_and(|tries| *tries >= CHECK_TRIES)
}

/// Everything before a turn is done.
pub(super) fn open(unit: &Unit, turn: &Turn, number: u32) -> Result<Decided, Refusal> {
    let ready = turn.stage == Stage::Opening && turn.number == number && !unit.paused && !unit.updating;
    if !ready || !super::missing_checks(unit).is_empty() || unit.to_reproduce().next().is_some() {
        return Err(Refusal::NotOwed);
    }
    let fact = Lifecycle::TurnOpened { turn: number, seat: turn.seat, agent: turn.agent.clone() };
    let mut event = own(unit, fact);
    event.recipient = Party::Agent(turn.agent.clone());
    Ok(Decided::one(event))
}

/// The process of the agent whose turn it is ended without a hand-over.
pub(super) fn agent_ended(unit: &Unit, turn: &Turn, number: u32, how: &str) -> Result<Decided, Refusal> {
    if !turn.is_open() || turn.number != number || unit.paused {
        return Err(Refusal::NotOwed);
    }
    let question = format!(
        "{} ended {how} without handing over (round {}, as {}). Look at its output, then go on with 'pairflow resume {}'.",
        turn.agent, unit.round, turn.seat, unit.id
    );
    Ok(Decided::one(own_question(unit, QuestionKind::AgentEnded, question)))
}

/// An effect failed again and again.
pub(super) fn trouble(unit: &Unit, reason: &str) -> Decided {
    Decided::one(own_question(unit, QuestionKind::Trouble, reason.to_owned()))
}

/// Time went by: an agent that was silent for too long becomes a question, once.
pub(super) fn tick(unit: &Unit, now: Moment) -> Decided {
    let (Some((heard, limit)), Phase::Running(turn)) = (unit.silence_ends(), &unit.phase) else {
        return Decided::default();
    };
    if now.since(heard) < limit {
        return Decided::default();
    }
    let question = format!(
        "{} has not sent a pairflow command for {} minutes (round {}, as {}). Go on with 'pairflow resume {}' when it is back at work.",
        turn.agent, unit.rules.watchdog_timeout_minutes, unit.round, turn.seat, unit.id
    );
    Decided::one(own_question(unit, QuestionKind::Watchdog, question))
}
