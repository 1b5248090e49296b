//! The approval package: what a person reads before deciding. Built from facts, never from an agent's word alone.
//!
//! Every statement links to its evidence: a diff, a receipt, a row of the ledger. What an agent says and code cannot tie
//! to any of them is marked. It is quoted, fenced or kept on one line, so that none of it can pass for a part of the
//! package, and it can set no link of its own.

mod evidence;
mod message;
pub(crate) mod references;
pub(crate) mod statements;

use crate::bubble::BubbleState;
use crate::bubble::evolve;
use crate::facts::Seat;
use crate::facts::{Certificate, RowStand};
use crate::facts::{FileChange, Snapshot};
use crate::gates::TestChange;
use crate::log::{Body, Envelope};
use crate::progress::{CheckState, HandoverSummary};
use crate::safe::safe_line;
use crate::view::markdown::Page;
use crate::view::words::{claim, ended, one_line, rest, weakened};
use evidence::{Linked, inert, row_link};
pub use message::commit_message;

/// The file's name beneath `artifacts/`.
pub const NAME: &str = "done-package.md";

/// Renders the package.
pub fn render(state: &BubbleState, certificate: &Certificate, message: &str) -> String {
    let linked = Linked::of(state);
    let mut page = Page::new(&format!("Package of bubble {}", state.id));
    page.line(&accepted(certificate));
    page.section("What changed");
    what(&mut page, &linked);
    page.section("Why");
    why(&mut page, &linked);
    page.section("Key tradeoffs and residual risks");
    risks(&mut page, &linked, certificate);
    page.section("Changed files");
    files(&mut page, &linked);
    page.section("Suggested manual test plan");
    test_plan(&mut page, &linked);
    page.section("Suggested commit message");
    page.block(message);
    page.finish()
}

/// Renders the package again that an acceptance put up for approval, given the state `before` it.
///
/// Returns nothing if `envelope` is no acceptance.
pub fn again(before: &BubbleState, envelope: &Envelope) -> Option<String> {
    let Body::Convergence(claim) = &envelope.event.body else { return None };
    let state = evolve(before.clone(), envelope);
    Some(render(&state, &claim.certificate, &commit_message(&state)))
}

fn accepted(certificate: &Certificate) -> String {
    let reviews = certificate.reviews.iter().map(|review| {
        let asides: String = review.asides().iter().map(|aside| format!(", {aside}")).collect();
        format!("{} (round {}{asides})", review.agent, review.round)
    });
    let reviews: Vec<_> = reviews.collect();
    let by = if reviews.is_empty() { "nobody".to_owned() } else { reviews.join(" and ") };
    let (tree, policy) = (&certificate.tree, &certificate.policy);
    if !certificate.by_person() {
        return format!("Tree {tree}, accepted under the policy `{policy}`, reviewed clean by {by}.");
    }
    let open: Vec<_> = certificate.open_then().map(|finding| inert(&claim(finding))).collect();
    let open = if open.is_empty() { "no P0/P1 finding".to_owned() } else { open.join(", ") };
    let missing: Vec<_> = certificate.missing_then().map(inert).collect();
    let missing = if missing.is_empty() { String::new() } else { format!(" Missing then: {}.", missing.join(", ")) };
    format!(
        "Tree {tree}, accepted by a person at a tie-break of the policy `{policy}`, because the reviews brought no agreement. \
         Reviewed clean by {by}. Open then: {open}.{missing}"
    )
}

fn produced(state: &BubbleState) -> impl Iterator<Item = &HandoverSummary> {
    state.gate.summaries.iter().filter(|said| said.seat == Seat::Implementer)
}

fn what(page: &mut Page, linked: &Linked<'_>) {
    let state = linked.state;
    let (files, added, removed) = state.evidence.snapshot.as_ref().map(Snapshot::against_base).unwrap_or_default();
    page.line(&format!("{files} file(s) changed, {added} line(s) added, {removed} removed."));
    explained(page, linked, "what changed", &state.gate.explanation.what);
    for said in produced(state) {
        let diff = evidence::diff_link("diff", said.round);
        page.line(&format!("\nIn round {} ({diff}), {} said:\n", said.round, said.agent));
        page.quote(&said.summary);
    }
}

fn why(page: &mut Page, linked: &Linked<'_>) {
    let state = linked.state;
    page.line("The task:\n");
    page.quote(&state.about.task);
    if let Some(prd) = &state.rules.prd {
        let approval = inert(&prd.approval());
        page.line(&format!("\nIt implements this, {approval}:\n"));
        page.items(prd.documents.iter().map(|(path, sha256)| format!("{} (SHA-256 {sha256})", inert(path))));
    }
    if state.about.acceptance_criteria.is_empty() {
        page.line("\nThe task names no acceptance criteria.");
    } else {
        page.line("\nIts acceptance criteria:\n");
        page.items(state.about.acceptance_criteria.iter().map(|criterion| one_line(criterion)));
    }
    explained(page, linked, "why", &state.gate.explanation.why);
}

/// Adds one part of the agents' explanation, statement by statement, or says that it is missing.
fn explained(page: &mut Page, linked: &Linked<'_>, part: &str, text: &str) {
    let (said, surplus) = statements::statements(text);
    if said.is_empty() {
        page.line(&format!("\nMissing: no agent has explained this ({part})."));
        return;
    }
    page.line(&format!("\nThe agents explain ({part}):\n"));
    for one in &said {
        page.item(&linked.marked(one));
        if !one.code.trim().is_empty() {
            page.line("");
            page.block(&one.code);
        }
    }
    if surplus > 0 {
        page.item(&format!("and {surplus} more statement(s), left out here"));
    }
}

fn risks(page: &mut Page, linked: &Linked<'_>, certificate: &Certificate) {
    let state = linked.state;
    let mut rows = Vec::new();
    for finding in &certificate.open {
        let id = finding.id.map(|id| format!("{} ", row_link(id))).unwrap_or_default();
        let decided =
            if certificate.accepted_open(finding) { ", accepted so by a person at the tie-break" } else { "" };
        rows.push(format!("open finding{decided}: {id}{} {}", finding.severity, inert(&finding.title)));
    }
    rows.extend(certificate.missing_then().map(|what| linked.with("accepted by a person without: ", what)));
    rows.extend(settled(certificate));
    rows.extend(weaker(linked));
    rows.extend(outside(linked));
    let unavailable = certificate.checks.iter().filter(|check| check.stand != "passed");
    rows.extend(unavailable.map(|check| {
        let receipt = linked.receipt(&check.check).map(|link| format!(" ({link})")).unwrap_or_default();
        format!("check '{}': {}{receipt}", inert(&check.check), inert(&check.stand))
    }));
    rows.extend(certificate.notes.iter().map(|note| inert(note)));
    let last_review = state.gate.summaries.iter().rev().find(|said| said.seat == Seat::Reviewer);
    rows.extend(last_review.map(|said| {
        let (by, round) = (&said.agent, said.round);
        format!("last review, by {by} in round {round}: {}", inert(&safe_line(&said.summary, 400)))
    }));
    if rows.is_empty() {
        page.line("Nothing is known.");
    }
    page.items(rows);
    explained(page, linked, "risks", &state.gate.explanation.risks);
}

/// The findings that are closed, in one row.
fn settled(certificate: &Certificate) -> Option<String> {
    let closed = certificate.ledger.iter().filter(|row| row.settled);
    let told = |row: &RowStand| format!("{} {} {}", row_link(row.id), row.severity, row.state.told(row.settled));
    let closed: Vec<_> = closed.map(told).collect();
    (!closed.is_empty()).then(|| format!("closed findings: {}", closed.join(", ")))
}

/// The tests that the work deletes, skips or weakens.
fn weaker(linked: &Linked<'_>) -> Vec<String> {
    let changes = linked.state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.weakened);
    let told = |change: &TestChange| {
        let place = linked.file(&change.path, Some(change.line));
        format!("test {} ({place})", inert(&weakened(change)))
    };
    changes.map(told).collect()
}

/// What the snapshot touches that it should not, or that a reader should look at twice.
fn outside(linked: &Linked<'_>) -> Vec<String> {
    let Some(snapshot) = &linked.state.evidence.snapshot else { return Vec::new() };
    let mut rows: Vec<_> =
        snapshot.out_of_scope.iter().map(|path| format!("out of scope: {}", linked.file(path, None))).collect();
    let whole = snapshot.whole.as_ref().filter(|whole| whole.out_of_scope > 0);
    rows.extend(whole.map(|whole| format!("out of scope in all: {}", whole.out_of_scope)));
    let ignore = snapshot.ignore_changes.iter();
    rows.extend(ignore.map(|path| format!("decides which files count, and was changed: {}", linked.file(path, None))));
    rows
}

fn files(page: &mut Page, linked: &Linked<'_>) {
    let snapshot = linked.state.evidence.snapshot.as_ref();
    let files = snapshot.map_or(&[][..], |snapshot| &snapshot.changed);
    if files.is_empty() {
        page.line("None.");
        return;
    }
    let row = |file: &FileChange| {
        let count = |lines: Option<u64>, sign: char| lines.map_or("-".to_owned(), |lines| format!("{sign}{lines}"));
        let (added, removed) = (count(file.added, '+'), count(file.removed, '-'));
        let diffs: String =
            linked.rounds(&file.path).iter().map(|round| format!(" {}", evidence::diff(*round))).collect();
        format!("{} {} {added} {removed}{diffs}", file.status, one_line(&file.path))
    };
    page.block(&files.iter().map(row).collect::<Vec<_>>().join("\n"));
    let whole = snapshot.and_then(|snapshot| snapshot.whole.as_ref());
    page.items(rest(files.len(), whole.map(|whole| &whole.changed)));
}

fn test_plan(page: &mut Page, linked: &Linked<'_>) {
    let state = linked.state;
    let mut rows: Vec<String> = Vec::new();
    for check in &state.rules.checks {
        let stand = match (state.check(&check.name), state.evidence.flaky(&check.name)) {
            (CheckState::Passed(_), Some(failed)) => {
                format!("{}, then passed when pairflow ran it again on the same tree", ended(failed))
            }
            (CheckState::Passed(_), None) => "passed when pairflow ran it on this tree".to_owned(),
            (CheckState::NotAvailable, _) => "not available; run it by hand".to_owned(),
            (CheckState::Waived(reason), _) => format!("waived by a person: {}", inert(reason)),
            (CheckState::Failed(_) | CheckState::Missing, _) => "has not passed".to_owned(),
        };
        let receipt = linked.receipt(&check.name).map(|link| format!(" ({link})")).unwrap_or_default();
        rows.push(format!("`{}` ({}): {stand}{receipt}", one_line(&check.command), one_line(&check.name)));
    }
    rows.extend(state.rules.manual_checks.iter().map(|check| format!("by hand: {}", one_line(check))));
    rows.extend(state.about.acceptance_criteria.iter().map(|line| format!("see that it holds: {}", one_line(line))));
    if rows.is_empty() {
        rows.push("read the diff and try the changed behaviour".to_owned());
    }
    rows.iter().zip(1..).for_each(|(row, number)| page.line(&format!("{number}. {row}")));
    explained(page, linked, "manual test plan", &state.gate.explanation.test_plan);
}
