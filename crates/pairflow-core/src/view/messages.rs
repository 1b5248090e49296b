//! A message as a file that people and agents read: a small header, then what was said.

use crate::facts::{Answers, Explanation, Finding};
use crate::ids::MsgId;
use crate::log::{
    ApprovalDecision, ApprovalRequest, Body, Convergence, Decision, DonePackage, Envelope, GateDecision, Intent, Pass,
    Reply, Task,
};
use crate::rules::Scope;
use crate::view::markdown::Page;
use crate::view::words::{called, claim, count, one_line};

/// A file beneath `artifacts/messages/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFile {
    /// Its name, `<number>-<sender>-<kind>.md`.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Returns the name of a message's file; nothing for what only pairflow writes for itself.
pub fn message_name(envelope: &Envelope) -> Option<String> {
    let kind = kind(&envelope.event.body)?;
    Some(format!("{:03}-{}-{kind}.md", envelope.seq, envelope.event.sender))
}

/// Returns the file of a message; nothing for what only pairflow writes for itself.
pub fn message_file(envelope: &Envelope) -> Option<MessageFile> {
    let kind = kind(&envelope.event.body)?;
    let sender = &envelope.event.sender;
    let mut page = Page::new(&format!("{}: {kind}", called(sender)));
    header(&mut page, envelope);
    match &envelope.event.body {
        Body::Task(task) => write_task(&mut page, task),
        Body::Pass(pass) => write_pass(&mut page, pass),
        Body::HumanQuestion(question) => said(&mut page, "Question", &question.question),
        Body::HumanReply(reply) => write_reply(&mut page, reply),
        Body::Convergence(claim) => write_convergence(&mut page, claim),
        Body::ApprovalRequest(request) => write_request(&mut page, request),
        Body::ApprovalDecision(decision) => write_decision(&mut page, decision),
        Body::DonePackage(done) => write_done(&mut page, done),
        _ => return None,
    }
    Some(MessageFile { name: message_name(envelope)?, text: page.finish() })
}

fn kind(body: &Body) -> Option<&'static str> {
    Some(match body {
        Body::Task(_) => "task",
        Body::Pass(Pass { findings: None, .. }) => "pass",
        Body::Pass(_) => "review",
        Body::HumanQuestion(_) => "question",
        Body::HumanReply(_) => "reply",
        Body::Convergence(_) => "convergence",
        Body::ApprovalRequest(_) => "approval-request",
        Body::ApprovalDecision(_) => "approval-decision",
        Body::DonePackage(_) => "done",
        _ => return None,
    })
}

fn header(page: &mut Page, envelope: &Envelope) {
    let event = &envelope.event;
    page.item(&format!("message: {}", one_line(&envelope.id.0)));
    page.item(&format!("from: {}", called(&event.sender)));
    page.item(&format!("to: {}", called(&event.recipient)));
    page.item(&format!("round: {}", event.round));
    page.item(&format!("time: {}", envelope.at.ts));
    if let Some(MsgId(asked)) = &event.in_reply_to {
        page.item(&format!("answers: {}", one_line(asked)));
    }
    page.items(event.refs.iter().map(|at| format!("ref: {}", one_line(at))));
}

fn said(page: &mut Page, title: &str, text: &str) {
    if !text.trim().is_empty() {
        page.section(title);
        page.quote(text);
    }
}

fn write_task(page: &mut Page, task: &Task) {
    said(page, "Task", &task.task);
    page.section("Acceptance criteria");
    criteria(page, &task.acceptance_criteria);
    page.section("Scope");
    scope(page, &task.scope);
}

/// Adds the acceptance criteria, or that there are none.
pub(super) fn criteria(page: &mut Page, criteria: &[String]) {
    if criteria.is_empty() {
        page.line("The task names none.");
    }
    page.items(criteria.iter().map(|criterion| one_line(criterion)));
}

/// Adds which files may change.
pub(super) fn scope(page: &mut Page, scope: &Scope) {
    let list = |globs: &[String]| globs.iter().map(|glob| one_line(glob)).collect::<Vec<_>>().join(", ");
    page.item(&match scope.allow.as_slice() {
        [] => "may change: every file".to_owned(),
        globs => format!("may change: {}", list(globs)),
    });
    page.item(&match scope.deny.as_slice() {
        [] => "must not change: .pairflow/".to_owned(),
        globs => format!("must not change: .pairflow/, {}", list(globs)),
    });
}

fn write_pass(page: &mut Page, pass: &Pass) {
    let asked = match pass.pass_intent {
        Intent::Task => "do this",
        Intent::Review => "review this",
        Intent::FixRequest => "fix this",
    };
    page.item(&format!("asks to: {asked}"));
    if !pass.reviewed.is_empty() {
        let numbers: Vec<_> = pass.reviewed.iter().map(u32::to_string).collect();
        page.item(&format!("slices read: {}", numbers.join(", ")));
    }
    said(page, "Summary", &pass.summary);
    write_answers(page, &pass.answers);
    if let Some(findings) = &pass.findings {
        page.section("Findings");
        if findings.is_empty() {
            page.line("None.");
        }
        findings.iter().for_each(|finding| write_finding(page, finding));
    }
    pass.steps.iter().for_each(|step| said(page, &format!("Step: {}", step.step.name()), &step.result));
    write_explanation(page, pass.explanation.as_ref());
}

fn write_answers(page: &mut Page, answers: &Answers) {
    if answers.is_empty() {
        return;
    }
    page.section("Answers to findings");
    page.items(answers.fixed.iter().map(|id| format!("{id} claimed fixed")));
    page.items(answers.disputed.iter().map(|one| format!("{} disputed: {}", one.finding, one_line(&one.reason))));
    page.items(answers.confirmed.iter().map(|id| format!("{id} confirmed")));
    page.items(answers.reopened.iter().map(|id| format!("{id} reopened")));
    page.items(answers.retracted.iter().map(|id| format!("{id} reproducer withdrawn")));
}

/// Adds a finding with everything that is known of it.
pub(super) fn write_finding(page: &mut Page, finding: &Finding) {
    page.item(&claim(finding));
    let place = finding.file.as_deref().map(|file| match finding.line {
        Some(line) => format!("{}:{line}", one_line(file)),
        None => one_line(file),
    });
    let class = finding.class.map(|class| class.to_string());
    let mut facts: Vec<_> = place.into_iter().chain(class).collect();
    facts.extend(finding.reproducer.as_deref().map(|command| format!("reproduce with: {}", one_line(command))));
    facts.extend(finding.reverses.map(|id| format!("asks to undo {id}")));
    facts.extend(finding.repeats.map(|id| format!("repeats {id}")));
    if !facts.is_empty() {
        page.line(&format!("  ({})", facts.join("; ")));
    }
    for text in [&finding.detail, &finding.suggestion].into_iter().filter(|text| !text.trim().is_empty()) {
        page.line("");
        page.quote(text);
    }
}

fn write_explanation(page: &mut Page, explanation: Option<&Explanation>) {
    for (name, text) in explanation.iter().flat_map(|one| one.parts()) {
        said(page, &format!("Explanation: {name}"), text);
    }
}

fn write_reply(page: &mut Page, reply: &Reply) {
    if let Some(decision) = reply.decision {
        page.item(match decision {
            Decision::Accept => "decision: accept",
            Decision::Continue => "decision: continue",
        });
    }
    said(page, "Answer", &reply.message);
}

fn write_convergence(page: &mut Page, it: &Convergence) {
    let certificate = &it.certificate;
    page.item(&format!("tree: {}", one_line(&certificate.tree.0)));
    said(page, "Summary", &it.summary);
    page.section("Evidence");
    page.item(&format!(
        "policy: {}, at most {}",
        one_line(&certificate.policy),
        count(certificate.max_rounds, "round")
    ));
    page.items(certificate.reviews.iter().map(|review| {
        let asides: String = review.asides().iter().map(|aside| format!(", {aside}")).collect();
        format!("clean review: {}, round {}{asides}", review.agent, review.round)
    }));
    let check =
        |check: &crate::facts::CheckStand| format!("check: {} {}", one_line(&check.check), one_line(&check.stand));
    page.items(certificate.checks.iter().map(check));
    page.items(certificate.open.iter().map(|finding| {
        let decided =
            if certificate.accepted_open(finding) { ", accepted so by a person at the tie-break" } else { "" };
        format!("open finding{decided}: {}", claim(finding))
    }));
    page.items(certificate.missing_then().map(|what| format!("accepted by a person without: {}", one_line(what))));
    page.items(certificate.notes.iter().map(|note| one_line(note)));
}

fn write_request(page: &mut Page, request: &ApprovalRequest) {
    package(page, &request.tree.0, &request.package, &request.package_sha256);
    said(page, "Suggested commit message", &request.commit_message);
}

fn package(page: &mut Page, tree: &str, package: &str, sha256: &str) {
    page.item(&format!("tree: {}", one_line(tree)));
    page.item(&format!("package: {} (SHA-256 {})", one_line(package), one_line(sha256)));
}

fn write_decision(page: &mut Page, it: &ApprovalDecision) {
    page.item(match it.decision {
        GateDecision::Approve => "decision: approve",
        GateDecision::Revise => "decision: revise",
        GateDecision::Reject => "decision: reject",
    });
    page.item(&format!("tree: {}", one_line(&it.tree.0)));
    page.items(it.findings.iter().map(|id| format!("to be fixed: {id}")));
    said(page, "Message", &it.message);
}

fn write_done(page: &mut Page, done: &DonePackage) {
    page.item(&format!("commit: {}", one_line(&done.commit.0)));
    package(page, &done.tree.0, &done.package, &done.package_sha256);
    said(page, "Summary", &done.summary);
}
