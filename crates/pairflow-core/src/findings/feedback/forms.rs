//! The four forms of a findings file: pairflow's own, a review with a verdict, a decision, and a challenge.
//!
//! Each is a type that serde reads. A value that is not good is refused by its own type, so that a mistake has its path.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{BadFeedback, Feedback, ReviewClaim, parse, quoted};
use crate::facts::{Class, Finding, Severity};
use crate::ids::FindingId;
use crate::log::{MAX_DETAIL, MAX_FINDINGS, MAX_TEXT, MAX_TITLE};

/// The longest reproducer of a finding, in bytes.
pub const MAX_REPRODUCER: usize = 2 * 1024;
/// The longest path of a finding, in bytes.
pub const MAX_FILE: usize = 4096;

/// Reads one form.
type Read = fn(Value) -> Result<Feedback, BadFeedback>;

/// Each form: the keys that only it has, and its reader.
pub(super) const ALL: [(&[&str], Read); 4] = [
    (&["findings", "confirm", "reopen", "retract"], read_own),
    (&["verdict", "issues", "approval_conditions"], read_review),
    (&["decision", "quality_checks"], read_decision),
    (&["challenger_approved", "critique"], read_challenge),
];

/// pairflow's own form: a list of findings, and what becomes of the rows that are there already.
///
/// The form has no word for "approved". An empty list says that nothing was found; a list without anything severe, which opens
/// no row again, claims the same as far as acceptance goes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnForm {
    findings: Bounded<OwnFinding>,
    confirm: Option<BTreeSet<RowName>>,
    reopen: Option<BTreeSet<RowName>>,
    retract: Option<BTreeSet<RowName>>,
    summary: Option<TrimmedText<MAX_TEXT>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct OwnFields {
    severity: Severity,
    title: Title,
    detail: Option<String>,
    file: Option<RepositoryPath>,
    line: Option<LineNumber>,
    class: Option<ClassName>,
    suggestion: Option<String>,
    reproducer: Option<ReproducerCommand>,
    repeats: Option<RowName>,
    reverses: Option<RowName>,
}

#[derive(Deserialize)]
#[serde(try_from = "OwnFields")]
struct OwnFinding(Finding);

impl TryFrom<OwnFields> for OwnFinding {
    type Error = String;
    fn try_from(given: OwnFields) -> Result<Self, String> {
        let mut finding = given.title.finding(given.severity);
        add(&mut finding.detail, given.detail.as_deref().unwrap_or_default());
        add(&mut finding.suggestion, given.suggestion.as_deref().unwrap_or_default());
        at_most("the detail", &finding.detail, MAX_DETAIL)?;
        at_most("the suggestion", &finding.suggestion, MAX_DETAIL)?;
        finding.file = given.file.map(|file| file.0);
        finding.line = given.line.map(|line| line.0);
        if finding.line.is_some() && finding.file.is_none() {
            return Err("a line needs its file; add 'file', or leave the line out".to_owned());
        }
        finding.class = given.class.map(|class| class.0);
        finding.reproducer = given.reproducer.map(|command| command.0);
        finding.repeats = given.repeats.map(|row| row.0);
        finding.reverses = given.reverses.map(|row| row.0);
        Ok(Self(finding))
    }
}

fn read_own(object: Value) -> Result<Feedback, BadFeedback> {
    let OwnForm { findings, confirm, reopen, retract, summary } = parse(object)?;
    let names = |rows: Option<BTreeSet<RowName>>| rows.into_iter().flatten().map(|row| row.0).collect::<Vec<_>>();
    let (confirm, reopen, retract) = (names(confirm), names(reopen), names(retract));
    if let Some(both) = reopen.iter().find(|id| confirm.contains(id)) {
        return Err(BadFeedback::new("/reopen", format!("'{both}' is also in 'confirm'; keep it in one of the two")));
    }
    let claim = if reopen.is_empty() { ReviewClaim::Approve } else { ReviewClaim::RequestChanges };
    let findings = findings.0.into_iter().map(|finding| finding.0).collect();
    Ok(Feedback { confirm, reopen, retract, ..Feedback::of(claim, summary.unwrap_or_default().0, findings) })
}

/// The form with a verdict and issues: `ReviewFeedback` of an implementer and a reviewer.
///
/// What it says of tests and lint is a claim of the reviewer and means nothing here; pairflow runs them itself.
#[derive(Deserialize)]
struct ReviewForm {
    verdict: ReviewVerdict,
    summary: TrimmedText<MAX_TEXT>,
    issues: Bounded<Issue>,
    approval_conditions: Option<Bounded<Title>>,
    #[serde(rename = "strengths")]
    _strengths: Option<Vec<String>>,
    #[serde(rename = "files_reviewed")]
    _files_reviewed: Option<Vec<String>>,
    #[serde(rename = "iteration")]
    _iteration: Option<u64>,
    #[serde(rename = "tests_passed")]
    _tests_passed: Option<bool>,
    #[serde(rename = "lint_passed")]
    _lint_passed: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReviewVerdict {
    Approve,
    RequestChanges,
    NeedsDiscussion,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum IssueSeverity {
    Critical,
    Major,
    Minor,
    Nitpick,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct IssueFields {
    severity: IssueSeverity,
    file_path: RepositoryPath,
    line_start: LineNumber,
    line_end: Option<LineNumber>,
    issue: Title,
    suggestion: Option<String>,
    code_before: Option<String>,
    code_after: Option<String>,
}

#[derive(Deserialize)]
#[serde(try_from = "IssueFields")]
struct Issue(Finding);

impl TryFrom<IssueFields> for Issue {
    type Error = String;
    fn try_from(given: IssueFields) -> Result<Self, String> {
        let mut finding = given.issue.finding(match given.severity {
            IssueSeverity::Critical => Severity::P0,
            IssueSeverity::Major => Severity::P1,
            IssueSeverity::Minor => Severity::P2,
            IssueSeverity::Nitpick => Severity::P3,
        });
        let first = given.line_start.0;
        finding.file = Some(given.file_path.0);
        finding.line = Some(first);
        match given.line_end.map_or(first, |line| line.0) {
            last if last < first => return Err("line_end is before line_start; correct one of them".to_owned()),
            last if last > first => add(&mut finding.detail, &format!("Lines {first} to {last}.")),
            _ => {}
        }
        add_code(&mut finding.detail, "The code now:", given.code_before);
        add(&mut finding.suggestion, given.suggestion.as_deref().unwrap_or_default());
        add_code(&mut finding.suggestion, "Suggested code:", given.code_after);
        at_most("the issue, with its code,", &finding.detail, MAX_DETAIL)?;
        at_most("the suggestion, with its code,", &finding.suggestion, MAX_DETAIL)?;
        Ok(Self(finding))
    }
}

fn read_review(object: Value) -> Result<Feedback, BadFeedback> {
    let ReviewForm { verdict, summary, issues, approval_conditions: conditions, .. } = parse(object)?;
    let claim = match verdict {
        ReviewVerdict::Approve => ReviewClaim::Approve,
        ReviewVerdict::RequestChanges => ReviewClaim::RequestChanges,
        ReviewVerdict::NeedsDiscussion => ReviewClaim::NeedsDiscussion,
    };
    let conditions = conditions.map(|list| list.0).unwrap_or_default();
    if claim == ReviewClaim::Approve && !conditions.is_empty() {
        let wrong = "an approval has no conditions; say request_changes, or leave the list empty if they are met";
        return Err(BadFeedback::new("/approval_conditions", wrong));
    }
    let mut findings: Vec<_> = issues.0.into_iter().map(|issue| issue.0).collect();
    // Without an issue that blocks, it is the conditions that do.
    if claim != ReviewClaim::Approve && !findings.iter().any(|finding| finding.severity.blocks()) {
        findings.extend(conditions.into_iter().map(|condition| condition.finding(Severity::P1)));
        bounded(&findings).map_err(|wrong| BadFeedback::new("/", wrong))?;
    }
    if claim == ReviewClaim::RequestChanges && findings.is_empty() {
        findings.push(claimed("/summary", &summary)?);
    }
    Ok(Feedback::of(claim, summary.0, findings))
}

/// The form with a decision: GO or NO_GO of a reviewer, and the quality checks it ticked.
///
/// A check that is false is a finding, whatever the decision says: GO beside it is NO_GO.
#[derive(Deserialize)]
struct DecisionForm {
    decision: GoDecision,
    feedback: TrimmedText<MAX_TEXT>,
    #[serde(default)]
    quality_checks: FailedChecks,
    #[serde(rename = "task_id")]
    _task_id: Option<String>,
    #[serde(rename = "reviewer_agent")]
    _reviewer_agent: Option<String>,
    #[serde(rename = "coder_agent")]
    _coder_agent: Option<String>,
    #[serde(rename = "timestamp")]
    _timestamp: Option<String>,
    #[serde(rename = "iteration")]
    _iteration: Option<u64>,
}

#[derive(Deserialize)]
enum GoDecision {
    #[serde(rename = "GO")]
    Go,
    #[serde(rename = "NO_GO")]
    NoGo,
}

/// The quality checks that are false.
#[derive(Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, bool>")]
struct FailedChecks(Vec<Finding>);

impl TryFrom<BTreeMap<String, bool>> for FailedChecks {
    type Error = String;
    fn try_from(checks: BTreeMap<String, bool>) -> Result<Self, String> {
        let failed = checks.iter().filter(|(_, passed)| !**passed).map(|(check, _)| {
            let (severity, class) = match check.as_str() {
                "security_review_passed" => (Severity::P0, Some(Class::Security)),
                "test_coverage_adequate" => (Severity::P1, Some(Class::Tests)),
                _ => (Severity::P1, None),
            };
            Finding { class, ..Finding::new(severity, format!("the quality check '{}' is false", quoted(check))) }
        });
        let failed: Vec<_> = failed.collect();
        bounded(&failed).map(|()| Self(failed))
    }
}

fn read_decision(object: Value) -> Result<Feedback, BadFeedback> {
    let DecisionForm { decision, feedback, quality_checks: FailedChecks(mut findings), .. } = parse(object)?;
    let claim = match decision {
        GoDecision::Go => ReviewClaim::Approve,
        GoDecision::NoGo => ReviewClaim::RequestChanges,
    };
    if !findings.is_empty() {
        at_most("this", &feedback.0, MAX_DETAIL).map_err(|wrong| BadFeedback::new("/feedback", wrong))?;
        findings.iter_mut().for_each(|finding| finding.detail.clone_from(&feedback.0));
    } else if claim == ReviewClaim::RequestChanges {
        findings.push(claimed("/feedback", &feedback)?);
    }
    Ok(Feedback::of(claim, feedback.0, findings))
}

/// The form of a challenger: approved or not, and a critique in free text.
#[derive(Deserialize)]
struct ChallengeForm {
    challenger_approved: bool,
    critique: TrimmedText<MAX_TEXT>,
}

fn read_challenge(object: Value) -> Result<Feedback, BadFeedback> {
    let ChallengeForm { challenger_approved, critique } = parse(object)?;
    if challenger_approved {
        return Ok(Feedback::of(ReviewClaim::Approve, critique.0, Vec::new()));
    }
    let finding = claimed("/critique", &critique)?;
    Ok(Feedback::of(ReviewClaim::RequestChanges, critique.0, vec![finding]))
}

/// A text without the white space around it, of at most so many bytes.
#[derive(Default, Deserialize)]
#[serde(try_from = "String")]
struct TrimmedText<const MAX: usize>(String);

impl<const MAX: usize> TryFrom<String> for TrimmedText<MAX> {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        at_most("this", text.trim(), MAX).map(|()| Self(text.trim().to_owned()))
    }
}

/// A claim of any length: its first line is the title, the whole is the detail if that is more.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Title {
    title: String,
    detail: String,
}

impl TryFrom<String> for Title {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let (whole, title) = (text.trim(), title(&text));
        if title.is_empty() {
            return Err("this is empty; write the text that belongs here".to_owned());
        }
        let detail = if title == whole { "" } else { whole };
        at_most("this", detail, MAX_DETAIL)?;
        Ok(Self { title: title.to_owned(), detail: detail.to_owned() })
    }
}

impl Title {
    fn finding(self, severity: Severity) -> Finding {
        Finding { detail: self.detail, ..Finding::new(severity, self.title) }
    }
}

/// A path inside the repository, without its idle parts.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct RepositoryPath(String);

impl TryFrom<String> for RepositoryPath {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        at_most("this", &text, MAX_FILE)?;
        let leads_out = text.starts_with('/') || text.contains('\0') || text.split('/').any(|part| part == "..");
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if leads_out || parts.concat().trim().is_empty() {
            let shown = quoted(&text);
            return Err(format!(
                "'{shown}' is no path inside the repository; write it relative to the root, without '..'"
            ));
        }
        Ok(Self(parts.join("/")))
    }
}

/// The number of a line, from 1.
#[derive(Deserialize)]
#[serde(try_from = "u64")]
struct LineNumber(u32);

impl TryFrom<u64> for LineNumber {
    type Error = String;
    fn try_from(number: u64) -> Result<Self, String> {
        let line = u32::try_from(number).ok().filter(|line| *line >= 1);
        line.map(Self).ok_or_else(|| "lines are counted from 1; write the number of the line".to_owned())
    }
}

/// The name of a row of the ledger.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct RowName(FindingId);

impl TryFrom<String> for RowName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let named = text.parse().ok().filter(|id: &FindingId| id.0 > 0 && id.to_string() == text);
        let wrong =
            || format!("'{}' names no finding; write F1, F2, … as `pairflow findings` shows them", quoted(&text));
        named.map(Self).ok_or_else(wrong)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct ClassName(Class);

impl TryFrom<String> for ClassName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        quoted(&text).parse().map(Self).map_err(|error: crate::facts::BadClass| error.to_string())
    }
}

/// A command that a shell can run.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct ReproducerCommand(String);

impl TryFrom<String> for ReproducerCommand {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        at_most("this", text.trim(), MAX_REPRODUCER)?;
        match text.trim() {
            "" => Err("this is empty; write the text that belongs here".to_owned()),
            nul if nul.contains('\0') => Err("a command cannot hold a NUL character; remove it".to_owned()),
            command => Ok(Self(command.to_owned())),
        }
    }
}

/// A list with no more entries than a review may have findings.
#[derive(Deserialize)]
#[serde(try_from = "Vec<T>")]
struct Bounded<T>(Vec<T>);

impl<T> TryFrom<Vec<T>> for Bounded<T> {
    type Error = String;
    fn try_from(list: Vec<T>) -> Result<Self, String> {
        bounded(&list).map(|()| Self(list))
    }
}

fn bounded<T>(list: &[T]) -> Result<(), String> {
    match list.len() {
        0..=MAX_FINDINGS => Ok(()),
        count => Err(format!("{count} findings are too many; the limit is {MAX_FINDINGS}: keep the most severe")),
    }
}

fn at_most(what: &str, text: &str, limit: usize) -> Result<(), String> {
    match text.len() {
        bytes if bytes > limit => Err(format!("{what} is {bytes} bytes; the limit is {limit}")),
        _ => Ok(()),
    }
}

/// Makes a finding of the general words of a review.
fn claimed<const MAX: usize>(at: &str, words: &TrimmedText<MAX>) -> Result<Finding, BadFeedback> {
    let title = Title::try_from(words.0.clone()).map_err(|wrong| BadFeedback::new(at, wrong))?;
    Ok(title.finding(Severity::P1))
}

/// Returns the first line of a text, cut between two words where it is too long for a title.
fn title(text: &str) -> &str {
    let line = text.trim().split(['\n', '\r']).next().unwrap_or_default().trim_end();
    let Some((end, next)) = line.char_indices().nth(MAX_TITLE) else { return line };
    let head = &line[..end];
    if next.is_whitespace() {
        return head.trim_end();
    }
    head.rfind(char::is_whitespace).map_or(head, |gap| head[..gap].trim_end())
}

/// Adds a paragraph to a text, if it says anything.
fn add(text: &mut String, paragraph: &str) {
    if paragraph.trim().is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph.trim_end());
}

fn add_code(text: &mut String, heading: &str, code: Option<String>) {
    if let Some(code) = code.filter(|code| !code.trim().is_empty()) {
        add(text, &format!("{heading}\n{code}"));
    }
}
