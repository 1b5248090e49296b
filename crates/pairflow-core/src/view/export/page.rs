//! The page as a whole: its head, navigation, verdict, sections and end.

use maud::{Markup, PreEscaped, html};

use crate::bubble::{BubbleState, Phase, StateName};
use crate::facts::{Certificate, Snapshot};
use crate::view::export::log_facts::{Export, VerifiedClaim};
use crate::view::export::sections::{finding_line, inline_list};
use crate::view::export::text::{PageContext, PageLinks, SafeText, blocks, inline, link, moment, pill};
use crate::view::export::{changes, sections};
use crate::view::package::references::statements;
use crate::view::patch;
use crate::view::words::{changes as counts, looks, one_line, title, weakened};

/// The look of a page.
pub(in crate::view) const STYLE: &str = include_str!("style.css");

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
                title { (state.id.as_str()) ": " (SafeText(title(&state.about.task))) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header(&page))
                (navigation(&page))
                main {
                    (verdict(&page))
                    (sections::timeline(&page))
                    (sections::findings(&page))
                    (sections::rounds(&page))
                    (changes::render(&page))
                    (sections::receipts(&page))
                    (sections::people(&page))
                }
                footer {
                    p {
                        "Made from " b { (export.lines) } " lines of the log, which end in " code { (SafeText(&export.head)) } ". "
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
            h1 { (SafeText(&one_line(title(&state.about.task)))) }
            dl.facts { @for (name, value) in facts(state) { div { dt { (name) } dd { (SafeText(&value)) } } } }
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
        ("people", "People", facts.asked.list.len() + facts.decisions.list.len()),
    ];
    html! {
        nav {
            @for (anchor, name, count) in entries {
                a href={ "#" (anchor) } { (name) @if count > 0 { " " b { (count) } } }
            }
        }
    }
}

/// Whether the work was accepted, and on which evidence; then what the agents explain, each statement linked to what it
/// refers to or marked.
fn verdict(page: &PageContext<'_>) -> Markup {
    let state = page.export.facts.state();
    let accepted = state.gate.certificate.as_ref().filter(|_| state.phase.request().is_some());
    let broken = page.export.verified.iter().any(|one| one.problem.is_some());
    let weaker: Vec<_> = state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.weakened).map(weakened).collect();
    html! {
        section id="verdict" {
            h2 { "Verdict" }
            div class={ "verdict " (verdict_tone(state, accepted, broken)) } {
                @match (accepted, &state.phase) {
                    (Some(certificate), _) => (certified(page, certificate)),
                    (None, Phase::Failed { reason }) => p.lead { "The bubble failed: " (SafeText(reason)) },
                    (None, Phase::Cancelled) => p.lead { "A person stopped the bubble." },
                    (None, _) => {
                        p.lead { "Not accepted yet." }
                        @if state.rounds.round == 0 {
                            p { "The bubble has not been started." }
                        } @else {
                            p { "Missing for convergence:" }
                            (inline_list(page, state.unmet().iter().map(ToString::to_string)))
                        }
                    }
                }
                @if !weaker.is_empty() {
                    p { "Tests that this work deletes, skips or weakens:" }
                    (inline_list(page, weaker))
                }
                (recomputed(&page.export.verified))
            }
            @if state.rounds.round > 0 {
                h3 { "What the agents explain" }
                p.dim { "Statements that refer to no finding, changed file or check are marked." }
                div.pack {
                    @for (name, text) in state.gate.explanation.parts() {
                        div.card { h4 { (name) } (explained(page, text)) }
                    }
                }
            }
        }
    }
}

fn verdict_tone(state: &BubbleState, accepted: Option<&Certificate>, broken: bool) -> &'static str {
    match accepted {
        _ if broken => "bad",
        Some(certificate) if certificate.waived.is_empty() => "good",
        Some(_) => "warn",
        None if state.phase.is_final() => "bad",
        None => "plain",
    }
}

fn certified(page: &PageContext<'_>, it: &Certificate) -> Markup {
    let closed = it.ledger.len().saturating_sub(it.open.len());
    let remarks = [("Accepted by a person at a tie-break without", &it.waived), ("To know", &it.notes)];
    html! {
        p.lead { "Accepted under the policy " b { (SafeText(&it.policy)) } ": tree " code { (SafeText(it.tree.short())) } }
        dl.proof {
            dt { "Reviewed clean by" }
            dd { ul {
                @for review in &it.reviews {
                    @let round = review.round.to_string();
                    li {
                        b { (review.agent.as_str()) } " in " (link(None, &format!("round-{round}"), &format!("round {round}")))
                        @for aside in review.asides() { " " span.dim { (SafeText(&aside)) } }
                    }
                }
                @if it.reviews.is_empty() { li { "nobody: a person decided" } }
            } }
            @if it.looks_needed > 0 {
                dt { "Looks" }
                dd { (looks(it.looks, Some(it.looks_needed))) }
            }
            @if it.checks.is_empty() {
                dt { "Checks" }
                dd.dim { "none are configured" }
            } @else {
                dt { "Checks on exactly this tree" }
                dd { ul {
                    @for check in &it.checks {
                        li {
                            @match page.links.receipt(&check.check) {
                                Some(anchor) => (link(None, &anchor, &check.check)),
                                None => b { (SafeText(&check.check)) },
                            }
                            " " (pill(if check.stand == "passed" { "good" } else { "warn" }, &check.stand))
                        }
                    }
                } }
            }
            dt { "Findings" }
            dd {
                @if it.ledger.is_empty() && it.open.is_empty() { "none were filed" }
                @else { (closed) " closed, " (it.open.len()) " open" }
                @if !it.open.is_empty() {
                    ul { @for finding in &it.open { li { (finding_line(page, finding)) } } }
                }
            }
            @for (name, texts) in remarks.into_iter().filter(|(_, texts)| !texts.is_empty()) {
                dt { (name) }
                dd { (inline_list(page, texts)) }
            }
        }
    }
}

/// What `verify` says, the wrong ones first and in the open.
fn recomputed(verified: &[VerifiedClaim]) -> Markup {
    let wrong = verified.iter().filter_map(|one| one.problem.as_ref().map(|problem| (&one.what, problem)));
    let count = wrong.clone().count();
    html! {
        @for (what, problem) in wrong { p.wrong { "Does not hold: " (SafeText(what)) ": " (SafeText(problem)) } }
        details {
            summary {
                @if count == 0 { "All " (verified.len()) " recomputed claims hold" }
                @else { (count) " of " (verified.len()) " recomputed claims do not hold" }
            }
            ul.held {
                @for one in verified {
                    li {
                        @if one.problem.is_none() { (pill("good", "ok")) } @else { (pill("bad", "wrong")) }
                        " " (SafeText(&one.what))
                    }
                }
            }
        }
    }
}

fn explained(page: &PageContext<'_>, text: &str) -> Markup {
    let (said, left_out) = statements(text);
    html! {
        @if said.is_empty() { p.none { "missing: no agent has explained this" } }
        @else {
            ul {
                @for one in said {
                    li {
                        (inline(&one.text, &page.links))
                        @if page.links.find(&format!("{}\n{}", one.text, one.code)).is_empty() {
                            " " span.none { "no evidence" }
                        }
                        @if !one.code.trim().is_empty() { pre { (SafeText(&one.code)) } }
                    }
                }
                @if left_out > 0 { li.cut { "and " (left_out) " more" } }
            }
        }
    }
}
