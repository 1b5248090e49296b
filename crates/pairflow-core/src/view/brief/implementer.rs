//! The brief of the agent that makes the change.

use crate::bubble::{BubbleState, Turn};
use crate::facts::Seat;
use crate::ids::Party;
use crate::rules::BubbleKind;
use crate::view::brief::{commands, parts};
use crate::view::markdown::Page;
use crate::view::words::one_line;

/// Returns the brief of an implementer.
pub(super) fn brief(state: &BubbleState, turn: &Turn) -> String {
    let mut page = parts::page(state, turn);
    page.line(&format!(
        "You are {}, the implementer of bubble {}. {} reviews what you hand over.",
        turn.agent, state.id, state.rounds.seats.reviewer
    ));
    sent_back(&mut page, state);
    parts::task(&mut page, state);
    parts::notes(&mut page, state);
    parts::handed_over(&mut page, state, turn);
    findings(&mut page, state);
    parts::checks(&mut page, state);
    parts::changed(&mut page, state, Seat::Implementer);
    parts::place(&mut page, state);
    work(&mut page, state);
    explain(&mut page);
    commands::end(&mut page, state, &commands::of_implementer(state));
    page.finish()
}

/// Says that the last hand-over has not been reviewed, and why.
fn sent_back(page: &mut Page, state: &BubbleState) {
    let why = state.failing();
    if state.rounds.sent_back == 0 || why.is_empty() {
        return;
    }
    page.line("");
    let merged = state.evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.author == Some(Party::Human));
    let what = match merged {
        true => format!("Since {} was merged into the work", state.rules.base_branch),
        false => "Your last hand-over has not been reviewed".to_owned(),
    };
    page.line(&format!("**{what}: {}.**", one_line(&why.join(", "))));
    page.line("Fix that first.");
}

fn findings(page: &mut Page, state: &BubbleState) {
    if state.ledger.open().next().is_none() {
        return;
    }
    page.section("Open findings");
    for row in state.ledger.open() {
        page.item(&parts::digest(row));
        parts::claim_at_length(page, row);
    }
    page.line("");
    page.line(
        "Fix every P0 and P1, and answer each finding by its name when you hand over: `--fixed F1` if it is fixed, \
         `--dispute F1 --reason '…'` if it is wrong. What you do not answer stays open.",
    );
}

fn work(page: &mut Page, state: &BubbleState) {
    page.section("What to do");
    if state.rules.kind == BubbleKind::Document {
        page.item("Write the document in the worktree: scope, non-goals, requirements (numbered), acceptance criteria");
        page.line("  (each naming its requirement), risks, rollout. No vague word without a number beside it.");
        page.item(
            "Then try it on paper: how would you implement it? Hand that over as `--step dry-run='…'`. For each thing",
        );
        page.line("  that the document leaves open and you cannot decide, add `--blocker '…'`: it becomes a P1 finding, which");
        page.line("  stays open until the document resolves it (`--fixed F1`) or a person waives it.");
    } else {
        page.item("Make the change in the worktree, with tests. Keep it to the task.");
    }
    parts::approved(page, state, "Follow the approved document");
    if state.rules.checks.iter().any(|check| !check.is_own()) {
        page.item("Run the checks yourself before you hand over.");
    }
    page.item("You need not commit: pairflow records the tree that you leave.");
}

/// Says what the person wants to be told.
fn explain(page: &mut Page) {
    page.line("");
    page.line(
        "`--explain` takes a Markdown file for the person, with the headings What changed, Why, Risks and Manual test",
    );
    page.line("plan. Keep that file outside the worktree, or pipe it in with `--explain -`. Name files, findings and checks in");
    page.line("it: a statement without any is marked as one without evidence.");
}
