//! The rounds: who sat where, what was handed over, what it changed.

use std::ops::Range;

use crate::facts::RoundRoles;
use crate::facts::Seat;
use crate::view::export::changes::Room;
use crate::view::export::contents::View;
use crate::view::export::facts::Handed;
use crate::view::export::html::{Html, section};
use crate::view::export::links::{finding_anchor, message_anchor, receipt_anchor};
use crate::view::export::patch::Patch;
use crate::view::export::prose::{blocks, inline};
use crate::view::export::receipts;
use crate::view::words::count;

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    let state = view.export.facts.state();
    section(html, "rounds", "Rounds");
    if state.rounds.history.is_empty() {
        html.raw("<p class=\"dim\">No round has begun.</p>\n");
    }
    let mut room = Room::of_rounds();
    for seatings in state.rounds.history.chunk_by(|one, next| one.round == next.round) {
        let round = seatings[0].round;
        html.open_at("article", "round", &format!("round-{round}"));
        html.raw("<h3>").text(&format!("Round {round}")).raw(" <span class=\"dim\">");
        html.text(&who_sat(seatings)).raw("</span></h3>\n");
        let said = view.export.facts.handed.list.iter().filter(|handed| handed.round == round);
        let mut before = 0;
        for handed in said {
            checks(html, view, round, before..handed.seq);
            hand_over(html, view, handed);
            before = handed.seq;
        }
        checks(html, view, round, before..u64::MAX);
        changes(html, view, round, &mut room);
        html.raw("</article>\n");
    }
    html.raw("</section>\n");
}

/// Who implements and who reviews in one round, in the order of the seatings.
fn who_sat(seatings: &[RoundRoles]) -> String {
    let reviewers = seatings.iter().map(|roles| roles.reviewer.as_str()).collect::<Vec<_>>().join(", then ");
    let implementer = seatings.first().map_or("", |roles| roles.implementer.as_str());
    format!("{implementer} implements, {reviewers} reviews")
}

fn hand_over(html: &mut Html, view: &View<'_>, handed: &Handed) {
    html.raw("<div class=\"said\"><p class=\"who\">").element("b", "", handed.by.as_str());
    html.raw(match handed.seat {
        Seat::Implementer => " hands over",
        Seat::Reviewer if handed.findings.is_empty() => " reviews",
        Seat::Reviewer => " finds",
        Seat::Judge => " decides",
    });
    html.raw(" ").link("dim", &message_anchor(handed.seq), "in the timeline").raw("</p>\n<blockquote>");
    blocks(html, &handed.summary, &view.links);
    html.raw("</blockquote>\n");
    if !handed.findings.is_empty() {
        html.raw("<ul class=\"found\">");
        for finding in &handed.findings {
            html.raw("<li>")
                .pill(if finding.severity.blocks() { "bad" } else { "warn" }, &finding.severity.to_string());
            if let Some(id) = finding.id {
                html.raw(" ").link("", &finding_anchor(id), &id.to_string());
            }
            html.raw(" ");
            inline(html, &finding.title, &view.links);
            html.raw("</li>");
        }
        html.raw("</ul>\n");
    }
    answers(html, handed);
    html.raw("</div>\n");
}

fn answers(html: &mut Html, handed: &Handed) {
    let disputed: Vec<_> = handed.answers.disputed.iter().map(|one| one.finding).collect();
    let kinds = [
        ("claimed fixed", &handed.answers.fixed),
        ("disputed", &disputed),
        ("confirmed", &handed.answers.confirmed),
        ("reopened", &handed.answers.reopened),
        ("reproducer withdrawn", &handed.answers.retracted),
    ];
    for (word, ids) in kinds {
        for id in ids {
            html.raw("<span class=\"answer\">").link("", &finding_anchor(*id), &id.to_string());
            html.raw(" ").raw(word).raw("</span> ");
        }
    }
}

/// Adds what was run in a round between two lines of the log.
fn checks(html: &mut Html, view: &View<'_>, round: u32, between: Range<u64>) {
    let ran = view.export.facts.receipts.list.iter();
    let ran: Vec<_> = ran.filter(|ran| ran.round == round && between.contains(&ran.seq)).collect();
    if ran.is_empty() {
        return;
    }
    html.raw("<p class=\"ran\">");
    for ran in ran {
        let (class, word) = receipts::outcome(ran);
        html.link("", &receipt_anchor(ran.seq), &receipts::name(ran)).raw(" ").pill(class, word).raw(" ");
    }
    html.raw("</p>\n");
}

fn changes(html: &mut Html, view: &View<'_>, round: u32, room: &mut Room) {
    let found = view.export.patches.rounds.iter().find(|(number, _)| *number == round);
    let patch = found.map(|(_, text)| Patch::read(text)).unwrap_or_default();
    if patch.files.is_empty() {
        html.raw("<p class=\"dim\">Nothing was changed in this round.</p>\n");
        return;
    }
    let (added, removed) =
        patch.files.iter().map(super::patch::FilePatch::counts).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    html.raw("<details><summary>What it changed ")
        .text(&format!("({}, +{added} -{removed})", count(patch.files.len(), "file")));
    html.raw("</summary>\n");
    room.files(html, &patch, Some(round), &format!("pairflow diff {} --round {round}", view.export.facts.state().id));
    html.raw("</details>\n");
}
