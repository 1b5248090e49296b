//! The page as a whole: its head, navigation, sections and end.

use maud::{Markup, PreEscaped, html};

use crate::bubble::{BubbleState, Phase, StateName};
use crate::facts::Snapshot;
use crate::time::Timestamp;
use crate::view::export::log_facts::Export;
use crate::view::export::text::{PageContext, PageLinks, Text, blocks, inline, pill};
use crate::view::export::{changes, sections, verdict};
use crate::view::patch;
use crate::view::words::{changes as counts, one_line, title};

const STYLE: &str = include_str!("style.css");

/// Renders the page. The same log and repository give the same bytes.
pub fn render(export: &Export) -> String {
    let whole = patch::read(&export.patches.whole);
    let page = PageContext { export, links: PageLinks::of(&export.facts, &whole), whole: &whole };
    let state = export.facts.state();
    let markup = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Nothing may be loaded or run, even if a mistake of ours let foreign markup through.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (state.id.as_str()) ": " (Text(title(&state.about.task))) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(&page))
                (navigation(&page))
                main {
                    (verdict::render(&page))
                    (sections::timeline(&page))
                    (sections::findings(&page))
                    (sections::rounds(&page))
                    (changes::render(&page))
                    (sections::receipts(&page))
                    (sections::people(&page))
                }
                footer {
                    p {
                        "Made from " b { (export.lines) } " lines of the log, which end in " code { (Text(&export.head)) } ". "
                        code { "pairflow verify " (state.id.as_str()) } " recomputes all of it, offline."
                    }
                }
            }
        }
    };
    markup.into_string()
}

fn header(page: &PageContext<'_>) -> Markup {
    let state = page.export.facts.state();
    let criteria = &state.about.acceptance_criteria;
    html! {
        header {
            p.over {
                "bubble " b { (state.id.as_str()) } " " (pill(tone(state), state.phase.name().as_str()))
                @if state.paused { " " (pill("warn", "paused")) }
            }
            h1 { (Text(&one_line(title(&state.about.task)))) }
            dl.facts { @for (name, value) in facts(state) { div { dt { (name) } dd { (Text(&value)) } } } }
            @if criteria.is_empty() {
                p.dim { "The task lists no acceptance criteria." }
            } @else {
                h3 { "Acceptance criteria" }
                ul.criteria { @for criterion in criteria { li { (inline(criterion, &page.links)) } } }
            }
            details.task {
                summary { "The task in full" }
                div.prose { (blocks(&state.about.task, &page.links)) }
            }
        }
    }
}

fn tone(state: &BubbleState) -> &'static str {
    match state.phase.name() {
        StateName::Done | StateName::Committed | StateName::ApprovedForCommit => "good",
        StateName::ReadyForApproval | StateName::WaitingHuman => "warn",
        StateName::Failed | StateName::Cancelled => "bad",
        _ => "plain",
    }
}

fn facts(state: &BubbleState) -> Vec<(&'static str, String)> {
    let (rules, rounds) = (&state.rules, &state.rounds);
    let agents = &rules.agents;
    let seats = format!("{} implements, {} reviews", agents.implementer, agents.reviewer);
    let mut facts = vec![("Seats at the start", seats)];
    facts.extend(agents.second_reviewer.as_ref().map(|second| ("Second reviewer", second.to_string())));
    facts.push(("Kind", rules.kind.to_string()));
    if rounds.round > 0 {
        facts.push(("Rounds", format!("{}, a person decides after {}", rounds.round, rules.max_rounds)));
    }
    facts.extend(state.evidence.snapshot.as_ref().map(|it| ("Changes", counts(Snapshot::against_base(it)))));
    facts.push(("Branch", format!("{} from {}", rules.bubble_branch, rules.base_branch)));
    facts.push(("Repository", state.about.repo.clone()));
    facts.push(("Created", moment(state.about.created_at)));
    if let Phase::Committed(at) | Phase::Done(at) = &state.phase {
        facts.push(("Commit", at.commit.short().to_owned()));
    }
    facts.extend(state.gate.merged.as_ref().map(|merged| ("Merged as", merged.short().to_owned())));
    facts
}

fn navigation(page: &PageContext<'_>) -> Markup {
    let facts = &page.export.facts;
    let entries = [
        ("verdict", "Verdict", 0),
        ("timeline", "Timeline", facts.rows.list.len()),
        ("findings", "Findings", facts.state().ledger.rows.len()),
        ("rounds", "Rounds", usize::try_from(facts.state().rounds.round).unwrap_or(0)),
        ("changes", "Changes", page.whole.len()),
        ("receipts", "Receipts", facts.receipts.list.len()),
        ("people", "People", facts.asked.list.len() + facts.decided.list.len()),
    ];
    html! {
        nav {
            @for (anchor, name, count) in entries {
                a href={ "#" (anchor) } { (name) @if count > 0 { " " b { (count) } } }
            }
        }
    }
}

/// A time for people: `2026-02-21 12:34:56 UTC`.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} {} UTC", text.get(..10).unwrap_or_default(), at.hms())
}
