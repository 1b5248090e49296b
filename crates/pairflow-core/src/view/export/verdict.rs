//! The verdict: whether the work was accepted, and on which evidence. What agents explain comes after it, each statement
//! linked to what it refers to or marked.

use maud::{Markup, html};

use crate::bubble::{BubbleState, Phase};
use crate::facts::Certificate;
use crate::view::export::log_facts::VerifiedClaim;
use crate::view::export::sections::{finding_line, inline_list};
use crate::view::export::text::{PageContext, Text, inline, link, pill};
use crate::view::package::references::statements;
use crate::view::words::weakened;

pub(super) fn render(page: &PageContext<'_>) -> Markup {
    let state = page.export.facts.state();
    let accepted = state.gate.certificate.as_ref().filter(|_| state.phase.request().is_some());
    let broken = page.export.verified.iter().any(|one| one.problem.is_some());
    let weaker: Vec<_> = state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.weakened).map(weakened).collect();
    html! {
        section id="verdict" {
            h2 { "Verdict" }
            div class={ "verdict " (tone(state, accepted, broken)) } {
                @match (accepted, &state.phase) {
                    (Some(certificate), _) => (certified(page, certificate)),
                    (None, Phase::Failed { reason }) => p.lead { "The bubble failed: " (Text(reason)) },
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

fn tone(state: &BubbleState, accepted: Option<&Certificate>, broken: bool) -> &'static str {
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
        p.lead { "Accepted under the policy " b { (Text(&it.policy)) } ": tree " code { (Text(it.tree.short())) } }
        dl.proof {
            dt { "Reviewed clean by" }
            dd { ul {
                @for review in &it.reviews {
                    @let round = review.round.to_string();
                    li {
                        b { (review.agent.as_str()) } " in " (link(None, &format!("round-{round}"), &format!("round {round}")))
                        @for aside in review.asides() { " " span.dim { (Text(&aside)) } }
                    }
                }
                @if it.reviews.is_empty() { li { "nobody: a person decided" } }
            } }
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
                                None => b { (Text(&check.check)) },
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
        @for (what, problem) in wrong { p.wrong { "Does not hold: " (Text(what)) ": " (Text(problem)) } }
        details {
            summary {
                @if count == 0 { "All " (verified.len()) " recomputed claims hold" }
                @else { (count) " of " (verified.len()) " recomputed claims do not hold" }
            }
            ul.held {
                @for one in verified {
                    li {
                        @if one.problem.is_none() { (pill("good", "ok")) } @else { (pill("bad", "wrong")) }
                        " " (Text(&one.what))
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
                        @if !one.code.trim().is_empty() { pre { (Text(&one.code)) } }
                    }
                }
                @if left_out > 0 { li.cut { "and " (left_out) " more" } }
            }
        }
    }
}
