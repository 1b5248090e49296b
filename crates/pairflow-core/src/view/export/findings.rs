//! The ledger: every finding, where it stands, and how it came there.

use crate::findings::{ReproducerState, Row};
use crate::view::export::contents::View;
use crate::view::export::html::{Html, section};
use crate::view::export::links::finding_anchor;
use crate::view::export::prose::{blocks, inline};
use crate::view::words::called;

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let rows = &view.export.facts.state().ledger.rows;
    section(html, "findings", "Findings");
    if rows.is_empty() {
        html.raw("<p class=\"dim\">No finding has been filed.</p>\n</section>\n");
        return;
    }
    html.raw("<div class=\"wide\"><table class=\"ledger\"><thead><tr><th>Id</th><th>Severity</th><th>State</th>");
    html.raw("<th>Finding</th></tr></thead><tbody>\n");
    rows.iter().for_each(|row| finding(html, view, row));
    html.raw("</tbody></table></div>\n</section>\n");
}

fn finding(html: &mut Html, view: &View<'_>, row: &Row) {
    html.open_at("tr", if row.is_open() { "open" } else { "" }, &finding_anchor(row.id));
    html.raw("<td>").link("id", &finding_anchor(row.id), &row.id.to_string()).raw("</td><td>");
    html.pill(severity(row), &row.severity.to_string()).raw("</td><td>");
    html.pill(tone(row), row.stands());
    if row.settled {
        html.raw(" <span class=\"dim\">closed</span>");
    }
    html.raw("</td><td><p class=\"title\">");
    inline(html, &row.title, &view.links);
    html.raw("</p>\n");
    place(html, view, row);
    details(html, view, row);
    html.raw("</td></tr>\n");
}

fn severity(row: &Row) -> &'static str {
    match row.severity.blocks() {
        true if row.is_open() => "bad",
        true => "plain",
        false if row.is_open() => "warn",
        false => "plain",
    }
}

fn tone(row: &Row) -> &'static str {
    match (row.blocks(), row.is_open()) {
        (true, _) => "bad",
        (false, true) => "warn",
        (false, false) => "good",
    }
}

fn place(html: &mut Html, view: &View<'_>, row: &Row) {
    html.raw("<p class=\"dim\">by ").text(row.by.as_str()).text(&format!(" in round {}", row.round));
    if let Some(file) = &row.file {
        let line = row.line.map(|line| format!(":{line}")).unwrap_or_default();
        html.raw(", at ");
        match view.links.place(file, row.line) {
            Some(anchor) => html.link("ref", &anchor, &format!("{file}{line}")),
            None => html.element("code", "", &format!("{file}{line}")),
        };
    }
    let marks = [
        row.class.map(|class| format!("class {class}")),
        row.risk.then(|| "a risk".to_owned()),
        row.late().then(|| "late".to_owned()),
    ];
    marks.into_iter().flatten().for_each(|mark| {
        html.raw(", ").text(&mark);
    });
    html.raw("</p>\n");
}

fn details(html: &mut Html, view: &View<'_>, row: &Row) {
    html.raw("<details><summary>").text(&format!("{} entries of history", row.history.len())).raw("</summary>");
    for (name, text) in [("Claim", &row.detail), ("Suggestion", &row.suggestion), ("The line it is about", &row.anchor)]
    {
        if !text.trim().is_empty() {
            html.element("h4", "", name).raw("<div class=\"prose\">");
            blocks(html, text, &view.links);
            html.raw("</div>");
        }
    }
    if let Some(one) = &row.reproducer {
        let stand = match one.stand {
            ReproducerState::Pending => "has not been run yet",
            ReproducerState::Fails => "fails: the fault is there",
            ReproducerState::Passes => "failed once, and passes now",
            ReproducerState::Dropped => "did not show the fault, and counts no more",
        };
        html.raw("<h4>Reproducer</h4><p>").element("code", "", &one.command).raw(" ").raw(stand).raw("</p>");
    }
    html.raw("<ol class=\"history\">");
    for change in &row.history {
        html.raw("<li>").text(&format!("round {}: ", change.round)).element("b", "", change.to.told(change.settled));
        html.raw(" by ").text(&called(&change.by)).raw(if change.settled { ", closed" } else { "" });
        if !change.note.is_empty() {
            html.raw(": ");
            inline(html, &change.note, &view.links);
        }
        html.raw("</li>");
    }
    html.raw("</ol></details>\n");
}
