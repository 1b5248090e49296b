//! The page as a whole: what goes into it, and in which order.

use crate::view::export::facts::Facts;
use crate::view::export::html::Html;
use crate::view::export::links::Links;
use crate::view::export::patch::Patch;
use crate::view::export::{changes, findings, head, people, receipts, rounds, story, verdict};
use crate::view::words::title;

/// The longest page, in bytes. What would make it longer is left out with a note.
pub(super) const LONGEST: usize = 12 * 1024 * 1024;

const STYLE: &str = include_str!("style.css");

/// Everything that a page is made of.
#[derive(Debug, Clone)]
pub struct Export {
    /// What the log says.
    pub facts: Facts,
    /// How many lines the log has.
    pub lines: u64,
    /// The hash of its last line, which stands for all of it.
    pub head: String,
    /// What was recomputed, and whether it holds.
    pub checked: Vec<Checked>,
    /// What was changed.
    pub patches: Patches,
}

/// One thing that was recomputed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What.
    pub what: String,
    /// What is wrong; nothing if it holds.
    pub problem: Option<String>,
}

/// The changes of a bubble as git prints them.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    /// From the base to the newest snapshot.
    pub whole: String,
    /// Round by round.
    pub rounds: Vec<(u32, String)>,
    /// Why they cannot be shown.
    pub missing: Option<String>,
}

/// What every part of the page needs.
pub(super) struct View<'a> {
    pub(super) export: &'a Export,
    pub(super) links: Links<'a>,
    pub(super) whole: &'a Patch<'a>,
}

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
    let unit = export.facts.unit();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // Nothing may be loaded or run, even if a mistake of ours let foreign markup through.
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.element("title", "", &format!("{}: {}", unit.id, title(&unit.about.task)));
    html.raw("\n<style>\n").raw(STYLE).raw("</style>\n</head>\n<body>\n");
}

fn navigation(html: &mut Html, view: &View<'_>) {
    let facts = &view.export.facts;
    html.raw("<nav>");
    let entries = [
        ("verdict", "Verdict", 0),
        ("timeline", "Timeline", facts.rows.list.len()),
        ("findings", "Findings", facts.unit().ledger.rows.len()),
        ("rounds", "Rounds", usize::try_from(facts.unit().rounds.round).unwrap_or(0)),
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
    html.raw(". ").element("code", "", &format!("pairflow verify {}", export.facts.unit().id));
    html.raw(" recomputes all of it, offline.</p></footer>\n</body>\n</html>\n");
}

/// Begins a part of the page.
pub(super) fn section(html: &mut Html, anchor: &'static str, title: &'static str) {
    html.raw("<section id=\"").raw(anchor).raw("\">\n<h2>").raw(title).raw("</h2>\n");
}

/// Says how many older entries a list had.
pub(super) fn dropped(html: &mut Html, count: usize, command: &str) {
    if count > 0 {
        html.raw("<p class=\"cut\">").text(&format!("{count} older entries are left out here; "));
        html.element("code", "", command).raw(" shows them.</p>\n");
    }
}
