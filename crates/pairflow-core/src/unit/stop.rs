//! The questions with which a loop stops that would not end well by itself. Each shows what both sides say, the evidence,
//! and what each answer leads to.

use crate::ids::Party;
use crate::log::{Event, QuestionKind};
use crate::rounds::{Row, RowState, Shown};
use crate::unit::human::own_question;
use crate::unit::{MAX_LOOKS, Seat, Spent, Stage, Turn, Unit, converge};

/// How many findings a question tells at length.
const TOLD: usize = 5;
/// How much of what one side says a question quotes, in characters.
const QUOTED: usize = 400;

/// The one question with which a loop stops that does not get anywhere: a finding that wants an earlier one undone, or no
/// rounds left.
pub(super) fn stop(unit: &Unit) -> Option<Event> {
    let turn = unit.phase.turn().filter(|turn| turn.stage == Stage::Opening)?;
    let asked = unit.gate.questions.iter().any(|open| open.kind.is_tie_break());
    if asked || converge::is_reviewed(unit, turn) || unit.to_reproduce().next().is_some() {
        return None;
    }
    let reversal = |row: &&Row| row.state == RowState::Reversal && row.severity.blocks();
    match unit.ledger.open().find(reversal).filter(|_| turn.seat == Seat::Producer) {
        Some(row) => Some(reversed(unit, row)),
        None => tie_break(unit, turn),
    }
}

fn reversed(unit: &Unit, row: &Row) -> Event {
    let why = row.history.last().map_or("asks to undo an earlier finding", |change| change.note.as_str());
    let mut text = format!("{} {why}, so that the loop would go round in circles.\n{}", row.short(), arguments(row));
    let older = row.reverses.and_then(|id| unit.ledger.get(id));
    text.extend(older.map(|older| format!("\n{}", arguments(older))));
    text.push_str("\nSay which of the two holds: your message goes to the agents.");
    text.push_str(&answers(unit));
    own_question(unit, QuestionKind::Reversal, text)
}

/// The question that stops a loop whose rounds or reviews are used up.
fn tie_break(after: &Unit, turn: &Turn) -> Option<Event> {
    if !after.is_at_cap(turn.seat) {
        return None;
    }
    let rows: Vec<_> = after.ledger.blocking().collect();
    let open = match rows.len() {
        0 => "no P0/P1 finding is open".to_owned(),
        1 => "one P0/P1 finding is open".to_owned(),
        n => format!("{n} P0/P1 findings are open"),
    };
    let Spent { rounds, looks } = after.rounds.spent;
    let used = match (rounds - 1, looks) {
        (_, looks) if looks >= MAX_LOOKS => format!("{looks} reviews have"),
        (1, _) => "one round has".to_owned(),
        (rounds, _) => format!("{rounds} rounds have"),
    };
    let mut text = format!("{used} not brought an agreement; {open}.");
    rows.iter().take(TOLD).for_each(|row| text.push_str(&format!("\n{}", arguments(row))));
    if rows.len() > TOLD {
        text.push_str(&format!("\n(and {} more: pairflow findings {})", rows.len() - TOLD, after.id));
    }
    text.push_str(&answers(after));
    Some(own_question(after, QuestionKind::TieBreak, text))
}

/// What each answer leads to. The first is the one that loses nothing.
fn answers(unit: &Unit) -> String {
    let budget = match unit.rules.max_rounds {
        1 => "one more round".to_owned(),
        n => format!("up to {n} more rounds"),
    };
    let next = unit.phase.turn().map_or_else(String::new, |turn| format!(" with {} as {}", turn.agent, turn.seat));
    let accept = match unit.checks_not_passed().first() {
        _ if unit.changes_nothing() => "not possible: the work changes no file".to_owned(),
        Some(check) => format!("not possible yet: the check '{check}' has not passed; waive it first, or continue"),
        None => "takes the work as it is: what is open stays open, and the package says so".to_owned(),
    };
    format!("\ncontinue: goes on{next}, {budget}.\naccept: {accept}.{}", unit.about_reproducers())
}

/// What both sides say about one finding, and what was run.
fn arguments(row: &Row) -> String {
    let said = if row.detail.trim().is_empty() { String::new() } else { format!(": {}", cut(&row.detail)) };
    let mut text = format!("{} ({}), says {}{said}", row.short(), row.stands(), row.by);
    let reply = row.history.iter().rev().find(|change| change.to == RowState::Disputed && !change.note.is_empty());
    if let Some((Party::Agent(agent), note)) = reply.map(|change| (&change.by, &change.note)) {
        text.push_str(&format!("; {agent} disputes it: {}", cut(note)));
    }
    if let Some(one) = &row.reproducer {
        let shows = match one.stand {
            Shown::Fails => "fails, which shows it",
            Shown::Passes => "passes now",
            Shown::Pending => "has not run yet",
            Shown::Dropped => "does not count",
        };
        text.push_str(&format!("; its reproducer `{}` {shows}", cut(&one.command)));
        let printed = if one.tail.trim().is_empty() { String::new() } else { format!(": {}", cut(&one.tail)) };
        text.push_str(&printed);
    }
    text
}

/// The beginning of a text, on one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
