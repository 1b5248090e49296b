//! The end of a brief: the command lines that can end the turn, as they have to be typed in this bubble.

use crate::bubble::{BubbleState, Turn};
use crate::findings::Row;
use crate::rules::{BubbleKind, DriverKind};
use crate::view::markdown::Page;
use crate::view::waiting::WaitFor;

/// How many findings a command line names.
const NAMED: usize = 20;

/// Adds the last section of a brief. Nothing follows it.
pub(super) fn end(page: &mut Page, state: &BubbleState, lines: &[String]) {
    page.section("How your turn ends");
    let names = |option: &str| lines.iter().any(|line| line.contains(option));
    if names(" --fixed ") {
        page.line(
            "Leave out what is not fixed; where a finding is wrong, `--dispute F1 --reason '…'` takes the place of",
        );
        page.line("`--fixed F1`.");
    }
    if names(" --confirm ") {
        page.line(
            "Leave out what you have not looked at; where an answer is not right, `--reopen F1` takes the place of",
        );
        page.line("`--confirm F1`.");
    }
    page.line("Run exactly one of these in the worktree, then stop:");
    if state.rules.driver == DriverKind::External {
        // Nobody tells these agents of their next turn.
        page.line(&format!("(`{}` tells when your next turn is open.)", WaitFor::Turn.line(&state.id)));
    }
    page.line("");
    page.block(&lines.join("\n"));
}

/// Returns the lines that end an implementer's turn.
pub(super) fn of_implementer(state: &BubbleState) -> Vec<String> {
    let id = &state.id;
    let fixed = named("--fixed", state.ledger.open().filter(|row| !row.answered || row.blocks()));
    let outline = if state.rules.kind == BubbleKind::Document { " --step dry-run='…'" } else { "" };
    vec![format!("pairflow pass --id {id} --summary '…'{fixed}{outline} --explain FILE"), ask(state)]
}

/// Returns the lines that end a reviewer's turn. `slices` is how many of them the change was cut into, and `last` whether
/// a clean review would be the last one needed.
pub(super) fn of_reviewer(state: &BubbleState, slices: u32, last: bool) -> Vec<String> {
    let id = &state.id;
    let confirm =
        named("--confirm", state.ledger.open().filter(|row| row.answered && !row.proven() && !row.unresolved()));
    let (all, steps) = (reviewed(slices), steps(state));
    let found = format!("pairflow pass --id {id} --summary '…' --findings FILE{confirm}{steps}{all}");
    let explain = if last && !state.gate.explanation.missing().is_empty() { " --explain FILE" } else { "" };
    let clean = format!("pairflow pass --id {id} --summary '…' --no-findings{steps}{all}{explain}");
    let converged = format!("pairflow converged --id {id} --summary '…'{all}{explain}");
    [found, clean].into_iter().chain(last.then_some(converged)).chain([ask(state)]).collect()
}

/// Returns the lines that may come up for an agent, whichever seat it gets.
pub(super) fn of_anyone(state: &BubbleState) -> Vec<String> {
    let id = &state.id;
    vec![
        format!("pairflow pass --id {id} --summary '…'"),
        format!("pairflow converged --id {id} --summary '…'"),
        ask(state),
    ]
}

fn ask(state: &BubbleState) -> String {
    format!("pairflow ask-human --id {} --question '…'", state.id)
}

fn named<'a>(option: &str, rows: impl Iterator<Item = &'a Row>) -> String {
    rows.take(NAMED).map(|row| format!(" {option} {}", row.id)).collect()
}

fn reviewed(slices: u32) -> String {
    let numbers: Vec<_> = (1..=slices).map(|number| number.to_string()).collect();
    if numbers.is_empty() { String::new() } else { format!(" --reviewed {}", numbers.join(",")) }
}

/// The steps that the review of a document has to go through, as options.
fn steps(state: &BubbleState) -> &'static str {
    match state.rules.kind {
        BubbleKind::Document => " --step contradictions='…' --step dry-run='…' --step adversarial='…'",
        _ => "",
    }
}

/// Returns how many slices the change of this turn was cut into: as gathered now, or as the turn was opened with.
pub(super) fn slices(turn: &Turn, gathered: u32) -> u32 {
    if gathered > 0 { gathered } else { turn.slices }
}
