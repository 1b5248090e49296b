//! The sections of the page that follow the log: timeline, findings, rounds, receipts, people.

use std::ops::Range;

use maud::{Markup, html};

use crate::bubble::Phase;
use crate::facts::{Finding, Outcome, Receipt, Seat};
use crate::findings::{ReproducerState, Row};
use crate::ids::{FindingId, Party};
use crate::log::{ApprovalDecision, Decision, GateDecision, QuestionKind};
use crate::rules::BubbleKind;
use crate::view::Tone;
use crate::view::export::changes::DiffBudget;
use crate::view::export::log_facts::{AskedQuestion, HandOver, Logged, RunKind};
use crate::view::export::text::{
    PageContext, SafeText, blocks, finding_anchor, inline, link, message_anchor, moment, pill, receipt_anchor,
};
use crate::view::patch::{self, FilePatch};
use crate::view::timeline::TimelineRow;
use crate::view::words::{asides, called, count, ended, question_kind, seconds};

/// Something that pairflow ran.
type LoggedReceipt = Logged<(RunKind, Receipt)>;

/// How many characters of the last lines of an output are shown.
const TAIL: usize = 8_000;

/// What happened, line by line, under the days it happened on.
pub(super) fn timeline(page: &PageContext<'_>) -> Markup {
    let rows = &page.export.facts.rows;
    let before = std::iter::once(None).chain(rows.list.iter().map(Some));
    html! {
        section id="timeline" {
            h2 { "Timeline" }
            (dropped(page, rows.dropped))
            ol.story {
                @for (row, before) in rows.list.iter().zip(before) {
                    @if before.is_none_or(|before| before.at.yyyymmdd() != row.at.yyyymmdd()) {
                        li.day { (row.at.to_string().get(..10).unwrap_or_default()) " (UTC)" }
                    }
                    // Only the first line of an envelope can be linked to: a place has one name.
                    @let anchor = before.is_none_or(|before| before.seq != row.seq).then(|| message_anchor(row.seq));
                    li class=[timeline_class(row)] id=[anchor] {
                        time { (row.at.hms()) } b { (SafeText(&row.who)) } span { (inline(&row.what, &page.links)) }
                    }
                }
            }
        }
    }
}

fn timeline_class(row: &TimelineRow) -> Option<&'static str> {
    match row.tone {
        Tone::Plain if row.kind.is_none() => Some("turned"),
        Tone::Plain if row.who == called(&Party::Orchestrator) => Some("quiet"),
        Tone::Plain | Tone::Strong | Tone::Faint => None,
        Tone::Good => Some("good"),
        Tone::Warn => Some("warn"),
        Tone::Bad => Some("bad"),
    }
}

/// Says how many older entries a list had.
fn dropped(page: &PageContext<'_>, count: usize) -> Markup {
    html! {
        @if count > 0 {
            p.cut {
                (count) " older entries are left out here; "
                code { "pairflow log " (page.export.facts.state().id.as_str()) } " shows them."
            }
        }
    }
}

/// The ledger: every finding, its state, and its history.
pub(super) fn findings(page: &PageContext<'_>) -> Markup {
    let rows = &page.export.facts.state().ledger.rows;
    html! {
        section id="findings" {
            h2 { "Findings" }
            @if rows.is_empty() {
                p.dim { "No finding has been filed." }
            } @else {
                div.wide { table.ledger {
                    thead { tr { th { "Id" } th { "Severity" } th { "State" } th { "Finding" } } }
                    tbody { @for row in rows { (finding_row(page, row)) } }
                } }
            }
        }
    }
}

fn finding_row(page: &PageContext<'_>, row: &Row) -> Markup {
    let severity = match (row.is_open(), row.severity.blocks()) {
        (false, _) => "plain",
        (true, true) => "bad",
        (true, false) => "warn",
    };
    let state = match (row.blocks(), row.is_open()) {
        (true, _) => "bad",
        (false, true) => "warn",
        (false, false) => "good",
    };
    let anchor = finding_anchor(row.id);
    html! {
        tr class=[row.is_open().then_some("open")] id=(anchor) {
            td { (link(Some("id"), &anchor, &row.id.to_string())) }
            td { (pill(severity, &row.severity.to_string())) }
            td {
                (pill(state, row.stands()))
                @if row.settled { " " span.dim { "closed" } }
                @for aside in asides(row, page.export.facts.state().rules.kind) { " " span.dim { (SafeText(&aside)) } }
            }
            td {
                p.title { (inline(&row.title, &page.links)) }
                (origin(page, row))
                (history(page, row))
            }
        }
    }
}

/// Who filed a finding, where it is, and what else marks it.
fn origin(page: &PageContext<'_>, row: &Row) -> Markup {
    let line = row.line.map(|line| format!(":{line}")).unwrap_or_default();
    html! {
        p.dim {
            "by " (row.by.as_str()) " in round " (row.round)
            @if let Some(file) = &row.file {
                ", at "
                @match page.links.place(file, row.line) {
                    Some(anchor) => (link(Some("ref"), &anchor, &format!("{file}{line}"))),
                    None => code { (SafeText(file)) (line) },
                }
            }
            @if let Some(class) = row.class { ", class " (class.name()) }
            @if row.risk { ", a risk" }
            @if row.late() { ", late" }
        }
    }
}

fn history(page: &PageContext<'_>, row: &Row) -> Markup {
    let texts = [("Claim", &row.detail), ("Suggestion", &row.suggestion), ("The line it is about", &row.anchor)];
    html! {
        details {
            summary { (row.history.len()) " entries of history" }
            @for (name, text) in texts.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
                h4 { (name) }
                div.prose { (blocks(text, &page.links)) }
            }
            @if let Some(reproducer) = &row.reproducer {
                h4 { "Reproducer" }
                p {
                    code { (SafeText(&reproducer.command)) }
                    @match reproducer.stand {
                        ReproducerState::Pending => " has not been run yet",
                        ReproducerState::Fails => " fails: the fault is there",
                        ReproducerState::Passes => " failed once, and passes now",
                        ReproducerState::Dropped => " did not show the fault, and no longer counts",
                    }
                }
            }
            @if let Some(fix) = row.fix_evidence().filter(|_| page.export.facts.state().rules.kind != BubbleKind::Document) {
                h4 { @if fix.shown { "Its fix is shown" } @else { "Its fix is not shown" } }
                p { (inline(&fix.why, &page.links)) }
            }
            ol.history {
                @for change in &row.history {
                    li {
                        "round " (change.round) ": " b { (change.to.told(change.settled)) } " by " (called(&change.by))
                        @if change.settled { ", closed" }
                        @if !change.note.is_empty() { ": " (inline(&change.note, &page.links)) }
                    }
                }
            }
        }
    }
}

/// A finding in one line.
pub(super) fn finding_line(page: &PageContext<'_>, finding: &Finding) -> Markup {
    html! {
        (pill(if finding.severity.blocks() { "bad" } else { "warn" }, &finding.severity.to_string()))
        @if let Some(id) = finding.id { " " (finding_link(id)) }
        " " (inline(&finding.title, &page.links))
    }
}

fn finding_link(id: FindingId) -> Markup {
    link(None, &finding_anchor(id), &id.to_string())
}

/// Texts as a list.
pub(super) fn inline_list<T: AsRef<str>>(page: &PageContext<'_>, texts: impl IntoIterator<Item = T>) -> Markup {
    html! { ul { @for text in texts { li { (inline(text.as_ref(), &page.links)) } } } }
}

/// The rounds: who sat where, what was handed over, what it changed.
pub(super) fn rounds(page: &PageContext<'_>) -> Markup {
    let state = page.export.facts.state();
    let mut budget = DiffBudget::new(true);
    html! {
        section id="rounds" {
            h2 { "Rounds" }
            @if state.rounds.history.is_empty() { p.dim { "No round has begun." } }
            @for seats in state.rounds.history.chunk_by(|one, next| one.round == next.round) {
                @let round = seats[0].round;
                @let reviewers = seats.iter().map(|roles| roles.reviewer.as_str()).collect::<Vec<_>>().join(", then ");
                article.round id={ "round-" (round) } {
                    h3 { "Round " (round) " " span.dim { (seats[0].implementer.as_str()) " implements, " (reviewers) " reviews" } }
                    (hand_overs(page, round))
                    (round_changes(page, round, &mut budget))
                }
            }
        }
    }
}

/// What was handed over in a round, with what was run before and after each.
fn hand_overs(page: &PageContext<'_>, round: u32) -> Markup {
    let mut before = 0;
    html! {
        @for it in page.export.facts.hand_overs.list.iter().filter(|it| it.round == round) {
            (runs(page, round, before..it.seq))
            (hand_over(page, it))
            ({ before = it.seq; "" })
        }
        (runs(page, round, before..u64::MAX))
    }
}

fn hand_over(page: &PageContext<'_>, it: &Logged<HandOver>) -> Markup {
    let disputed: Vec<_> = it.said.answers.disputed.iter().map(|one| one.finding).collect();
    let answers = [
        ("claimed fixed", &it.said.answers.fixed),
        ("disputed", &disputed),
        ("confirmed", &it.said.answers.confirmed),
        ("reopened", &it.said.answers.reopened),
        ("reproducer withdrawn", &it.said.answers.retracted),
    ];
    html! {
        div.said {
            p.who {
                b { (called(&it.by)) }
                @match it.said.seat {
                    _ if it.said.acceptance => " writes acceptance tests ",
                    Seat::Implementer => " hands over ",
                    Seat::Reviewer if it.said.findings.is_empty() => " reviews ",
                    Seat::Reviewer => " finds ",
                    Seat::Judge => " decides ",
                }
                (link(Some("dim"), &message_anchor(it.seq), "in the timeline"))
            }
            blockquote { (blocks(&it.said.summary, &page.links)) }
            @if !it.said.findings.is_empty() {
                ul.found { @for finding in &it.said.findings { li { (finding_line(page, finding)) } } }
            }
            @for (word, ids) in answers { @for id in ids { span.answer { (finding_link(*id)) " " (word) } " " } }
        }
    }
}

/// What was run in a round between two lines of the log.
fn runs(page: &PageContext<'_>, round: u32, between: Range<u64>) -> Markup {
    let runs = page.export.facts.receipts.list.iter();
    let runs: Vec<_> = runs.filter(|run| run.round == round && between.contains(&run.seq)).collect();
    html! {
        @if !runs.is_empty() {
            p.ran { @for run in runs { (link(None, &run_anchor(run), &name(run))) " " (outcome(run)) " " } }
        }
    }
}

fn round_changes(page: &PageContext<'_>, round: u32, budget: &mut DiffBudget) -> Markup {
    let found = page.export.patches.rounds.iter().find(|(number, _)| *number == round);
    let files = found.map(|(_, text)| patch::read(text)).unwrap_or_default();
    let counts = files.iter().map(FilePatch::counts);
    let (added, removed) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let command = format!("pairflow diff {} --round {round}", page.export.facts.state().id);
    html! {
        @if files.is_empty() {
            p.dim { "Nothing was changed in this round." }
        } @else {
            details {
                summary { "What it changed (" (count(files.len(), "file")) ", +" (added) " -" (removed) ")" }
                (budget.files(&files, Some(round), &command))
            }
        }
    }
}

/// What pairflow ran itself, what came of it, how long it took.
pub(super) fn receipts(page: &PageContext<'_>) -> Markup {
    let receipts = &page.export.facts.receipts;
    html! {
        section id="receipts" {
            h2 { "Receipts" }
            p.dim { "What pairflow ran itself. An agent's claim that tests pass is no evidence." }
            (dropped(page, receipts.dropped))
            @if receipts.list.is_empty() { p.dim { "Nothing has been run." } }
            @for run in &receipts.list { (receipt(run)) }
        }
    }
}

fn receipt(run: &LoggedReceipt) -> Markup {
    let (kind, receipt) = &run.said;
    let about = match kind {
        RunKind::Check => None,
        RunKind::Reproducer(id) => Some((", reproducer of ", *id)),
        RunKind::WithoutFix(id) => Some((", without the fix of ", *id)),
        RunKind::WithFix(id) => Some((", with the fix of ", *id)),
    };
    let tail = receipt.tail.trim_end();
    let from = tail.char_indices().rev().nth(TAIL - 1).map_or(0, |(at, _)| at);
    html! {
        details.receipt id=(run_anchor(run)) {
            summary {
                (outcome(run)) " " b { (SafeText(&name(run))) } " " code { (SafeText(&receipt.command)) } " "
                span.dim { "round " (run.round) ", tree " (SafeText(receipt.tree.short())) ", " (seconds(receipt.duration_ms)) }
            }
            p {
                (SafeText(&ended(receipt)))
                @if let Some((words, id)) = about { (words) (finding_link(id)) }
                @if let Some(output) = &receipt.output { ". All of its output is " code { (SafeText(output)) } }
            }
            @if tail.is_empty() { p.dim { "It printed nothing." } } @else { pre { (SafeText(&tail[from..])) } }
        }
    }
}

/// The anchor of a run. The test of a fix runs twice in one line of the log.
fn run_anchor(run: &LoggedReceipt) -> String {
    let second = if matches!(run.said.0, RunKind::WithFix(_)) { "-with-fix" } else { "" };
    format!("{}{second}", receipt_anchor(run.seq))
}

fn name(run: &LoggedReceipt) -> String {
    match run.said.0 {
        RunKind::Check => run.said.1.check.clone(),
        RunKind::Reproducer(id) => format!("reproducer of {id}"),
        RunKind::WithoutFix(id) => format!("test of {id} without its fix"),
        RunKind::WithFix(id) => format!("test of {id} with its fix"),
    }
}

/// How a run ended. A reproducer that fails does what it is for.
fn outcome(run: &LoggedReceipt) -> Markup {
    match (&run.said.1.outcome, run.said.0) {
        (Outcome::Passed, _) => pill("good", "passed"),
        (Outcome::Failed { .. }, RunKind::Reproducer(_) | RunKind::WithoutFix(_)) => pill("warn", "fails"),
        (Outcome::Failed { .. }, RunKind::Check | RunKind::WithFix(_)) => pill("bad", "failed"),
        (Outcome::CouldNotCheck { .. }, _) => pill("warn", "could not run"),
    }
}

/// What people were asked, what they answered, and what they decided about the package.
pub(super) fn people(page: &PageContext<'_>) -> Markup {
    let facts = &page.export.facts;
    html! {
        section id="people" {
            h2 { "People" }
            h3 { "Questions and answers" }
            (dropped(page, facts.asked.dropped))
            @if facts.asked.list.is_empty() { p.dim { "Nobody was asked anything." } }
            @for asked in &facts.asked.list { (question(page, asked)) }
            h3 { "Approval" }
            @for decided in &facts.decisions.list { (decision(page, decided)) }
            @match &facts.state().phase {
                Phase::ReadyForApproval(request) => {
                    p { "Tree " code { (SafeText(request.tree.short())) } " waits for a person's decision." }
                }
                Phase::Committed(at) | Phase::Done(at) => p { "Committed as " code { (SafeText(&at.commit.0)) } },
                _ => @if facts.decisions.list.is_empty() { p.dim { "Nothing has been put up for approval." } },
            }
        }
    }
}

fn question(page: &PageContext<'_>, AskedQuestion { asked, answers, .. }: &AskedQuestion) -> Markup {
    html! {
        div.said {
            p.who {
                b { (called(&asked.by)) } " asks " (pill("plain", question_kind(asked.said.kind))) " "
                (link(Some("dim"), &message_anchor(asked.seq), &moment(asked.at)))
            }
            blockquote {
                // A command is shown as it is, not read as Markdown.
                @if matches!(asked.said.kind, QuestionKind::Permission | QuestionKind::Permit) { p { (SafeText(&asked.said.question)) } }
                @else { (blocks(&asked.said.question, &page.links)) }
            }
            @for answer in answers {
                p.who {
                    b { "human" }
                    " " (answer.said.decision.map_or("answers", Decision::told)) " "
                    (link(Some("dim"), &message_anchor(answer.seq), &moment(answer.at)))
                }
                blockquote { (blocks(&answer.said.message, &page.links)) }
            }
            @if answers.is_empty() { p.none { "not answered" } }
        }
    }
}

fn decision(page: &PageContext<'_>, it: &Logged<ApprovalDecision>) -> Markup {
    let (class, word) = match it.said.decision {
        GateDecision::Approve => ("good", "approved"),
        GateDecision::Revise => ("warn", "sent back"),
        GateDecision::Reject => ("bad", "rejected"),
    };
    html! {
        div.said {
            p.who {
                b { "human" } " " (pill(class, word)) " tree " code { (SafeText(it.said.tree.short())) } " "
                (link(Some("dim"), &message_anchor(it.seq), &moment(it.at)))
            }
            @if !it.said.message.trim().is_empty() { blockquote { (blocks(&it.said.message, &page.links)) } }
            @for id in &it.said.findings { (finding_link(*id)) " " }
        }
    }
}
