//! How much a message may hold. Longer texts of agents and people become artifacts before they get here; what has no
//! artifact is refused with a sentence, so that every line of the log stays within its limit.

use sha2::{Digest, Sha256};

use crate::bubble::{BubbleState, Command, PassCommand, Refusal};
use crate::facts::{Explanation, Finding, StepName};
use crate::hash::hex;
use crate::ids::MsgId;
use crate::log::{MAX_DETAIL, MAX_FINDINGS, MAX_KEY, MAX_REFS, MAX_REVIEW, MAX_TEXT, MAX_TITLE, RetryKey};
use crate::rules::Rules;

/// What printed command lines have in the place of a text.
const PLACEHOLDER: &str = "…";

/// Refuses what would not fit into a line of the log.
pub(super) fn admit(command: &Command) -> Result<(), Refusal> {
    match command {
        Command::Pass(pass) => admit_pass(pass),
        Command::Judge { judgement, key, .. } => {
            said("the reason of a judgement", &judgement.reason, &[], key.as_ref())
        }
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
        Command::Escaped { text, .. } if text.trim().is_empty() => Err(Refusal::Empty { what: "the defect" }),
        Command::Escaped { text, .. } => own("the defect", text, MAX_TITLE),
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
    answers.tests.iter().try_for_each(|test| short("the test of a fix", &test.command))?;
    answers.untestable.iter().try_for_each(|one| short("the reason why a fix has no test", &one.reason))?;
    let files = pass.acceptance.iter().flat_map(|tests| &tests.files);
    at_most("acceptance tests", files.count(), MAX_REFS)?;
    short("the command of the acceptance tests", pass.acceptance.as_ref().map_or("", |tests| &tests.run))?;
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
    let reasons = pass.answers.disputed.iter().chain(&pass.answers.untestable).map(|one| one.reason.len());
    let disputed = reasons.chain(pass.answers.tests.iter().map(|test| test.command.len()));
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

fn said(what: &'static str, words: &str, refs: &[String], key: Option<&RetryKey>) -> Result<(), Refusal> {
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

impl RetryKey {
    /// Makes the key of a command that came without one: a hash of sender, turn, verb and payload.
    pub fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hex(&hash.finalize()[..16]))
    }
}

/// Returns the retry key of `command`: the one that was given, else for agents' verbs one made of its content.
pub fn key_of(state: &BubbleState, command: &Command) -> Option<RetryKey> {
    match command {
        Command::Pass(pass) => {
            Some(pass.key.clone().unwrap_or_else(|| key_of_pass(state.last_turn_of(&pass.by), pass)))
        }
        Command::AskHuman { by, question, refs, key } => {
            let turn = state.last_turn_of(by).to_string();
            // Asked again after the answer, it is another question.
            let answered = state.answered_to(by).to_string();
            let made = || RetryKey::of(&[by.as_str(), &turn, &answered, "ask-human", &payload(&(question, refs))]);
            Some(key.clone().unwrap_or_else(made))
        }
        Command::Converged { by, summary, refs, key, explanation, reviewed, .. } => {
            let turn = state.last_turn_of(by).to_string();
            let made =
                || RetryKey::of(&[by.as_str(), &turn, "converged", &payload(&(summary, refs, explanation, reviewed))]);
            Some(key.clone().unwrap_or_else(made))
        }
        Command::Judge { by, judgement, key } => {
            let turn = state.last_turn_of(by).to_string();
            let made = || RetryKey::of(&[by.as_str(), &turn, "judge", &payload(judgement)]);
            Some(key.clone().unwrap_or_else(made))
        }
        // A defect is the same one whenever it is named again.
        Command::Escaped { severity, text } => {
            Some(RetryKey::of(&["human", "escaped", &payload(&(severity, text.trim()))]))
        }
        Command::Reply { key, .. } | Command::Approve { key, .. } | Command::Rework { key, .. } => key.clone(),
        _ => None,
    }
}

/// Returns the record of an earlier attempt of `command`, if there was one.
///
/// A hand-over that came back is still the same one while its sender has not acknowledged the return, says the same
/// words and has not changed the tree: the retry key is then made with the turn in which the words were first said.
pub fn earlier(state: &BubbleState, command: &Command) -> Option<MsgId> {
    let key = match command {
        Command::Pass(pass) if pass.key.is_none() => match state.returned_to(&pass.by) {
            Some(returned) if pass.tree.as_ref().is_none_or(|tree| *tree == returned.tree) => {
                key_of_pass(returned.turn, pass)
            }
            Some(_) => return None,
            None => key_of(state, command)?,
        },
        _ => key_of(state, command)?,
    };
    state.keys.iter().rev().find(|(one, _)| *one == key).map(|(_, id)| id.clone())
}

fn key_of_pass(turn: u32, pass: &PassCommand) -> RetryKey {
    // Every field has to be named here, so that a new one is not forgotten. Findings and blockers are what it files.
    let PassCommand {
        by,
        summary,
        refs,
        intent,
        findings: _,
        answers,
        explanation,
        steps,
        blockers: _,
        discuss,
        insists,
        reviewed,
        acceptance,
        no_acceptance,
        head: _,
        tree: _,
        key: _,
    } = pass;
    let filed = pass.filed().map(|all| all.iter().map(Finding::as_said).collect::<Vec<_>>());
    let said = payload(&(
        summary,
        refs,
        intent,
        filed,
        answers,
        explanation,
        steps,
        (discuss, insists, reviewed, acceptance, no_acceptance),
    ));
    RetryKey::of(&[by.as_str(), &turn.to_string(), "pass", &said])
}

/// Everything that was said, in one spelling: the fields of a type are written in their order.
fn payload(said: &impl serde::Serialize) -> String {
    serde_json::to_string(said).expect("a payload has text keys only, so it is always writable as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bubble::HeadSeen;
    use crate::facts::{Class, Explanation, Severity, Step, StepName};
    use crate::ids::FindingId;
    use crate::log::Intent;

    fn key(change: impl FnOnce(&mut PassCommand)) -> String {
        let mut pass = PassCommand::new("claude".parse().expect("the name is valid"), "said", HeadSeen::Detached);
        pass.findings = Some(vec![Finding::new(Severity::P1, "no rollback")]);
        change(&mut pass);
        key_of_pass(1, &pass).0
    }

    fn of_finding(change: fn(&mut Finding)) -> String {
        key(|pass| pass.findings.iter_mut().flatten().for_each(change))
    }

    #[test]
    fn whatever_was_said_makes_another_key() {
        let step = Step { step: StepName::DryRun, result: "x".into() };
        let keys = [
            key(|_| {}),
            key(|pass| pass.summary = "said else".into()),
            key(|pass| pass.refs = vec!["a".into(), "b".into()]),
            key(|pass| pass.refs = vec!["a\nb".into()]),
            key(|pass| pass.intent = Some(Intent::Review)),
            key(|pass| pass.findings = None),
            key(|pass| pass.findings = Some(Vec::new())),
            key(|pass| pass.answers.fixed.push(FindingId(1))),
            key(|pass| pass.answers.confirmed.push(FindingId(1))),
            key(|pass| pass.explanation = Some(Explanation::default())),
            key(|pass| pass.steps.push(step)),
            key(|pass| pass.blockers.push("x".into())),
            key(|pass| pass.discuss = true),
            key(|pass| pass.insists = true),
            key(|pass| pass.reviewed.push(1)),
            of_finding(|one| one.severity = Severity::P0),
            of_finding(|one| one.title = "no rollback:".into()),
            of_finding(|one| one.detail = "x".into()),
            of_finding(|one| one.file = Some("x".into())),
            of_finding(|one| one.line = Some(1)),
            of_finding(|one| one.class = Some(Class::Tests)),
            of_finding(|one| one.suggestion = "x".into()),
            of_finding(|one| one.reproducer = Some("x".into())),
            of_finding(|one| one.reverses = Some(FindingId(1))),
        ];
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len(), "{keys:#?}");
    }

    #[test]
    fn what_pairflow_found_out_makes_no_other_key() {
        let found = of_finding(|one| {
            (one.id, one.seen) = (Some(FindingId(1)), Some(2));
            one.anchor = "x".into();
        });
        assert_eq!(found, key(|_| {}));
    }
}
