//! The verdict: whether the work was accepted, and on which evidence. What agents explain stands beside it, each statement
//! linked to what it refers to or marked.

use crate::bubble::{BubbleState, Phase};
use crate::facts::Certificate;
use crate::view::export::contents::{Checked, View};
use crate::view::export::html::{Html, section};
use crate::view::export::links::finding_anchor;
use crate::view::export::prose::inline;
use crate::view::package::references::statements;
use crate::view::words::weakened;

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let state = view.export.facts.state();
    section(html, "verdict", "Verdict");
    let accepted = state.gate.certificate.as_ref().filter(|_| state.phase.request().is_some());
    let broken = view.export.checked.iter().any(|one| one.problem.is_some());
    html.raw("<div class=\"verdict ").raw(tone(state, accepted, broken)).raw("\">\n");
    match (accepted, &state.phase) {
        (Some(certificate), _) => certified(html, view, certificate),
        (None, Phase::Failed { reason }) => {
            html.raw("<p class=\"lead\">The bubble failed: ").text(reason).raw("</p>\n");
        }
        (None, Phase::Cancelled) => {
            html.raw("<p class=\"lead\">A person stopped the bubble.</p>\n");
        }
        (None, _) => waiting(html, view),
    }
    weaker(html, view);
    recomputed(html, &view.export.checked);
    html.raw("</div>\n");
    explanation(html, view);
    html.raw("</section>\n");
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

fn certified(html: &mut Html, view: &View<'_>, certificate: &Certificate) {
    html.raw("<p class=\"lead\">Accepted under the policy ").element("b", "", &certificate.policy).raw(": tree ");
    html.element("code", "", certificate.tree.short()).raw("</p>\n<dl class=\"proof\">\n");
    reviews(html, certificate);
    checks(html, view, certificate);
    ledger(html, view, certificate);
    list(html, view, "Accepted by a person at a tie-break without", &certificate.waived);
    list(html, view, "To know", &certificate.notes);
    html.raw("</dl>\n");
}

fn reviews(html: &mut Html, certificate: &Certificate) {
    html.raw("<dt>Reviewed clean by</dt><dd><ul>");
    for review in &certificate.reviews {
        html.raw("<li>").element("b", "", review.agent.as_str()).raw(" in ");
        html.link("", &format!("round-{}", review.round), &format!("round {}", review.round));
        for aside in review.asides() {
            html.raw(" ").element("span", "dim", &aside);
        }
        html.raw("</li>");
    }
    if certificate.reviews.is_empty() {
        html.raw("<li>nobody: a person decided</li>");
    }
    html.raw("</ul></dd>\n");
}

fn checks(html: &mut Html, view: &View<'_>, certificate: &Certificate) {
    if certificate.checks.is_empty() {
        html.raw("<dt>Checks</dt><dd class=\"dim\">none are configured</dd>\n");
        return;
    }
    html.raw("<dt>Checks on exactly this tree</dt><dd><ul>");
    for check in &certificate.checks {
        html.raw("<li>");
        match view.links.receipt(&check.check) {
            Some(anchor) => html.link("", &anchor, &check.check),
            None => html.element("b", "", &check.check),
        };
        html.raw(" ").pill(if check.stand == "passed" { "good" } else { "warn" }, &check.stand).raw("</li>");
    }
    html.raw("</ul></dd>\n");
}

fn ledger(html: &mut Html, view: &View<'_>, certificate: &Certificate) {
    html.raw("<dt>Findings</dt><dd>");
    let closed = certificate.ledger.len().saturating_sub(certificate.open.len());
    match (certificate.ledger.len(), certificate.open.len()) {
        (0, 0) => html.raw("none were filed"),
        (_, open) => html.text(&format!("{closed} closed, {open} open")),
    };
    if !certificate.open.is_empty() {
        html.raw("<ul>");
        for finding in &certificate.open {
            html.raw("<li>");
            if let Some(id) = finding.id {
                html.link("", &finding_anchor(id), &id.to_string()).raw(" ");
            }
            html.pill(if finding.severity.blocks() { "bad" } else { "warn" }, &finding.severity.to_string()).raw(" ");
            inline(html, &finding.title, &view.links);
            html.raw("</li>");
        }
        html.raw("</ul>");
    }
    html.raw("</dd>\n");
}

fn list(html: &mut Html, view: &View<'_>, name: &'static str, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    html.raw("<dt>").raw(name).raw("</dt><dd><ul>");
    for text in texts {
        html.raw("<li>");
        inline(html, text, &view.links);
        html.raw("</li>");
    }
    html.raw("</ul></dd>\n");
}

fn waiting(html: &mut Html, view: &View<'_>) {
    let state = view.export.facts.state();
    html.raw("<p class=\"lead\">Not accepted yet.</p>\n");
    if state.rounds.round == 0 {
        html.raw("<p>The bubble has not been started.</p>\n");
        return;
    }
    html.raw("<p>Missing for convergence:</p><ul>");
    for criterion in state.unmet() {
        html.raw("<li>");
        inline(html, &criterion.to_string(), &view.links);
        html.raw("</li>");
    }
    html.raw("</ul>\n");
}

/// The tests that the work deletes, skips or weakens.
fn weaker(html: &mut Html, view: &View<'_>) {
    let changes = view.export.facts.state().evidence.snapshot.as_ref().map_or(&[][..], |snapshot| &snapshot.weakened);
    if changes.is_empty() {
        return;
    }
    html.raw("<p>Tests that this work deletes, skips or weakens:</p><ul>");
    for change in changes {
        html.raw("<li>");
        inline(html, &weakened(change), &view.links);
        html.raw("</li>");
    }
    html.raw("</ul>\n");
}

/// What `verify` says, the wrong ones in the open.
fn recomputed(html: &mut Html, checked: &[Checked]) {
    let wrong = checked.iter().filter(|one| one.problem.is_some()).count();
    for one in checked {
        if let Some(problem) = &one.problem {
            html.raw("<p class=\"wrong\">Does not hold: ").text(&one.what).raw(": ").text(problem).raw("</p>\n");
        }
    }
    html.raw("<details><summary>");
    match wrong {
        0 => html.text(&format!("All {} recomputed claims hold", checked.len())),
        _ => html.text(&format!("{wrong} of {} recomputed claims do not hold", checked.len())),
    };
    html.raw("</summary><ul class=\"held\">");
    for one in checked {
        html.raw("<li>");
        html.pill(
            if one.problem.is_none() { "good" } else { "bad" },
            if one.problem.is_none() { "ok" } else { "wrong" },
        );
        html.raw(" ").text(&one.what).raw("</li>");
    }
    html.raw("</ul></details>\n");
}

fn explanation(html: &mut Html, view: &View<'_>) {
    let state = view.export.facts.state();
    if state.rounds.round == 0 {
        return;
    }
    html.raw("<h3>What the agents explain</h3>\n<p class=\"dim\">Statements that refer to no finding, changed file or check are marked.</p>\n");
    html.raw("<div class=\"pack\">\n");
    for (name, text) in state.gate.explanation.parts() {
        html.raw("<div class=\"card\">").element("h4", "", name);
        part(html, view, text);
        html.raw("</div>\n");
    }
    html.raw("</div>\n");
}

fn part(html: &mut Html, view: &View<'_>, text: &str) {
    let (said, surplus) = statements(text);
    if said.is_empty() {
        html.raw("<p class=\"none\">missing: no agent has explained this</p>");
        return;
    }
    html.raw("<ul>");
    for one in said {
        html.raw("<li>");
        inline(html, &one.text, &view.links);
        if view.links.find(&format!("{}\n{}", one.text, one.code)).is_empty() {
            html.raw(" <span class=\"none\">no evidence</span>");
        }
        if !one.code.trim().is_empty() {
            html.element("pre", "", &one.code);
        }
        html.raw("</li>");
    }
    if surplus > 0 {
        html.element("li", "cut", &format!("and {surplus} more"));
    }
    html.raw("</ul>");
}
