//! The page as a whole: its parts, in which order.

use crate::view::export::contents::{Export, View};
use crate::view::export::html::Html;
use crate::view::export::links::Links;
use crate::view::export::patch::Patch;
use crate::view::export::{changes, findings, head, people, receipts, rounds, story, verdict};
use crate::view::words::title;

const STYLE: &str = include_str!("style.css");

/// Renders the page. The same log and repository give the same bytes.
pub fn render(export: &Export) -> String {
    let whole = Patch::read(&export.patches.whole);
    let view = View { export, links: Links::of(&export.facts, &whole), whole: &whole };
    let mut html = Html::default();
    begin(&mut html, export);
    head::render(&mut html, &view);
    navigation(&mut html, &view);
    html.raw("<main>\n");
    verdict::render(&mut html, &view);
    story::render(&mut html, &view);
    findings::render(&mut html, &view);
    rounds::render(&mut html, &view);
    changes::render(&mut html, &view);
    receipts::render(&mut html, &view);
    people::render(&mut html, &view);
    html.raw("</main>\n");
    end(&mut html, export);
    html.finish()
}

fn begin(html: &mut Html, export: &Export) {
    let state = export.facts.state();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // Nothing may be loaded or run, even if a mistake of ours let foreign markup through.
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.element("title", "", &format!("{}: {}", state.id, title(&state.about.task)));
    html.raw("\n<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n");
}

fn navigation(html: &mut Html, view: &View<'_>) {
    let facts = &view.export.facts;
    html.raw("<nav>");
    let entries = [
        ("verdict", "Verdict", 0),
        ("timeline", "Timeline", facts.rows.list.len()),
        ("findings", "Findings", facts.state().ledger.rows.len()),
        ("rounds", "Rounds", usize::try_from(facts.state().rounds.round).unwrap_or(0)),
        ("changes", "Changes", view.whole.files.len()),
        ("receipts", "Receipts", facts.receipts.list.len()),
        ("people", "People", facts.asked.list.len() + facts.decided.list.len()),
    ];
    for (anchor, name, count) in entries {
        html.raw("<a href=\"#").raw(anchor).raw("\">").raw(name);
        if count > 0 {
            html.raw(" ").element("b", "", &count.to_string());
        }
        html.raw("</a>");
    }
    html.raw("</nav>\n");
}

fn end(html: &mut Html, export: &Export) {
    html.raw("<footer><p>Made from ").element("b", "", &export.lines.to_string());
    html.raw(" lines of the log, which end in ").element("code", "", &export.head);
    html.raw(". ").element("code", "", &format!("pairflow verify {}", export.facts.state().id));
    html.raw(" recomputes all of it, offline.</p></footer>\n</body>\n</html>\n");
}
