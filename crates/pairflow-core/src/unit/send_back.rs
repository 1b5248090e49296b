//! Evidence goes before opinions: work on which a check or a reproducer fails, or that changes nothing, goes back to its
//! producer before a review is paid for that could not be clean.
//!
//! The same files that fail in the same way are not handed over twice without a person: either the check is wrong, or the
//! producer does not know what to do.

use crate::facts::Receipt;
use crate::ids::{AgentId, Party};
use crate::log::{Event, Lifecycle, QuestionKind};
use crate::rounds::{Row, RowState};
use crate::unit::human::question_of_checks;
use crate::unit::lifecycle::own;
use crate::unit::{CheckState, Returned, Seat, Stage, Turn, Unit, missing_checks};

/// How often in a row work goes back without a review; after that a critic looks at it all the same.
pub const SEND_BACKS: u32 = 3;

/// How many of the last lines of a failing check a question quotes.
const QUOTED: usize = 8;
/// How many reproducers a question names with their commands.
const TOLD: usize = 5;

/// Returns what pairflow ran itself and keeps the newest tree from being accepted, each as a sentence.
pub fn failing(unit: &Unit) -> Vec<String> {
    let nothing = unit.changes_nothing().then(|| "it changes no file".to_owned());
    let checks = unit.failing_checks().map(|check| format!("the check '{check}' fails"));
    let shown = unit.failing_rows().map(|row| format!("the reproducer of {} still fails", row.id));
    nothing.into_iter().chain(checks).chain(shown).collect()
}

impl Unit {
    /// Whether the newest tree is that of the base.
    pub fn changes_nothing(&self) -> bool {
        self.evidence
            .workspace
            .as_ref()
            .is_some_and(|workspace| Some(&workspace.base_tree) == self.evidence.snapshot.as_ref().map(|one| &one.tree))
    }

    /// Returns the required checks that fail on the newest tree.
    pub fn failing_checks(&self) -> impl Iterator<Item = &str> {
        let names = self.rules.checks.iter().map(|check| check.name.as_str());
        names.filter(|name| matches!(self.check(name), CheckState::Failed(_)))
    }

    /// Returns the rows that block and whose reproducer shows the fault. Where one could not be run, nobody knows; and
    /// what the producer says against a reproducer is for its author to hear.
    pub fn failing_rows(&self) -> impl Iterator<Item = &Row> {
        let unknown = move |row: &Row| self.evidence.could_not.contains_key(&Self::tries_of(row.id));
        let shown = move |row: &&Row| row.proven() && row.state != RowState::Disputed && !unknown(row);
        self.ledger.blocking().filter(shown)
    }

    /// Says for each finding that a reproducer shows what can be done if the reproducer itself is wrong.
    pub(crate) fn about_reproducers(&self) -> String {
        let (id, implementer) = (&self.id, &self.rounds.seats.producer);
        let shown = self.ledger.blocking().filter(|row| row.proven()).take(TOLD);
        let told = shown.filter_map(|row| {
            let (finding, author) = (row.id, row.reproducer_by()?);
            Some(format!(
                "\nIf the reproducer of {finding} is wrong: {author} may take it back, {implementer} may dispute {finding}, and \
                 `pairflow waive {id} {finding} --reason '…'` closes it."
            ))
        });
        told.collect()
    }

    /// Returns the hand-over of `agent` that came back and still would, as long as the agent is not known to know that.
    pub fn returned_to(&self, agent: &AgentId) -> Option<&Returned> {
        let holds = self.phase.turn().is_some_and(|turn| turn.agent == *agent);
        self.rounds.returned.as_ref().filter(|_| holds && !failing(self).is_empty())
    }

    /// Returns why the work came back to `agent`, if it is its turn for that reason.
    pub fn came_back_to(&self, agent: &AgentId) -> Vec<String> {
        let producer = |turn: &Turn| turn.agent == *agent && turn.seat == Seat::Producer;
        let back = self.rounds.sent_back > 0 && self.phase.turn().is_some_and(producer);
        if back { failing(self) } else { Vec::new() }
    }
}

/// Sends work back on which something fails; or asks about it, if the same files came back before.
pub(super) fn send_back(unit: &Unit) -> Option<Event> {
    let why = failing(unit);
    let asked = unit.gate.questions.iter().any(|open| open.kind.is_about_checks());
    if !is_next(unit) || why.is_empty() || asked {
        return None;
    }
    let here = unit.rounds.went_back.as_ref().filter(|last| Some(&last.tree) == unit.tree());
    let merged = unit.evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.author == Some(Party::Human));
    if merged && !here.is_some_and(|last| last.asked) {
        return Some(merged_question(unit, &why));
    }
    let same = |last: &&super::WentBack| Some(&last.tree) == unit.tree() && last.why == why;
    match unit.rounds.went_back.as_ref().filter(same) {
        Some(last) if !last.asked => Some(question(unit, &why)),
        None if unit.rounds.sent_back >= SEND_BACKS => None,
        _ => {
            let agent = unit.rounds.seats.producer.clone();
            let mut event = own(unit, Lifecycle::SentBack { agent: agent.clone(), why });
            event.recipient = Party::Agent(agent);
            Some(event)
        }
    }
}

/// Asks what is to become of reviewed work that fails since the base was merged: the base itself may fail.
fn merged_question(unit: &Unit, why: &[String]) -> Event {
    let (base, id) = (&unit.rules.base_branch, &unit.id);
    let text = format!(
        "since {base} was merged into the reviewed work, {}. {base} may fail by itself: repair it there, then \
         `pairflow pause {id}` and `pairflow update {id}`.",
        why.join(", ")
    );
    question_about(unit, text)
}

/// Asks what is to become of files that fail again in the same way.
fn question(unit: &Unit, why: &[String]) -> Event {
    question_about(
        unit,
        format!("{} handed over the same files again, and {}.", unit.rounds.seats.producer, why.join(", ")),
    )
}

/// The question about what fails on the newest tree: commands, last lines, and what can be done.
fn question_about(unit: &Unit, mut text: String) -> Event {
    let (agent, id) = (&unit.rounds.seats.producer, &unit.id);
    for name in unit.failing_checks() {
        let command = unit.rules.checks.iter().find(|check| check.name == name).map(|check| check.command.as_str());
        text.push_str(&format!("\n'{name}' runs: {}", command.unwrap_or_default()));
        let receipt = unit.evidence.receipts.iter().rev().find(|receipt| receipt.check == name);
        text.push_str(&receipt.map(quoted).unwrap_or_default());
    }
    for row in unit.failing_rows().take(TOLD) {
        let command = row.reproducer.as_ref().map_or("", |one| one.command.as_str());
        text.push_str(&format!("\nthe reproducer of {} runs: {command}", row.short()));
        let tail = row.reproducer.iter().flat_map(|one| one.tail.lines());
        tail.for_each(|line| text.push_str(&format!("\n  {line}")));
    }
    let last = unit.gate.summaries.back().map(|said| format!("\n{} says: {}", said.agent, said.summary));
    text.push_str(&last.unwrap_or_default());
    let own = |name: &&str| unit.rules.checks.iter().any(|check| check.name == **name && check.is_own());
    let correct = unit.failing_checks().find(|name| !own(name)).map(|name| {
        format!(
            " If the command itself is wrong, correct it with `pairflow config set {id} commands.{name}='…'`; it then runs \
             again. A waiver lets the work be reviewed and accepted all the same."
        )
    });
    text.push_str(&format!("\nA reply goes to {agent}, which has the turn again.{}", correct.unwrap_or_default()));
    text.push_str(&unit.about_reproducers());
    question_of_checks(unit, QuestionKind::Failing, text, unit.failing_checks())
}

/// The last lines that a check printed, each on a line of its own.
pub(super) fn quoted(receipt: &Receipt) -> String {
    let tail: Vec<_> = receipt.tail.lines().collect();
    tail[tail.len().saturating_sub(QUOTED)..].iter().fold(String::new(), |text, line| text + "\n  " + line)
}

/// Whether a critic is about to review what the producer left, and all evidence about it is there.
fn is_next(unit: &Unit) -> bool {
    let opening = unit.phase.turn().is_some_and(|turn| turn.seat == Seat::Critic && turn.stage == Stage::Opening);
    let author = unit.evidence.snapshot.as_ref().and_then(|snapshot| snapshot.author.as_ref());
    let produced = author == Some(&Party::Agent(unit.rounds.seats.producer.clone()));
    // What a review found nothing in, and fails now, goes back as well.
    opening
        && (produced || !unit.rounds.streak.is_empty())
        && missing_checks(unit).is_empty()
        && unit.to_reproduce().next().is_none()
}
