//! The brief of the agent that decides a dispute: both arguments, without the names of those who made them.

use crate::bubble::{BubbleState, Turn};
use crate::facts::RowState;
use crate::findings::Row;
use crate::view::brief::parts;
use crate::view::markdown::Page;
use crate::view::words::one_line;

/// Returns the brief of a judge.
pub(super) fn brief(state: &BubbleState, turn: &Turn) -> String {
    let mut page = parts::page(state, turn);
    let (agent, id) = (&turn.agent, &state.id);
    page.line(&format!(
        "You are {agent}, the judge of a dispute in bubble {id}. Read the tree in the worktree; change nothing."
    ));
    parts::task(&mut page, state);
    parts::place(&mut page, state);
    page.section("The dispute");
    state.ledger.open().filter(|row| row.state == RowState::Disputed).for_each(|row| dispute(&mut page, row));
    parts::checks(&mut page, state);
    page.finish()
}

/// Adds what both sides say of one finding.
fn dispute(page: &mut Page, row: &Row) {
    page.line(&format!("{}: {}", one_line(&row.short()), one_line(&row.detail)));
    let against = row.history.iter().rev().find(|change| change.to == RowState::Disputed);
    page.line(&format!("Against it: {}", against.map_or_else(String::new, |change| one_line(&change.note))));
}
