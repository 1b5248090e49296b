//! The receipts: what pairflow ran itself, what came of it, how long it took.

use crate::facts::Outcome;
use crate::view::export::contents::View;
use crate::view::export::facts::Ran;
use crate::view::export::html::{Html, dropped, section};
use crate::view::export::links::{finding_anchor, receipt_anchor};
use crate::view::words::{ended, seconds};

/// How many characters of the last lines of an output are shown.
const TAIL: usize = 8_000;

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let receipts = &view.export.facts.receipts;
    section(html, "receipts", "Receipts");
    html.raw("<p class=\"dim\">What pairflow ran itself. An agent&#39;s word that tests pass is no evidence.</p>\n");
    dropped(html, receipts.dropped, &format!("pairflow log {}", view.export.facts.state().id));
    if receipts.list.is_empty() {
        html.raw("<p class=\"dim\">Nothing has been run.</p>\n");
    }
    receipts.list.iter().for_each(|ran| receipt(html, ran));
    html.raw("</section>\n");
}

fn receipt(html: &mut Html, ran: &Ran) {
    let (class, word) = outcome(ran);
    let receipt = &ran.receipt;
    html.open_at("details", "receipt", &receipt_anchor(ran.seq));
    html.raw("<summary>").pill(class, word).raw(" ").element("b", "", &name(ran)).raw(" ");
    html.element("code", "", &receipt.command).raw(" <span class=\"dim\">");
    html.text(&format!("round {}, tree {}, {}", ran.round, receipt.tree.short(), seconds(receipt.duration_ms)));
    html.raw("</span></summary>\n<p>").text(&ended(receipt));
    if let Some(id) = ran.finding {
        html.raw(", reproducer of ").link("", &finding_anchor(id), &id.to_string());
    }
    if let Some(output) = &receipt.output {
        html.raw(". All of its output is ").element("code", "", output);
    }
    html.raw("</p>\n");
    let tail = receipt.tail.trim_end();
    if tail.is_empty() {
        html.raw("<p class=\"dim\">It printed nothing.</p>\n");
    } else {
        let from = tail.char_indices().rev().nth(TAIL - 1).map_or(0, |(at, _)| at);
        html.element("pre", "", &tail[from..]).raw("\n");
    }
    html.raw("</details>\n");
}

/// What a receipt is called.
pub(super) fn name(ran: &Ran) -> String {
    match ran.finding {
        Some(id) => format!("reproducer of {id}"),
        None => ran.receipt.check.clone(),
    }
}

/// How a receipt is meant, and the word for it. A reproducer that fails does what it is for.
pub(super) fn outcome(ran: &Ran) -> (&'static str, &'static str) {
    match (&ran.receipt.outcome, ran.finding) {
        (Outcome::Passed, _) => ("good", "passed"),
        (Outcome::Failed { .. }, Some(_)) => ("warn", "fails"),
        (Outcome::Failed { .. }, None) => ("bad", "failed"),
        (Outcome::CouldNotCheck { .. }, _) => ("warn", "could not run"),
    }
}
