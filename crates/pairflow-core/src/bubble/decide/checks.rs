//! Checks: the receipts of those that ran, on the base before there is any work and on each tree, and the questions about those
//! that fail on the base, fail in a fresh checkout only, or could not be run.

use super::questions::question_of_checks;
use crate::bubble::{BubbleState, Stage, missing_checks};
use crate::facts::{CheckPlace, Outcome, Receipt};
use crate::log::{Event, QuestionKind};
use crate::policy::quoted;
use crate::progress::CheckState;
use crate::rules::Check;

impl BubbleState {
    /// Whether the newest tree is the base as it is: nobody has worked on it yet.
    pub fn is_untouched(&self) -> bool {
        let base = self.evidence.workspace.as_ref().map(|workspace| &workspace.base_tree);
        self.rounds.turns <= 1 + self.rounds.acceptance_turns && base.is_some() && self.tree() == base
    }

    /// Whether a check has yet to be run on the base. Only what was never handed over is judged by it.
    pub(crate) fn wants_baseline(&self, check: &Check) -> bool {
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
pub(crate) fn fails_on_base(after: &BubbleState) -> Option<Event> {
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

/// The question about a check that passed with caches and fails without.
pub(crate) fn differs(state: &BubbleState) -> Option<Event> {
    let asked = |name: &String| {
        state.gate.questions.iter().any(|open| open.kind == QuestionKind::Differs && open.checks.contains(name))
    };
    let passed = |name: &String| state.evidence.receipts.iter().any(|one| one.check == *name && one.outcome.passed());
    let differs = |check: &&Check| {
        let failed =
            matches!(state.check(&check.name), CheckState::Failed(receipt) if receipt.place == CheckPlace::Fresh);
        failed && passed(&check.name) && !asked(&check.name)
    };
    let check = state.rules.checks.iter().find(differs)?;
    let receipt = state.evidence.receipts.iter().rev().find(|receipt| receipt.check == check.name)?;
    let (id, name, tail) = (&state.id, &receipt.check, quoted(receipt));
    let text = format!(
        "the check '{name}' passed where build caches and installed packages are kept, and fails in a fresh checkout of the \
         same tree.\n'{name}' runs: {}{tail}\n\
         To run it there once more: `pairflow reply {id} --decision continue`.\n\
         A message lets the failure count: the work goes back to be repaired.\n\
         If something has to be installed first, say so with `pairflow config set {id} commands.setup='…'`, or correct the \
         command with `pairflow config set {id} commands.{name}='…'`; it then runs again.\n\
         A waiver (`pairflow waive {id} {name} --reason '…'`) accepts the work whatever the check says.",
        receipt.command
    );
    Some(question_of_checks(state, QuestionKind::Differs, text, [name.as_str()]))
}

/// The one question about all checks that could not be run, once nothing else is left to try.
pub(crate) fn could_not_check(after: &BubbleState) -> Option<Event> {
    let asked = after.gate.questions.iter().any(|open| open.kind == QuestionKind::CouldNotCheck);
    let opening = after.phase.turn().is_some_and(|turn| turn.stage == Stage::Opening);
    if asked || !opening {
        return None;
    }
    let missing: Vec<_> = missing_checks(after).into_iter().map(|(check, _)| check).collect();
    if missing.is_empty() || !missing.iter().all(|check| after.has_given_up(&check.name)) {
        return None;
    }
    let why = after.evidence.receipts.iter().rev().find_map(|receipt| match &receipt.outcome {
        Outcome::CouldNotCheck { why } => Some(why.as_str()),
        _ => None,
    });
    let names = missing.iter().map(|check| format!("'{}'", check.name)).collect::<Vec<_>>().join(", ");
    let (checks, them) = if missing.len() == 1 { ("check", "it") } else { ("checks", "them") };
    let last = after.evidence.receipts.iter().rev().find(|one| matches!(one.outcome, Outcome::CouldNotCheck { .. }));
    let tail = last.map(quoted).unwrap_or_default();
    let id = &after.id;
    let question = format!(
        "the {checks} {names} could not be run ({}).{tail}\n\
         continue: tries again.\n\
         accept: records {them} as not available for this tree; the work can then be accepted without.\n\
         If the setup command or a check command is wrong, correct it: `pairflow config set {id} commands.setup='…'`; it \
         then runs again.",
        why.unwrap_or("no reason is known")
    );
    let checks = missing.iter().map(|check| check.name.as_str());
    Some(question_of_checks(after, QuestionKind::CouldNotCheck, question, checks))
}
