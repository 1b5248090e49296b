//! The questions with which a loop stops that would not end well by itself. Each shows what both sides say, the evidence,
//! and what each answer leads to.

use crate::facts::{Receipt, RowState, Ruling, Seat};
use crate::findings::{ReproducerState, Row, RowChange};
use crate::ids::{FindingId, Party};
use crate::log::{Question, QuestionKind, Reason};
use crate::policy::Facts;
use crate::progress::Spent;

/// The most reviews of one budget, however many rounds they belong to.
pub(in crate::policy) const MAX_LOOKS: u32 = 12;
/// How many findings a question tells at length.
const TOLD: usize = 5;
/// How much of what one side says a question quotes, in characters.
const QUOTED: usize = 400;
/// How many of the last lines of a failing check a question quotes.
const QUOTED_LINES: usize = 8;

/// The question about a finding that wants an earlier one undone.
pub(in crate::policy) fn reversal(facts: Facts<'_>, row: &Row, seat: Seat) -> Question {
    let why = row.history.last().map_or("asks to undo an earlier finding", |change| change.note.as_str());
    let mut text = format!("{} {why}, so the loop would not end.\n{}", row.short(), arguments(row));
    let older = row.reverses.and_then(|id| facts.ledger.get(id));
    text.extend(older.map(|older| format!("\n{}", arguments(older))));
    text.push_str("\nSay which of the two holds: your message goes to the agents.");
    text.push_str(&answers(facts, seat, &[row.id]));
    Question { findings: vec![row.id], ..Question::new(QuestionKind::Reversal, text) }
}

/// The question about findings on which the agents do not agree although a judge has decided.
pub(in crate::policy) fn deadlock(facts: Facts<'_>, seat: Seat) -> Option<Question> {
    let rows: Vec<_> = facts.ledger.open().filter(|row| row.is_deadlocked()).collect();
    let findings: Vec<_> = rows.iter().take(TOLD).map(|row| row.id).collect();
    let mut text = match rows.as_slice() {
        [] => return None,
        [one] => format!("the agents do not agree on {}, and only you can decide it.", one.id),
        _ => "the agents do not agree on these findings, and only you can decide them.".to_owned(),
    };
    rows.iter().take(TOLD).for_each(|row| text.push_str(&format!("\n{}", arguments(row))));
    text.push_str(&answers(facts, seat, &findings));
    Some(Question { findings, ..Question::new(QuestionKind::Deadlock, text) })
}

/// The question that stops a loop whose rounds or reviews are used up, if the turn of `seat` were one too many.
pub(in crate::policy) fn cap(facts: Facts<'_>, seat: Seat, max_looks: u32) -> Option<Question> {
    let Spent { rounds, looks } = facts.rounds.spent;
    let used = match rounds.saturating_sub(1) {
        _ if looks >= max_looks => format!("{looks} reviews have"),
        done if seat != Seat::Implementer || done < facts.rules.max_rounds => return None,
        1 => "one round has".to_owned(),
        done => format!("{done} rounds have"),
    };
    let rows: Vec<_> = facts.ledger.blocking().collect();
    let open = match rows.len() {
        0 => "no P0/P1 finding is open".to_owned(),
        1 => "one P0/P1 finding is open".to_owned(),
        n => format!("{n} P0/P1 findings are open"),
    };
    let mut text = format!("{used} ended without agreement; {open}.");
    rows.iter().take(TOLD).for_each(|row| text.push_str(&format!("\n{}", arguments(row))));
    if rows.len() > TOLD {
        text.push_str(&format!("\n(and {} more: pairflow findings {})", rows.len() - TOLD, facts.id));
    }
    // Only what is told can be decided, and what a command shows is waived, not argued about.
    let findings: Vec<_> = rows.iter().take(TOLD).filter(|row| !row.proven()).map(|row| row.id).collect();
    text.push_str(&answers(facts, seat, &findings));
    Some(Question { findings, ..Question::new(QuestionKind::TieBreak, text) })
}

/// Asks what is to become of reviewed work that fails since the base was merged: the base itself may fail.
pub(in crate::policy) fn fails_since_merge(facts: Facts<'_>, why: &[Reason]) -> Question {
    let (base, id) = (&facts.rules.base_branch, facts.id);
    let text = format!(
        "since {base} was merged into the reviewed work, {}. {base} itself may fail: fix it there, then \
         `pairflow pause {id}` and `pairflow update {id}`.",
        told(why).join(", ")
    );
    failing(facts, text)
}

/// Asks what is to become of files that fail again in the same way.
pub(in crate::policy) fn fails_again(facts: Facts<'_>, why: &[Reason]) -> Question {
    let implementer = &facts.rounds.seats.implementer;
    failing(facts, format!("{implementer} handed over the same files again; {}.", told(why).join(", ")))
}

/// Asks what is to become of work that fails, where nobody reviews it.
pub(in crate::policy) fn fails_unreviewed(facts: Facts<'_>, why: &[Reason]) -> Question {
    failing(facts, format!("the work fails, and no reviewer looks at it: {}.", told(why).join(", ")))
}

/// Returns reasons as the ends of sentences about the work.
pub fn told(reasons: &[Reason]) -> Vec<String> {
    let told = |reason: &Reason| match reason {
        Reason::NothingChanged => Some("it changes no file".to_owned()),
        Reason::CheckFails { check } => Some(format!("the check '{check}' fails")),
        Reason::ReproducerFails { finding } => Some(format!("the reproducer of {finding} still fails")),
        Reason::FixFails { finding } => Some(format!("the test of the fix of {finding} fails")),
        Reason::DecidedByPerson { finding } => Some(format!("the person decided that {finding} holds")),
        Reason::FixNotShown { finding } => Some(format!("no test shows that {finding} is fixed")),
        _ => None,
    };
    reasons.iter().filter_map(told).collect()
}

/// The question about what fails on the newest tree: commands, last lines, and what can be done.
fn failing(facts: Facts<'_>, mut text: String) -> Question {
    let (agent, id) = (&facts.rounds.seats.implementer, facts.id);
    for name in facts.failing_checks() {
        let command = facts.rules.checks.iter().find(|check| check.name == name).map(|check| check.command.as_str());
        text.push_str(&format!("\n'{name}' runs: {}", command.unwrap_or_default()));
        let receipt = facts.evidence.receipts.iter().rev().find(|receipt| receipt.check == name);
        text.push_str(&receipt.map(quoted).unwrap_or_default());
    }
    for row in facts.failing_rows().take(TOLD) {
        let command = row.reproducer.as_ref().map_or("", |one| one.command.as_str());
        text.push_str(&format!("\nthe reproducer of {} runs: {command}", row.short()));
        let tail = row.reproducer.iter().flat_map(|one| one.tail.lines());
        tail.for_each(|line| text.push_str(&format!("\n  {line}")));
    }
    let last = facts.last_said.map(|said| format!("\n{} says: {}", said.agent, said.summary));
    text.push_str(&last.unwrap_or_default());
    let own = |name: &&str| facts.rules.checks.iter().any(|check| check.name == **name && check.is_own());
    let correct = facts.failing_checks().find(|name| !own(name)).map(|name| {
        format!(
            " If the command itself is wrong, correct it with `pairflow config set {id} commands.{name}='…'`; it then runs \
             again. A waiver lets the work be reviewed and accepted all the same."
        )
    });
    text.push_str(&format!("\nA reply goes to {agent}, which has the turn again.{}", correct.unwrap_or_default()));
    text.push_str(&about_reproducers(facts));
    let checks = facts.failing_checks().map(str::to_owned).collect();
    Question { checks, ..Question::new(QuestionKind::Failing, text) }
}

/// Returns the last lines that a check printed, each on a line of its own.
pub fn quoted(receipt: &Receipt) -> String {
    let tail: Vec<_> = receipt.tail.lines().collect();
    tail[tail.len().saturating_sub(QUOTED_LINES)..].iter().fold(String::new(), |text, line| text + "\n  " + line)
}

/// What each answer leads to. The first is the one that loses nothing.
fn answers(facts: Facts<'_>, seat: Seat, findings: &[FindingId]) -> String {
    let budget = match facts.rules.max_rounds {
        1 => "one more round".to_owned(),
        n => format!("up to {n} more rounds"),
    };
    let agent = facts.rounds.seats.agent(seat);
    let accept = match facts.checks_not_passed().next() {
        _ if facts.evidence.changes_nothing() => "not possible: the work changes no file".to_owned(),
        Some(check) => format!("not possible yet: the check '{check}' has not passed; waive it first, or continue"),
        None => "accepts the work as it is: open findings stay open, and the package lists them".to_owned(),
    };
    let about = about_reproducers(facts);
    let ids = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let sides = match findings.len() {
        0 => String::new(),
        1 => format!(
            "\nside-with-finding: {ids} holds and has to be fixed.\
             \nside-with-implementer: {ids} does not hold and is dismissed."
        ),
        _ => format!(
            "\nside-with-finding: {ids} hold and have to be fixed.\
             \nside-with-implementer: {ids} do not hold and are dismissed."
        ),
    };
    format!("{sides}\ncontinue: goes on with {agent} as {seat}, {budget}.\naccept: {accept}.{about}")
}

/// Says for each finding that a reproducer shows what can be done if the reproducer itself is wrong.
fn about_reproducers(facts: Facts<'_>) -> String {
    let (id, implementer) = (facts.id, &facts.rounds.seats.implementer);
    let shown = facts.ledger.blocking().filter(|row| row.proven()).take(TOLD);
    let told = shown.filter_map(|row| {
        let (finding, author) = (row.id, row.reproducer_by()?);
        Some(format!(
            "\nIf the reproducer of {finding} is wrong: {author} may take it back, {implementer} may dispute {finding}, and \
             `pairflow waive {id} {finding} --reason '…'` closes it."
        ))
    });
    told.collect()
}

/// What both sides say about one finding, and what was run.
fn arguments(row: &Row) -> String {
    let said = if row.detail.trim().is_empty() { String::new() } else { format!(": {}", cut(&row.detail)) };
    let mut text = format!("{} ({}), says {}{said}", row.short(), row.stands(), row.by);
    let judged = |by: &Party| matches!(&row.ruling, Some((Ruling::Dismissed, judge)) if judge == by);
    let disputes = |change: &&RowChange| change.to == RowState::Disputed && !judged(&change.by);
    let reply = row.history.iter().rev().find(disputes).filter(|change| !change.note.is_empty());
    if let Some((Party::Agent(agent), note)) = reply.map(|change| (&change.by, &change.note)) {
        text.push_str(&format!("; {agent} disputes it: {}", cut(note)));
    }
    let judge = row.history.iter().rev().find(|change| row.ruling.as_ref().is_some_and(|(_, by)| *by == change.by));
    if let (Some((ruling, _)), Some(change)) = (&row.ruling, judge) {
        text.push_str(&format!("; the judge: {ruling}, {}", cut(&change.note)));
    }
    if let Some(one) = &row.reproducer {
        let shows = match one.stand {
            ReproducerState::Fails => "fails, which shows it",
            ReproducerState::Passes => "passes now",
            ReproducerState::Pending => "has not run yet",
            ReproducerState::Dropped => "does not count",
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
