//! The timeline: what happened, line by line, under the days it happened on.

use crate::ids::Party;
use crate::view::Tone;
use crate::view::export::contents::View;
use crate::view::export::html::{Html, dropped, section};
use crate::view::export::links::message_anchor;
use crate::view::export::prose::inline;
use crate::view::timeline::TimelineRow;
use crate::view::words::called;

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let facts = &view.export.facts;
    section(html, "timeline", "Timeline");
    dropped(html, facts.rows.dropped, &format!("pairflow log {}", facts.state().id));
    html.raw("<ol class=\"story\">\n");
    let mut before: Option<&TimelineRow> = None;
    for row in &facts.rows.list {
        let date = row.at.yyyymmdd();
        if before.is_none_or(|before| before.at.yyyymmdd() != date) {
            html.element("li", "day", &format!("{} (UTC)", row.at.to_string().get(..10).unwrap_or_default()));
        }
        line(html, view, row, before.is_some_and(|before| before.seq == row.seq));
        before = Some(row);
    }
    html.raw("</ol>\n</section>\n");
}

fn line(html: &mut Html, view: &View<'_>, row: &TimelineRow, follows: bool) {
    let class = match row.tone {
        Tone::Plain if row.kind.is_none() => "turned",
        Tone::Plain if row.who == called(&Party::Orchestrator) => "quiet",
        Tone::Plain | Tone::Strong | Tone::Faint => "",
        Tone::Good => "good",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
    };
    // Only the first line of an envelope can be linked to: a place has one name.
    if follows {
        html.open("li", class)
    } else {
        html.open_at("li", class, &message_anchor(row.seq))
    };
    html.element("time", "", &row.at.hms()).element("b", "", &row.who).raw("<span>");
    inline(html, &row.what, &view.links);
    html.raw("</span></li>\n");
}
