//! What people were asked, what they answered, and what they decided about the package.

use crate::bubble::{BubbleState, Phase};
use crate::log::{Decision, GateDecision, QuestionKind};
use crate::safe::safe;
use crate::view::export::contents::View;
use crate::view::export::facts::{Asked, Decided};
use crate::view::export::head::moment;
use crate::view::export::html::{Html, dropped, section};
use crate::view::export::links::{finding_anchor, message_anchor};
use crate::view::export::prose::blocks;
use crate::view::words::called;

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let facts = &view.export.facts;
    section(html, "people", "People");
    html.raw("<h3>Questions and answers</h3>\n");
    dropped(html, facts.asked.dropped, &format!("pairflow log {}", facts.state().id));
    if facts.asked.list.is_empty() {
        html.raw("<p class=\"dim\">Nobody was asked anything.</p>\n");
    }
    facts.asked.list.iter().for_each(|asked| question(html, view, asked));
    html.raw("<h3>Approval</h3>\n");
    facts.decided.list.iter().for_each(|decided| decision(html, view, decided));
    stand(html, facts.state(), facts.decided.list.is_empty());
    html.raw("</section>\n");
}

fn question(html: &mut Html, view: &View<'_>, asked: &Asked) {
    html.raw("<div class=\"said\"><p class=\"who\">").element("b", "", &called(&asked.by)).raw(" asks ");
    html.pill("plain", kind(asked.kind)).raw(" ").link("dim", &message_anchor(asked.seq), &moment(asked.at));
    html.raw("</p>\n<blockquote>");
    match asked.kind {
        // A command is shown as it is, not read as Markdown.
        QuestionKind::Permission | QuestionKind::Permit => {
            html.element("p", "", &safe(&asked.question));
        }
        _ => blocks(html, &asked.question, &view.links),
    }
    html.raw("</blockquote>\n");
    for said in &asked.answers {
        let how = match said.decision {
            None => "answers",
            Some(Decision::Accept) => "decides to accept",
            Some(Decision::Continue) => "decides to continue",
        };
        html.raw("<p class=\"who\"><b>human</b> ").raw(how).raw(" ");
        html.link("dim", &message_anchor(said.seq), &moment(said.at)).raw("</p>\n<blockquote>");
        blocks(html, &said.message, &view.links);
        html.raw("</blockquote>\n");
    }
    if asked.answers.is_empty() {
        html.raw("<p class=\"none\">not answered</p>\n");
    }
    html.raw("</div>\n");
}

fn kind(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Question => "question",
        QuestionKind::Watchdog => "silence",
        QuestionKind::AgentEnded => "agent ended",
        QuestionKind::TieBreak => "rounds used up",
        QuestionKind::Reversal => "reversal",
        QuestionKind::Comprehension => "comprehension",
        QuestionKind::CouldNotCheck => "could not check",
        QuestionKind::Failing => "fails again",
        QuestionKind::Baseline => "fails on the base",
        QuestionKind::Differs => "fails in a fresh checkout",
        QuestionKind::Trouble => "trouble",
        QuestionKind::LongTurn => "long turn",
        QuestionKind::Idle => "idle",
        QuestionKind::Undelivered => "not delivered",
        QuestionKind::Permission | QuestionKind::Permit => "permission",
        QuestionKind::Dialog => "dialog",
        QuestionKind::Limit => "usage limit",
    }
}

fn decision(html: &mut Html, view: &View<'_>, decided: &Decided) {
    let (class, word) = match decided.verdict {
        GateDecision::Approve => ("good", "approved"),
        GateDecision::Revise => ("warn", "sent back"),
        GateDecision::Reject => ("bad", "rejected"),
    };
    html.raw("<div class=\"said\"><p class=\"who\"><b>human</b> ").pill(class, word).raw(" tree ");
    html.element("code", "", decided.tree.short()).raw(" ");
    html.link("dim", &message_anchor(decided.seq), &moment(decided.at)).raw("</p>\n");
    if !decided.message.trim().is_empty() {
        html.raw("<blockquote>");
        blocks(html, &decided.message, &view.links);
        html.raw("</blockquote>\n");
    }
    for id in &decided.findings {
        html.link("", &finding_anchor(*id), &id.to_string()).raw(" ");
    }
    html.raw("</div>\n");
}

fn stand(html: &mut Html, state: &BubbleState, undecided: bool) {
    match &state.phase {
        Phase::ReadyForApproval(request) => {
            html.raw("<p>Tree ")
                .element("code", "", request.tree.short())
                .raw(" waits for a person&#39;s decision.</p>\n");
        }
        Phase::Committed(at) | Phase::Done(at) => {
            html.raw("<p>Committed as ").element("code", "", &at.commit.0).raw("</p>\n");
        }
        _ if undecided => {
            html.raw("<p class=\"dim\">Nothing has been put up for approval.</p>\n");
        }
        _ => {}
    }
}
