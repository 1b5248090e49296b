//! pairflow's own form: a list of findings, and what becomes of the rows that are there already.
//!
//! The form has no word for "approved". An empty list says that nothing was found; a list without anything grave, which
//! opens no row again, claims the same as far as acceptance goes.

use crate::facts::{Finding, Severity};
use crate::ids::FindingId;

use super::error::{BadFeedback, Wrong, quoted};
use super::fields::{self, MAX_REPRODUCER};
use super::json::{Fields, Spot};
use super::{Claim, Feedback};
use crate::log::MAX_DETAIL;

pub(super) const MARKS: &[&str] = &["findings", "confirm", "reopen", "retract"];
const KEYS: &[&str] = &["findings", "confirm", "reopen", "retract", "summary"];
const FINDING_KEYS: &[&str] =
    &["severity", "title", "detail", "file", "line", "class", "suggestion", "reproducer", "repeats", "reverses"];

pub(super) fn read(top: &Fields<'_>) -> Result<Feedback, BadFeedback> {
    top.only(KEYS)?;
    let findings = fields::items(&top.need("findings")?)?.iter().map(finding).collect::<Result<Vec<_>, _>>()?;
    let summary = top.maybe("summary").map_or(Ok(String::new()), |spot| fields::summary(&spot))?;
    let confirm = ids(top, "confirm", &[])?;
    let reopen = ids(top, "reopen", &confirm)?;
    let retract = ids(top, "retract", &[])?;
    let claim = if reopen.is_empty() { Claim::Approve } else { Claim::RequestChanges };
    Ok(Feedback { confirm, reopen, retract, ..Feedback::of(claim, summary, findings) })
}

fn finding(spot: &Spot<'_>) -> Result<Finding, BadFeedback> {
    let at = spot.fields()?;
    at.only(FINDING_KEYS)?;
    let mut finding = fields::claimed(severity(&at.need("severity")?)?, &at.need("title")?)?;
    if let Some(detail) = at.maybe("detail") {
        fields::add(&mut finding.detail, detail.text()?);
        fields::at_most(&detail.path, &finding.detail, MAX_DETAIL)?;
    }
    if let Some(suggestion) = at.maybe("suggestion") {
        fields::add(&mut finding.suggestion, suggestion.text()?);
        fields::at_most(&suggestion.path, &finding.suggestion, MAX_DETAIL)?;
    }
    finding.file = at.maybe("file").map(|file| fields::file(&file)).transpose()?;
    finding.line = at.maybe("line").map(|line| line_of(&line, &finding)).transpose()?;
    finding.class = at.maybe("class").map(|class| self::class(&class)).transpose()?;
    finding.reproducer = at.maybe("reproducer").map(|command| reproducer(&command)).transpose()?;
    finding.repeats = at.maybe("repeats").map(|row| fields::id(&row)).transpose()?;
    finding.reverses = at.maybe("reverses").map(|row| fields::id(&row)).transpose()?;
    Ok(finding)
}

fn severity(spot: &Spot<'_>) -> Result<Severity, BadFeedback> {
    match spot.text()? {
        "P0" => Ok(Severity::P0),
        "P1" => Ok(Severity::P1),
        "P2" => Ok(Severity::P2),
        "P3" => Ok(Severity::P3),
        other => Err(spot.bad(Wrong::Word { found: quoted(other), known: "P0, P1, P2, P3" })),
    }
}

fn line_of(spot: &Spot<'_>, finding: &Finding) -> Result<u32, BadFeedback> {
    let line = fields::line(spot)?;
    if finding.file.is_some() { Ok(line) } else { Err(spot.bad(Wrong::LineAlone)) }
}

fn class(spot: &Spot<'_>) -> Result<crate::facts::Class, BadFeedback> {
    let known = "core_logic, security, data_integrity, performance, tests, docs, style, other";
    let text = spot.text()?;
    text.parse().map_err(|_| spot.bad(Wrong::Word { found: quoted(text), known }))
}

fn reproducer(spot: &Spot<'_>) -> Result<String, BadFeedback> {
    let command = spot.text()?.trim();
    fields::at_most(&spot.path, command, MAX_REPRODUCER)?;
    match command {
        "" => Err(spot.bad(Wrong::Empty)),
        nul if nul.contains('\0') => Err(spot.bad(Wrong::Nul)),
        _ => Ok(command.to_owned()),
    }
}

/// Returns the rows that a list names, each once, and none of those that are `taken`.
fn ids(top: &Fields<'_>, key: &'static str, taken: &[FindingId]) -> Result<Vec<FindingId>, BadFeedback> {
    let Some(list) = top.maybe(key) else { return Ok(Vec::new()) };
    let mut rows = std::collections::BTreeSet::new();
    for spot in list.list()? {
        let id = fields::id(&spot)?;
        if taken.contains(&id) {
            return Err(spot.bad(Wrong::Both { id: id.to_string() }));
        }
        rows.insert(id);
    }
    Ok(rows.into_iter().collect())
}
