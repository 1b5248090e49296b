//! A message as a file that people and agents read: a small header, then what was said.

use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use crate::facts::{CheckStand, Explanation};
use crate::ids::MsgId;
use crate::log::{Body, Convergence, Envelope};
use crate::view::templates::{environment, render};
use crate::view::words::{called, claim, count, looks};

static MESSAGES: LazyLock<Environment<'static>> =
    LazyLock::new(|| environment(&[("message.md.j2", include_str!("../../templates/message.md.j2"))]));

/// A file beneath `artifacts/messages/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFile {
    /// Its name, `<number>-<sender>-<kind>.md`.
    pub name: String,
    /// Its content.
    pub text: String,
}

#[derive(Serialize)]
struct MessageContext<'a> {
    kind: &'static str,
    id: &'a MsgId,
    from: String,
    to: String,
    round: u32,
    time: String,
    in_reply_to: Option<&'a MsgId>,
    refs: &'a [String],
    /// The payload, as the log has it.
    body: Value,
    /// The parts of the explanation that comes with a hand-over.
    explanation: Vec<(&'static str, &'a str)>,
    /// What speaks for convergence.
    evidence: Vec<String>,
}

/// Returns the name of a message's file; nothing for what only pairflow writes for itself.
pub fn message_name(envelope: &Envelope) -> Option<String> {
    let (kind, _) = content(&envelope.event.body)?;
    Some(format!("{:03}-{}-{kind}.md", envelope.seq, envelope.event.sender))
}

/// Returns the file of a message; nothing for what only pairflow writes for itself.
pub fn message_file(envelope: &Envelope) -> Option<MessageFile> {
    let event = &envelope.event;
    let (kind, body) = content(&event.body)?;
    let context = MessageContext {
        kind,
        id: &envelope.id,
        from: called(&event.sender),
        to: called(&event.recipient),
        round: event.round,
        time: envelope.at.ts.to_string(),
        in_reply_to: event.in_reply_to.as_ref(),
        refs: &event.refs,
        body,
        explanation: match &event.body {
            Body::Pass(pass) => pass.explanation.iter().flat_map(Explanation::parts).collect(),
            _ => Vec::new(),
        },
        evidence: match &event.body {
            Body::Convergence(convergence) => evidence_of(convergence),
            _ => Vec::new(),
        },
    };
    Some(MessageFile { name: message_name(envelope)?, text: render(&MESSAGES, "message.md.j2", &context) })
}

/// What a message is called, and its payload.
fn content(body: &Body) -> Option<(&'static str, Value)> {
    Some(match body {
        Body::Task(task) => ("task", Serde(task).into()),
        Body::Pass(pass) if pass.judgement.is_some() => ("judgement", Serde(pass).into()),
        Body::Pass(pass) if pass.acceptance => ("acceptance", Serde(pass).into()),
        Body::Pass(pass) => (if pass.findings.is_none() { "pass" } else { "review" }, Serde(pass).into()),
        Body::HumanQuestion(question) => ("question", Serde(question).into()),
        Body::HumanReply(reply) => ("reply", Serde(reply).into()),
        Body::Convergence(convergence) => ("convergence", Serde(convergence).into()),
        Body::ApprovalRequest(request) => ("approval-request", Serde(request).into()),
        Body::ApprovalDecision(decision) => ("approval-decision", Serde(decision).into()),
        Body::DonePackage(done) => ("done", Serde(done).into()),
        _ => return None,
    })
}

fn evidence_of(convergence: &Convergence) -> Vec<String> {
    let it = &convergence.certificate;
    let mut lines = vec![format!("policy: {}, at most {}", it.policy, count(it.max_rounds, "round"))];
    lines.extend(it.reviews.iter().map(|review| {
        let asides: String = review.asides().iter().map(|aside| format!(", {aside}")).collect();
        format!("clean review: {}, round {}{asides}", review.agent, review.round)
    }));
    let looked = Some(it.looks_needed).filter(|needed| *needed > 0);
    lines.extend(looked.map(|needed| looks(it.looks, Some(needed))));
    lines.extend(it.checks.iter().map(|CheckStand { check, stand }| format!("check: {check} {stand}")));
    lines.extend(it.open.iter().map(|finding| {
        let decided = if it.accepted_open(finding) { ", accepted by a person at the tie-break" } else { "" };
        format!("open finding{decided}: {}", claim(finding))
    }));
    lines.extend(it.missing_then().map(|what| format!("accepted by a person without: {what}")));
    lines.extend(it.notes.iter().cloned());
    lines
}
