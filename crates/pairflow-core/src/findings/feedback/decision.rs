//! The form with a decision: GO or NO_GO of a reviewer, and the quality checks it ticked.
//!
//! A check that is false is a finding, whatever the decision says: GO beside it is NO_GO.

use crate::facts::{Class, Finding, Severity};

use super::error::{BadFeedback, Wrong, quoted};
use super::fields;
use super::json::{Fields, Spot};
use super::{Claim, Feedback};
use crate::log::MAX_DETAIL;

pub(super) const MARKS: &[&str] = &["decision", "quality_checks"];

pub(super) fn read(top: &Fields<'_>) -> Result<Feedback, BadFeedback> {
    let decision = decision(&top.need("decision")?)?;
    let words = top.need("feedback")?;
    let summary = fields::summary(&words)?;
    fields::checked(top, &["task_id", "reviewer_agent", "coder_agent", "timestamp"], Spot::text)?;
    fields::checked(top, &["iteration"], Spot::whole)?;
    let mut findings = match top.exactly("quality_checks") {
        Some(checks) => failed(&checks, &words)?,
        None => Vec::new(),
    };
    if decision == Claim::RequestChanges && findings.is_empty() {
        findings.push(fields::claimed(Severity::P1, &words)?);
    }
    Ok(Feedback::of(decision, summary, findings))
}

fn decision(spot: &Spot<'_>) -> Result<Claim, BadFeedback> {
    match spot.text()? {
        "GO" => Ok(Claim::Approve),
        "NO_GO" => Ok(Claim::RequestChanges),
        other => Err(spot.bad(Wrong::Word { found: quoted(other), known: "GO, NO_GO" })),
    }
}

/// Returns a finding for each check that is false, with the reviewer's words.
fn failed(checks: &Spot<'_>, words: &Spot<'_>) -> Result<Vec<Finding>, BadFeedback> {
    let mut findings = Vec::new();
    for (name, check) in checks.fields()?.all() {
        if !check.flag()? {
            findings.push(finding(name, words.text()?.trim()));
        }
    }
    fields::not_too_many(&checks.path, findings.len())?;
    if !findings.is_empty() {
        fields::at_most(&words.path, words.text()?.trim(), MAX_DETAIL)?;
    }
    Ok(findings)
}

fn finding(check: &str, words: &str) -> Finding {
    let (severity, class) = match check {
        "security_review_passed" => (Severity::P0, Some(Class::Security)),
        "test_coverage_adequate" => (Severity::P1, Some(Class::Tests)),
        _ => (Severity::P1, None),
    };
    let title = format!("the quality check '{}' is false", quoted(check));
    Finding { detail: words.to_owned(), class, ..Finding::new(severity, title) }
}
