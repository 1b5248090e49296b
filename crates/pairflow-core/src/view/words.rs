//! The phrases that several views share: who, how many, how long, how it ended.

use crate::facts::{Counted, FileChange, Outcome, Receipt};
use crate::gates::{TestChange, TestChangeKind};
use crate::ids::Party;
use crate::rounds::{Certificate, Finding};
use crate::view::safe::safe_line;

/// How many columns an agent's text may take where it has to stay on one line of a page.
const ONE_LINE: usize = 4000;

/// Returns foreign text as one safe line of a page.
pub(crate) fn one_line(text: &str) -> String {
    safe_line(text, ONE_LINE)
}

/// Returns what people call a party.
pub(crate) fn called(party: &Party) -> String {
    match party {
        Party::Orchestrator => "pairflow".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the first line of a task that says something, without the marks of a heading.
pub fn title(task: &str) -> &str {
    let said = task.lines().map(|line| line.trim().trim_start_matches('#').trim());
    said.into_iter().find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns "1 file", "2 files".
pub(crate) fn count(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// Returns "2 files +10 -1" for so many files, lines added and lines removed.
pub(crate) fn changes((files, added, removed): (u64, u64, u64)) -> String {
    format!("{} +{added} -{removed}", count(usize::try_from(files).unwrap_or(usize::MAX), "file"))
}

/// Returns where the rest of a list of files is that had to be cut; nothing if it is whole.
pub(crate) fn rest(listed: usize, whole: Option<&Counted>) -> Option<String> {
    let (more, list) = whole.map(|whole| (whole.files.saturating_sub(listed as u64), &whole.list))?;
    (more > 0).then(|| format!("and {more} more; the whole list is {list}"))
}

/// Returns "M src/a.rs +10 -1".
pub(crate) fn change(file: &FileChange) -> String {
    let path = one_line(&file.path);
    match (file.added, file.removed) {
        (None, None) => format!("{} {path} (binary)", file.status),
        (added, removed) => format!("{} {path} +{} -{}", file.status, added.unwrap_or(0), removed.unwrap_or(0)),
    }
}

/// Returns "skipped in a_test.py:12: test_login".
pub(crate) fn weakened(change: &TestChange) -> String {
    let kind = match change.kind {
        TestChangeKind::Deleted => "deleted",
        TestChangeKind::Skipped => "skipped",
        TestChangeKind::Weakened => "weakened",
        TestChangeKind::Expectation => "expects something else",
    };
    format!("{kind} in {}:{}: {}", one_line(&change.path), change.line, one_line(&change.what))
}

/// Returns "0.4 s".
pub(crate) fn seconds(millis: u64) -> String {
    match millis {
        0..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => span(millis / 1000),
    }
}

/// Returns "4 min 12 s".
pub(crate) fn span(secs: u64) -> String {
    match secs {
        0..60 => format!("{secs} s"),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}

/// Returns how a check ended, as the end of a sentence: "passed in 0.4 s".
pub(crate) fn ended(receipt: &Receipt) -> String {
    let took = seconds(receipt.duration_ms);
    match &receipt.outcome {
        Outcome::Passed => format!("passed in {took}"),
        Outcome::Failed { timed_out: true, .. } => format!("failed: out of time after {took}"),
        Outcome::Failed { exit: Some(code), .. } => format!("failed with exit code {code} after {took}"),
        Outcome::Failed { exit: None, .. } => format!("failed, ended by a signal after {took}"),
        Outcome::CouldNotCheck { why } => format!("could not be run: {}", one_line(why)),
    }
}

/// Returns "F1 P1 no rollback".
pub(crate) fn claim(finding: &Finding) -> String {
    let id = finding.id.map(|id| format!("{id} ")).unwrap_or_default();
    format!("{id}{} {}", finding.severity, one_line(&finding.title))
}

/// Returns who reviewed clean: "claude and codex", or nothing.
pub(crate) fn reviewers(certificate: &Certificate) -> Option<String> {
    let names: Vec<_> = certificate.reviews.iter().map(|review| review.agent.as_str()).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}
