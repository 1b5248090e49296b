//! How much a message may hold. Longer texts of agents and people become artifacts before they get here; what has no
//! artifact is refused with a sentence, so that every line of the log stays within its limit.

use crate::bubble::{Command, PassCommand, Refusal};
use crate::facts::{Explanation, Finding, StepName};
use crate::log::Key;
use crate::log::MAX_DETAIL;
use crate::log::MAX_FINDINGS;
use crate::log::MAX_KEY;
use crate::log::MAX_REFS;
use crate::log::MAX_REVIEW;
use crate::log::MAX_TEXT;
use crate::log::MAX_TITLE;
use crate::rules::Rules;

/// What printed command lines have in the place of a text.
const PLACEHOLDER: &str = "…";

/// Refuses what would not fit into a line of the log.
pub(super) fn admit(command: &Command) -> Result<(), Refusal> {
    match command {
        Command::Pass(pass) => admit_pass(pass),
        Command::AskHuman { question, refs, key, .. } => said("the question", question, refs, key.as_ref()),
        Command::Converged { summary, refs, key, explanation, .. } => {
            explained(explanation.as_ref())?;
            said("the summary", summary, refs, key.as_ref())
        }
        Command::Waive { reason, .. } | Command::Withdraw { reason, .. } => text("the reason", reason),
        Command::Reply { message, key, .. } => said("the message", message, &[], key.as_ref()),
        Command::Rework { message, findings, key, .. } => {
            at_most("findings", findings.len(), MAX_FINDINGS)?;
            said("the message", message, &[], key.as_ref())
        }
        Command::Commit { message, override_scope, .. } => {
            let message = message.as_deref().unwrap_or_default();
            text("the commit message", message)?;
            if message.contains('\0') {
                return Err(Refusal::NulByte { what: "the commit message" });
            }
            text("the reason", override_scope.as_deref().unwrap_or_default())
        }
        Command::Configure { rules } => admit_rules(rules),
        Command::Pause { reason } | Command::Stop { reason } | Command::Restart { reason } => {
            text("the reason", reason)
        }
        _ => Ok(()),
    }
}

/// The old and the new value of each key stand in one line of the log.
fn admit_rules(rules: &Rules) -> Result<(), Refusal> {
    let commands = rules.checks.iter().map(|check| &check.command).chain(&rules.setup).chain([&rules.open_command]);
    commands.into_iter().try_for_each(|command| short("a command", command))?;
    let lists = [&rules.manual_checks, &rules.risk, &rules.scope.allow, &rules.scope.deny];
    let bytes: usize = lists.into_iter().flatten().map(String::len).sum();
    let limit = MAX_TEXT;
    if bytes <= limit { Ok(()) } else { Err(Refusal::TooLong { what: "the configuration", bytes, limit }) }
}

fn admit_pass(pass: &PassCommand) -> Result<(), Refusal> {
    said("the summary", &pass.summary, &pass.refs, pass.key.as_ref())?;
    let findings = pass.findings.as_deref().unwrap_or_default();
    at_most("findings", findings.len(), MAX_FINDINGS)?;
    findings.iter().try_for_each(finding)?;
    let answers = &pass.answers;
    let count = answers.of_implementer().count() + answers.of_reviewer().count() + answers.retracted.len();
    at_most("answers", count, MAX_FINDINGS)?;
    answers.disputed.iter().try_for_each(|dispute| short("the reason of a dispute", &dispute.reason))?;
    explained(pass.explanation.as_ref())?;
    at_most("steps", pass.steps.len(), StepName::ALL.len())?;
    pass.steps.iter().try_for_each(|step| short("the result of a step", &step.result))?;
    at_most("blockers", pass.blockers.len(), MAX_FINDINGS)?;
    pass.blockers.iter().try_for_each(|text| blocker(text))?;
    whole(pass)
}

/// Refuses a hand-over whose parts are short enough, but not all of them together.
fn whole(pass: &PassCommand) -> Result<(), Refusal> {
    let findings = pass.findings.iter().flatten();
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let findings = findings.map(|one| {
        let said = one.title.len() + one.detail.len() + one.suggestion.len() + one.anchor.len();
        said + optional(&one.reproducer) + optional(&one.file)
    });
    let disputed = pass.answers.disputed.iter().map(|dispute| dispute.reason.len());
    let steps = pass.steps.iter().map(|step| step.result.len());
    let explained = pass.explanation.iter().flat_map(Explanation::parts).map(|(_, text)| text.len());
    let blockers = pass.blockers.iter().map(String::len);
    let bytes: usize = findings.chain(blockers).chain(disputed).chain(steps).chain(explained).sum();
    let limit = MAX_REVIEW;
    if bytes <= limit { Ok(()) } else { Err(Refusal::TooLong { what: "the review", bytes, limit }) }
}

fn finding(finding: &Finding) -> Result<(), Refusal> {
    title(&finding.title)?;
    short("the detail of a finding", &finding.detail)?;
    short("the suggestion of a finding", &finding.suggestion)?;
    short("the reproducer of a finding", finding.reproducer.as_deref().unwrap_or_default())?;
    short("the file of a finding", finding.file.as_deref().unwrap_or_default())
}

fn title(text: &str) -> Result<(), Refusal> {
    let chars = text.chars().count();
    if chars <= MAX_TITLE { Ok(()) } else { Err(Refusal::LongTitle { chars }) }
}

/// A blocker becomes the title of a finding.
fn blocker(text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Empty { what: "a blocker" });
    }
    short("a blocker", text)?;
    title(text)
}

fn explained(explanation: Option<&Explanation>) -> Result<(), Refusal> {
    let parts = explanation.iter().flat_map(|explanation| explanation.parts()).collect::<Vec<_>>();
    parts.into_iter().try_for_each(|(_, part)| short("a part of the explanation", part))
}

fn short(what: &'static str, words: &str) -> Result<(), Refusal> {
    own(what, words, MAX_DETAIL)
}

fn said(what: &'static str, words: &str, refs: &[String], key: Option<&Key>) -> Result<(), Refusal> {
    text(what, words)?;
    at_most("refs", refs.len(), MAX_REFS)?;
    match key.map_or(0, |key| key.0.len()) {
        bytes if bytes > MAX_KEY => Err(Refusal::TooLong { what: "the key", bytes, limit: MAX_KEY }),
        _ => Ok(()),
    }
}

fn text(what: &'static str, words: &str) -> Result<(), Refusal> {
    own(what, words, MAX_TEXT)
}

/// Insists on a text of the caller's own, of at most `limit` bytes.
fn own(what: &'static str, words: &str, limit: usize) -> Result<(), Refusal> {
    match words.len() {
        _ if words.trim() == PLACEHOLDER => Err(Refusal::Placeholder { what }),
        bytes if bytes > limit => Err(Refusal::TooLong { what, bytes, limit }),
        _ => Ok(()),
    }
}

fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), Refusal> {
    if count <= limit { Ok(()) } else { Err(Refusal::TooMany { what, count, limit }) }
}
