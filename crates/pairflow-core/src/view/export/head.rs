//! The head of the page: which bubble, which task, who, where it stands.

use crate::bubble::{BubbleState, Phase, StateName};
use crate::facts::Snapshot;
use crate::view::export::contents::View;
use crate::view::export::html::Html;
use crate::view::export::prose::{blocks, inline};
use crate::view::words::{changes, one_line, title};

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let state = view.export.facts.state();
    html.raw("<header>\n<p class=\"over\">bubble ").element("b", "", state.id.as_str()).raw(" ");
    html.pill(tone(state), state.phase.name().as_str());
    if state.paused {
        html.raw(" ").pill("warn", "paused");
    }
    html.raw("</p>\n").element("h1", "", &one_line(title(&state.about.task))).raw("\n");
    facts(html, state);
    criteria(html, view);
    html.raw("<details class=\"task\"><summary>The task in full</summary><div class=\"prose\">");
    blocks(html, &state.about.task, &view.links);
    html.raw("</div></details>\n</header>\n");
}

/// How a state is meant.
pub(super) fn tone(state: &BubbleState) -> &'static str {
    match state.phase.name() {
        StateName::Done | StateName::Committed | StateName::ApprovedForCommit => "good",
        StateName::ReadyForApproval | StateName::WaitingHuman => "warn",
        StateName::Failed | StateName::Cancelled => "bad",
        _ => "plain",
    }
}

fn facts(html: &mut Html, state: &BubbleState) {
    html.raw("<dl class=\"facts\">");
    let seats = format!("{} implements, {} reviews", state.rules.agents.implementer, state.rules.agents.reviewer);
    row(html, "Seats at the start", &seats);
    if let Some(second) = &state.rules.agents.second_reviewer {
        row(html, "Second reviewer", second.as_str());
    }
    row(html, "Kind", &state.rules.kind.to_string());
    if state.rounds.round > 0 {
        row(html, "Rounds", &format!("{}, a person decides after {}", state.rounds.round, state.rules.max_rounds));
    }
    if let Some(snapshot) = &state.evidence.snapshot {
        row(html, "Changes", &changes(Snapshot::against_base(snapshot)));
    }
    row(html, "Branch", &format!("{} from {}", state.rules.bubble_branch, state.rules.base_branch));
    row(html, "Repository", &state.about.repo);
    row(html, "Created", &moment(state.about.created_at));
    if let Phase::Committed(at) | Phase::Done(at) = &state.phase {
        row(html, "Commit", at.commit.short());
    }
    if let Some(merged) = &state.gate.merged {
        row(html, "Merged as", merged.short());
    }
    html.raw("</dl>\n");
}

fn row(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<div><dt>").raw(name).raw("</dt>").element("dd", "", value).raw("</div>");
}

fn criteria(html: &mut Html, view: &View<'_>) {
    let criteria = &view.export.facts.state().about.acceptance_criteria;
    if criteria.is_empty() {
        html.raw("<p class=\"dim\">The task names no acceptance criteria.</p>\n");
        return;
    }
    html.raw("<h3>Acceptance criteria</h3>\n<ul class=\"criteria\">");
    for criterion in criteria {
        html.raw("<li>");
        inline(html, criterion, &view.links);
        html.raw("</li>");
    }
    html.raw("</ul>\n");
}

/// A time for people: `2026-02-21 12:34:56`.
pub(super) fn moment(at: crate::time::Timestamp) -> String {
    let text = at.to_string();
    format!("{} {} UTC", text.get(..10).unwrap_or_default(), at.hms())
}
