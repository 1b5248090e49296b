//! The questions with which a loop stops that would not end well by itself.

use crate::log::{Event, QuestionKind};
use crate::rounds::{Row, RowState, Severity};
use crate::time::Moment;
use crate::unit::human::own_question;
use crate::unit::refusal::list;
use crate::unit::{FILED_KEPT, Filed, Seat, Stage, Turn, Unit, converge};

/// The one question with which a loop stops that does not get anywhere: a finding that wants an earlier one undone,
/// two reviews in a row that brought only what could have been said before, no reviews left, or nothing but opinions.
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
    tie_break(&after).or_else(|| opinions(&after, turn))
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

/// The question that stops a loop which nothing but opinions keeps going: no check fails, and no command shows any of the
/// findings that are in the way. What a command shows goes back to the producer without a question.
fn opinions(after: &Unit, turn: &Turn) -> Option<Event> {
    let reviewed = after.sent_back == 0 && after.reviewed.as_ref() == after.tree();
    let discussed = after.questions.iter().any(|open| open.kind == QuestionKind::Question);
    let rows: Vec<_> = after.ledger.blocking().collect();
    let shown = rows.iter().any(|row| row.proven()) || !after.checks_not_passed().is_empty();
    // What the person has decided on is not asked again before the next review.
    if after.reviews == 0 || !reviewed || discussed || shown {
        return None;
    }
    match turn.seat {
        Seat::Producer if !rows.is_empty() && after.asks_about_unproven(after.reviews_in_all) => {
            Some(unproven(after, turn, &rows))
        }
        Seat::Critic if after.asks_after_every(after.reviews_in_all) => one_sided(after, turn),
        _ => None,
    }
}

/// Asks about findings without proof.
fn unproven(after: &Unit, turn: &Turn, rows: &[&Row]) -> Event {
    let (are, them) = match rows.len() {
        1 => ("one finding is".to_owned(), "it"),
        n => (format!("{n} findings are"), "them"),
    };
    let names: Vec<_> = rows.iter().map(|row| row.short()).collect();
    let question = format!(
        "{are} in the way, and nothing that pairflow can run shows {them}: {}. Accept the work as it is, or continue, so \
         that {} answers {them}?",
        list(&names),
        turn.agent
    );
    own_question(after, QuestionKind::Unproven, question)
}

/// Asks whether yet another review is worth it, after one agent has found the work clean.
fn one_sided(after: &Unit, turn: &Turn) -> Option<Event> {
    let clean = after.streak.last()?;
    let question = format!(
        "{} reviews have not brought an agreement; after the last one {} finds nothing grave any more. Accept the work as \
         it is, or continue, so that {} reviews it, too?",
        after.reviews_in_all, clean.agent, turn.agent
    );
    Some(own_question(after, QuestionKind::TieBreak, question))
}
