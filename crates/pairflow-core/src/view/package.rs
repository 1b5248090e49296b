//! The approval package: what a person reads before deciding. Built from facts, never from an agent's word alone.
//!
//! What agents say in it is quoted, fenced or kept on one line, so that none of it can pass for a part of the package.

use crate::facts::{FileChange, Snapshot};
use crate::ids::Party;
use crate::log::{Body, Envelope};
use crate::rounds::Certificate;
use crate::unit::{CheckState, Said, Seat, Unit, claimed};
use crate::view::markdown::Page;
use crate::view::safe::{safe, safe_line};
use crate::view::words::{ended, one_line, rest};

/// The file's name beneath `artifacts/`.
pub const NAME: &str = "done-package.md";

/// Suggests a commit message: the task's first line, then what the producers said.
pub fn commit_message(unit: &Unit) -> String {
    let first = unit.task.lines().map(|line| line.trim().trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let subject = safe_line(first.unwrap_or("Work of the bubble"), 72);
    let body: Vec<_> = produced(unit).map(|said| safe(said.summary.trim()).into_owned()).collect();
    if body.is_empty() { subject } else { format!("{subject}\n\n{}", body.join("\n\n")) }
}

/// Renders the package.
pub fn render(unit: &Unit, certificate: &Certificate, message: &str) -> String {
    let mut page = Page::new(&format!("Package of bubble {}", unit.id));
    page.line(&accepted(certificate));
    page.section("What changed");
    what(&mut page, unit);
    page.section("Why");
    why(&mut page, unit);
    page.section("Key tradeoffs and residual risks");
    risks(&mut page, unit, certificate);
    page.section("Changed files");
    files(&mut page, unit);
    page.section("Suggested manual test plan");
    test_plan(&mut page, unit);
    page.section("Suggested commit message");
    page.block(message);
    page.finish()
}

/// Renders the package again that an acceptance put up for approval, given the state `before` it.
///
/// Returns nothing if `envelope` is no acceptance.
pub fn again(before: &Unit, envelope: &Envelope) -> Option<String> {
    let Body::Convergence(claim) = &envelope.event.body else { return None };
    let unit = match &envelope.event.sender {
        Party::Agent(by) => claimed(before, by, &claim.summary, claim.explanation.as_ref()),
        _ => before.clone(),
    };
    Some(render(&unit, &claim.certificate, &commit_message(&unit)))
}

fn accepted(certificate: &Certificate) -> String {
    let reviews = certificate.reviews.iter().map(|review| {
        let own = if review.own_work { ", re-checking its own work" } else { "" };
        format!("{} (round {}{own})", review.agent, review.round)
    });
    let reviews: Vec<_> = reviews.collect();
    let by = if reviews.is_empty() { "a person's decision".to_owned() } else { reviews.join(" and ") };
    format!("Tree {}, accepted under the policy `{}`, reviewed clean by {by}.", certificate.tree, certificate.policy)
}

fn produced(unit: &Unit) -> impl Iterator<Item = &Said> {
    unit.summaries.iter().filter(|said| said.seat == Seat::Producer)
}

fn changed(unit: &Unit) -> &[FileChange] {
    unit.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.changed)
}

fn what(page: &mut Page, unit: &Unit) {
    let (files, added, removed) = unit.snapshot.as_ref().map(Snapshot::against_base).unwrap_or_default();
    page.line(&format!("{files} file(s) changed, {added} line(s) added, {removed} removed."));
    for said in produced(unit) {
        page.line(&format!("\nIn round {}, {} said:\n", said.round, said.agent));
        page.quote(&said.summary);
    }
}

fn why(page: &mut Page, unit: &Unit) {
    page.line("The task:\n");
    page.quote(&unit.task);
    if unit.acceptance_criteria.is_empty() {
        page.line("\nThe task names no acceptance criteria.");
        return;
    }
    page.line("\nIts acceptance criteria:\n");
    page.items(unit.acceptance_criteria.iter().map(|criterion| one_line(criterion)));
}

fn risks(page: &mut Page, unit: &Unit, certificate: &Certificate) {
    let mut rows = Vec::new();
    for finding in &certificate.open {
        let id = finding.id.map(|id| format!("{id} ")).unwrap_or_default();
        rows.push(format!("open finding: {id}{} {}", finding.severity, one_line(&finding.title)));
    }
    rows.extend(certificate.waived.iter().map(|waived| format!("waived by a person: {}", one_line(waived))));
    let out_of_scope = unit.snapshot.iter().flat_map(|snapshot| &snapshot.out_of_scope);
    rows.extend(out_of_scope.map(|path| format!("out of scope: {}", one_line(path))));
    let whole = unit.snapshot.as_ref().and_then(|snapshot| snapshot.whole.as_ref());
    rows.extend(
        whole
            .filter(|whole| whole.out_of_scope > 0)
            .map(|whole| format!("out of scope in all: {}", whole.out_of_scope)),
    );
    let ignore = unit.snapshot.iter().flat_map(|snapshot| &snapshot.ignore_changes);
    rows.extend(ignore.map(|path| format!("decides which files count, and was changed: {}", one_line(path))));
    let unavailable = certificate.checks.iter().filter(|check| check.stand != "passed");
    rows.extend(unavailable.map(|check| format!("check '{}': {}", one_line(&check.check), check.stand)));
    rows.extend(certificate.notes.iter().map(|note| one_line(note)));
    let last_review = unit.summaries.iter().rev().find(|said| said.seat == Seat::Critic);
    rows.extend(last_review.map(|said| format!("last review, by {}: {}", said.agent, safe_line(&said.summary, 400))));
    if rows.is_empty() {
        page.line("Nothing is known.");
    }
    page.items(rows);
}

fn files(page: &mut Page, unit: &Unit) {
    let files = changed(unit);
    if files.is_empty() {
        page.line("None.");
        return;
    }
    let row = |file: &FileChange| {
        let count = |lines: Option<u64>, sign: char| lines.map_or("-".to_owned(), |lines| format!("{sign}{lines}"));
        let (added, removed) = (count(file.added, '+'), count(file.removed, '-'));
        format!("{} {} {added} {removed}", file.status, one_line(&file.path))
    };
    page.block(&files.iter().map(row).collect::<Vec<_>>().join("\n"));
    let whole = unit.snapshot.as_ref().and_then(|snapshot| snapshot.whole.as_ref());
    page.items(rest(files.len(), whole.map(|whole| &whole.changed)));
}

fn test_plan(page: &mut Page, unit: &Unit) {
    let mut rows: Vec<String> = Vec::new();
    for check in &unit.rules.checks {
        let stand = match (unit.check(&check.name), unit.flaky(&check.name)) {
            (CheckState::Passed(_), Some(failed)) => {
                format!("{}, then passed when pairflow ran it again on the same tree", ended(failed))
            }
            (CheckState::Passed(_), None) => "passed when pairflow ran it on this tree".to_owned(),
            (CheckState::NotAvailable, _) => "not available; run it by hand".to_owned(),
            (CheckState::Waived(reason), _) => format!("waived by a person: {}", one_line(reason)),
            (CheckState::Failed(_) | CheckState::Missing, _) => "has not passed".to_owned(),
        };
        rows.push(format!("`{}` ({}): {stand}", one_line(&check.command), one_line(&check.name)));
    }
    rows.extend(unit.rules.manual_checks.iter().map(|check| format!("by hand: {}", one_line(check))));
    rows.extend(unit.acceptance_criteria.iter().map(|line| format!("see that it holds: {}", one_line(line))));
    if rows.is_empty() {
        rows.push("read the diff and try the changed behaviour".to_owned());
    }
    rows.iter().zip(1..).for_each(|(row, number)| page.line(&format!("{number}. {row}")));
}
