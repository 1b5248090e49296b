//! The approval package: what a person reads before deciding. Built from facts, never from an agent's word alone.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::facts::FileChange;
use crate::rounds::Certificate;
use crate::unit::{CheckState, Said, Seat, Unit};
use crate::view::safe::{safe, safe_line};

/// The file's name beneath `artifacts/`.
pub const NAME: &str = "done-package.md";

/// Returns the SHA-256 of `bytes` in hex.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    })
}

/// Suggests a commit message: the task's first line, then what the producers said.
pub fn commit_message(unit: &Unit) -> String {
    let first = unit.task.lines().map(|line| line.trim().trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let subject = safe_line(first.unwrap_or("Work of the bubble"), 72);
    let body: Vec<_> = produced(unit).map(|said| safe(said.summary.trim()).into_owned()).collect();
    if body.is_empty() { subject } else { format!("{subject}\n\n{}", body.join("\n\n")) }
}

/// Renders the package.
pub fn render(unit: &Unit, certificate: &Certificate, message: &str) -> String {
    let mut out = format!("# Package of bubble {}\n\nTree {}, accepted under the policy `{}`", unit.id, certificate.tree, certificate.policy);
    let reviews = certificate.reviews.iter().map(|review| {
        let own = if review.own_work { ", re-checking its own work" } else { "" };
        format!("{} (round {}{own})", review.agent, review.round)
    });
    let reviews: Vec<_> = reviews.collect();
    let by = if reviews.is_empty() { "a person's decision".to_owned() } else { reviews.join(" and ") };
    writeln!(out, ", reviewed clean by {by}.").expect("writing to a string cannot fail");
    section(&mut out, "What changed", &what(unit));
    section(&mut out, "Why", &why(unit));
    section(&mut out, "Key tradeoffs and residual risks", &risks(unit, certificate));
    section(&mut out, "Changed files", &files(unit));
    section(&mut out, "Suggested manual test plan", &test_plan(unit));
    section(&mut out, "Suggested commit message", &format!("```text\n{message}\n```\n"));
    out
}

fn section(out: &mut String, title: &str, text: &str) {
    write!(out, "\n## {title}\n\n{text}").expect("writing to a string cannot fail");
}

fn produced(unit: &Unit) -> impl Iterator<Item = &Said> {
    unit.summaries.iter().filter(|said| said.seat == Seat::Producer)
}

fn changed(unit: &Unit) -> &[FileChange] {
    unit.snapshot.as_ref().map_or(&[], |snapshot| &snapshot.changed)
}

fn what(unit: &Unit) -> String {
    let files = changed(unit);
    let added: u64 = files.iter().filter_map(|file| file.added).sum();
    let removed: u64 = files.iter().filter_map(|file| file.removed).sum();
    let mut out = format!("{} file(s) changed, {added} line(s) added, {removed} removed.\n", files.len());
    for said in produced(unit) {
        let text = safe(said.summary.trim()).replace('\n', "\n  ");
        writeln!(out, "- round {}, {}: {text}", said.round, said.agent).expect("writing to a string cannot fail");
    }
    out
}

fn why(unit: &Unit) -> String {
    let mut out = format!("The task:\n\n{}\n", quoted(&unit.task));
    if unit.acceptance_criteria.is_empty() {
        out.push_str("\nThe task names no acceptance criteria.\n");
    } else {
        out.push_str("\nIts acceptance criteria:\n\n");
        for criterion in &unit.acceptance_criteria {
            writeln!(out, "- {}", safe_line(criterion, 400)).expect("writing to a string cannot fail");
        }
    }
    out
}

fn quoted(text: &str) -> String {
    safe(text.trim()).lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

fn risks(unit: &Unit, certificate: &Certificate) -> String {
    let mut rows = Vec::new();
    for finding in &certificate.open {
        let id = finding.id.map(|id| format!("{id} ")).unwrap_or_default();
        rows.push(format!("open finding: {id}{} {}", finding.severity, safe_line(&finding.title, 400)));
    }
    rows.extend(certificate.waived.iter().map(|waived| format!("waived by a person: {}", safe_line(waived, 400))));
    let out_of_scope = unit.snapshot.iter().flat_map(|snapshot| &snapshot.out_of_scope);
    rows.extend(out_of_scope.map(|path| format!("out of scope: {}", safe_line(path, 400))));
    let unavailable = certificate.checks.iter().filter(|check| check.stand != "passed");
    rows.extend(unavailable.map(|check| format!("check '{}': {}", check.check, check.stand)));
    rows.extend(certificate.notes.iter().cloned());
    let last_review = unit.summaries.iter().rev().find(|said| said.seat == Seat::Critic);
    rows.extend(last_review.map(|said| format!("last review, by {}: {}", said.agent, safe_line(&said.summary, 400))));
    if rows.is_empty() {
        return "Nothing is known.\n".to_owned();
    }
    rows.iter().fold(String::new(), |out, row| out + "- " + row + "\n")
}

fn files(unit: &Unit) -> String {
    let files = changed(unit);
    if files.is_empty() {
        return "None.\n".to_owned();
    }
    files.iter().fold(String::from("```text\n"), |mut out, file| {
        let count = |lines: Option<u64>, sign: char| lines.map_or("-".to_owned(), |lines| format!("{sign}{lines}"));
        let (added, removed) = (count(file.added, '+'), count(file.removed, '-'));
        writeln!(out, "{} {} {added} {removed}", file.status, safe_line(&file.path, 4096))
            .expect("writing to a string cannot fail");
        out
    }) + "```\n"
}

fn test_plan(unit: &Unit) -> String {
    let mut rows: Vec<String> = Vec::new();
    for check in &unit.rules.checks {
        let stand = match unit.check(&check.name) {
            CheckState::Passed(_) => "passed when pairflow ran it on this tree",
            CheckState::NotAvailable => "not available; run it by hand",
            CheckState::Failed(_) | CheckState::Missing => "has not passed",
        };
        rows.push(format!("`{}` ({}): {stand}", safe_line(&check.command, 400), check.name));
    }
    rows.extend(unit.rules.manual_checks.iter().map(|check| format!("by hand: {}", safe_line(check, 400))));
    rows.extend(unit.acceptance_criteria.iter().map(|line| format!("see that it holds: {}", safe_line(line, 400))));
    if rows.is_empty() {
        rows.push("read the diff and try the changed behaviour".to_owned());
    }
    rows.iter().enumerate().fold(String::new(), |out, (at, row)| out + &format!("{}. {row}\n", at + 1))
}
