//! The form with a verdict and issues: `ReviewFeedback` of an implementer and a reviewer.
//!
//! What it says of tests and lint is a claim of the reviewer and means nothing here; pairflow runs them itself.

use crate::facts::{Finding, Severity};

use super::error::{BadFeedback, Wrong, quoted};
use super::fields;
use super::json::{Fields, Spot};
use super::{Claim, Feedback};
use crate::log::MAX_DETAIL;

pub(super) const MARKS: &[&str] = &["verdict", "issues", "approval_conditions"];

pub(super) fn read(top: &Fields<'_>) -> Result<Feedback, BadFeedback> {
    let verdict = verdict(&top.need("verdict")?)?;
    let words = top.need("summary")?;
    let summary = fields::summary(&words)?;
    let mut findings = fields::items(&top.need("issues")?)?.iter().map(issue).collect::<Result<Vec<_>, _>>()?;
    let conditions = conditions(top, verdict)?;
    known_types(top)?;
    // Without an issue that blocks, it is the conditions that do.
    if verdict != Claim::Approve && !findings.iter().any(|finding| finding.severity.blocks()) {
        findings.extend(conditions);
        fields::not_too_many(&top.path, findings.len())?;
    }
    if verdict == Claim::RequestChanges && findings.is_empty() {
        findings.push(fields::claimed(Severity::P1, &words)?);
    }
    Ok(Feedback::of(verdict, summary, findings))
}

fn verdict(spot: &Spot<'_>) -> Result<Claim, BadFeedback> {
    match spot.text()? {
        "approve" => Ok(Claim::Approve),
        "request_changes" => Ok(Claim::RequestChanges),
        "needs_discussion" => Ok(Claim::NeedsDiscussion),
        other => {
            let known = "approve, request_changes, needs_discussion";
            Err(spot.bad(Wrong::Word { found: quoted(other), known }))
        }
    }
}

/// What has to change before the reviewer approves, each as a finding.
fn conditions(top: &Fields<'_>, verdict: Claim) -> Result<Vec<Finding>, BadFeedback> {
    let Some(spot) = top.maybe("approval_conditions") else { return Ok(Vec::new()) };
    let conditions = fields::items(&spot)?;
    if verdict == Claim::Approve && !conditions.is_empty() {
        return Err(spot.bad(Wrong::Conditional));
    }
    conditions.iter().map(|condition| fields::claimed(Severity::P1, condition)).collect()
}

fn known_types(top: &Fields<'_>) -> Result<(), BadFeedback> {
    fields::checked(top, &["strengths", "files_reviewed"], |spot| {
        spot.list()?.iter().try_for_each(|item| item.text().map(drop))
    })?;
    fields::checked(top, &["iteration"], Spot::whole)?;
    fields::checked(top, &["tests_passed", "lint_passed"], Spot::flag)
}

fn issue(spot: &Spot<'_>) -> Result<Finding, BadFeedback> {
    let at = spot.fields()?;
    let claim = at.need("issue")?;
    let mut finding = fields::claimed(severity(&at.need("severity")?)?, &claim)?;
    let first = fields::line(&at.need("line_start")?)?;
    finding.file = Some(fields::file(&at.need("file_path")?)?);
    finding.line = Some(first);
    if let Some(end) = at.maybe("line_end") {
        match fields::line(&end)? {
            last if last < first => return Err(end.bad(Wrong::LineOrder)),
            last if last > first => fields::add(&mut finding.detail, &format!("Lines {first} to {last}.")),
            _ => {}
        }
    }
    add_code(&mut finding.detail, "The code now:", fields::some_text(&at, "code_before")?);
    fields::add(&mut finding.suggestion, fields::some_text(&at, "suggestion")?);
    add_code(&mut finding.suggestion, "Suggested code:", fields::some_text(&at, "code_after")?);
    fields::at_most(&claim.path, &finding.detail, MAX_DETAIL)?;
    fields::at_most(&format!("{}/suggestion", at.path), &finding.suggestion, MAX_DETAIL)?;
    Ok(finding)
}

fn severity(spot: &Spot<'_>) -> Result<Severity, BadFeedback> {
    match spot.text()? {
        "critical" => Ok(Severity::P0),
        "major" => Ok(Severity::P1),
        "minor" => Ok(Severity::P2),
        "nitpick" => Ok(Severity::P3),
        other => Err(spot.bad(Wrong::Word { found: quoted(other), known: "critical, major, minor, nitpick" })),
    }
}

fn add_code(text: &mut String, heading: &str, code: &str) {
    if !code.trim().is_empty() {
        fields::add(text, &format!("{heading}\n{code}"));
    }
}
