//! The checks on the base, before there is any work: what fails there is told to the person, not to an agent.

use crate::bubble::questions::question_of_checks;
use crate::bubble::{BubbleState, missing_checks};
use crate::facts::{Outcome, Receipt};
use crate::log::{Event, QuestionKind};
use crate::policy::quoted;
use crate::progress::CheckState;
use crate::rules::Check;

impl BubbleState {
    /// Whether the newest tree is the base as it is: nobody has worked on it yet.
    pub fn is_untouched(&self) -> bool {
        let base = self.evidence.workspace.as_ref().map(|workspace| &workspace.base_tree);
        self.rounds.turns <= 1 && base.is_some() && self.tree() == base
    }

    /// Whether a check has yet to be run on the base. Only what was never handed over is judged by it.
    pub(super) fn wants_baseline(&self, check: &Check) -> bool {
        let known = |receipt: &Receipt| receipt.check == check.name && receipt.command == check.command;
        let waived = matches!(self.check(&check.name), CheckState::Waived(_));
        self.is_untouched() && !check.is_own() && !waived && !self.evidence.baseline.iter().any(known)
    }

    /// Returns what the checks said of the base that do not pass there, without those that the person waived.
    pub fn failing_on_base(&self) -> impl Iterator<Item = &Receipt> {
        let waived = |receipt: &&Receipt| matches!(self.check(&receipt.check), CheckState::Waived(_));
        self.evidence
            .baseline
            .iter()
            .filter(|receipt| !receipt.outcome.passed())
            .filter(move |receipt| !waived(receipt))
    }
}

/// The one question about all checks that do not pass on the base, once all of them have run there.
pub(super) fn question(after: &BubbleState) -> Option<Event> {
    let asked = after.gate.questions.iter().any(|open| open.kind == QuestionKind::Baseline);
    let known = |receipt: &&Receipt| after.evidence.known_failures.contains(&receipt.check);
    let failing: Vec<_> = after.failing_on_base().filter(|receipt| !known(receipt)).collect();
    if failing.is_empty() || asked || !after.is_untouched() || !missing_checks(after).is_empty() {
        return None;
    }
    let (id, base) = (&after.id, &after.rules.base_branch);
    let names = failing.iter().map(|receipt| format!("'{}'", receipt.check)).collect::<Vec<_>>().join(", ");
    let (checks, do_not) = if failing.len() == 1 { ("check", "does not") } else { ("checks", "do not") };
    let mut text = format!("the {checks} {names} {do_not} pass on {base} as it is, before any work was done.");
    for receipt in &failing {
        let said = match &receipt.outcome {
            Outcome::CouldNotCheck { why } => format!("could not be run: {why}"),
            Outcome::Failed { timed_out: true, .. } => "ran out of time".to_owned(),
            Outcome::Failed { exit: Some(code), .. } => format!("ended with exit code {code}"),
            Outcome::Failed { exit: None, .. } => "was ended by a signal".to_owned(),
            Outcome::Passed => "passed".to_owned(),
        };
        text.push_str(&format!("\n'{}' runs: {}\nIt {said}.{}", receipt.check, receipt.command, quoted(receipt)));
    }
    let first = &failing[0].check;
    text.push_str(&format!(
        "\nIf something is missing here, install it and try again: `pairflow reply {id} --decision continue`.\n\
         If the command is wrong, correct it with `pairflow config set {id} commands.{first}='…'`; it then runs again.\n\
         A message calls it a known failure: the agents are told what you say, and it has to pass at the end.\n\
         A waiver (`pairflow waive {id} {first} --reason '…'`) accepts the work whatever the check says."
    ));
    let checks = failing.iter().map(|receipt| receipt.check.as_str());
    Some(question_of_checks(after, QuestionKind::Baseline, text, checks))
}
