//! The log as a story: one readable line for each envelope, and lines for what follows from it.

use serde::Serialize;
use serde_json::Value;

use crate::bubble::{BubbleState, HiddenLooks, Stage, evolve};
use crate::facts::Seats;
use crate::facts::{Answers, Finding, Judgement, Receipt, Ruling};
use crate::facts::{CheckPlace, Outcome, Snapshot};
use crate::ids::{BubbleId, FindingId, MsgId, Party};
use crate::log::{
    ApprovalDecision, Body, Control, ControlAction, Convergence, Decision, Envelope, Evidence, GateDecision, Judged,
    Lifecycle, MessageKind, NextTurn, Pass, Reason, Reply, Warning,
};
use crate::policy;
use crate::rules::ConfigChange;
use crate::safe::safe_line;
use crate::time::Timestamp;
use crate::view::Tone;
use crate::view::words::{called, changes, ended, one_line, reviewers, title};

/// The schema of [`Log`] as JSON; `pairflow.` comes before it.
pub const SCHEMA: &str = "log/1";
/// How many columns the text of a row takes at most.
pub const COLUMNS: usize = 240;
/// What stands for a message that the reader is not shown yet.
const HIDDEN: &str = "has looked at the work; what it found is shown once every agent has looked";

/// The story of one bubble, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineLog {
    /// The bubble.
    pub bubble_id: BubbleId,
    /// What happened, in order.
    pub rows: Vec<TimelineRow>,
}

/// One line of the story. Its texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineRow {
    /// The sequence number of its envelope.
    pub seq: u64,
    /// The name of that envelope.
    pub id: MsgId,
    /// When it was written.
    pub at: Timestamp,
    /// The round that it belongs to.
    pub round: u32,
    /// The type of the message; nothing for what only follows from it.
    pub kind: Option<MessageKind>,
    /// Who did it: an agent, `human` or `pairflow`.
    pub who: String,
    /// What, as the end of a sentence that begins with who.
    pub what: String,
    /// How it is meant.
    #[serde(skip)]
    pub tone: Tone,
}

/// Builds the timeline: knows the state before each envelope, and so what the envelope changed.
#[derive(Debug, Clone)]
pub struct TimelineState {
    state: BubbleState,
    hidden: HiddenLooks,
}

/// Returns the line of one envelope. A verdict has none, because the turn or acceptance that follows has one; nor has an
/// attempt to deliver a notice.
pub fn timeline(envelope: &Envelope) -> Option<TimelineRow> {
    let (what, tone) = told(envelope)?;
    // A warning is written by pairflow about what someone else tried.
    let who = match &envelope.event.body {
        Body::ProtocolWarning(_) => &envelope.event.recipient,
        _ => &envelope.event.sender,
    };
    Some(row(envelope, called(who), &what, tone))
}

impl TimelineState {
    /// Begins the story of a bubble.
    pub fn new(id: BubbleId) -> Self {
        Self { state: BubbleState::new(id), hidden: HiddenLooks::default() }
    }

    /// Leaves out what the reader is not shown.
    pub fn hide(&mut self, hidden: HiddenLooks) {
        self.hidden = hidden;
    }

    /// Returns the lines of the next envelope: its own, then a new round or other seats if it brought them.
    pub fn step(&mut self, envelope: &Envelope) -> Vec<TimelineRow> {
        let (round, seats) = (self.state.rounds.round, self.state.rounds.seats.clone());
        let void = void_review(&self.state, envelope)
            .map(|what| TimelineRow { kind: None, ..row(envelope, "pairflow".to_owned(), &what, Tone::Warn) });
        let permission = permission(&self.state, envelope);
        let hidden = self.hidden.hides(&self.state, envelope);
        let before = std::mem::replace(&mut self.state, BubbleState::new(envelope.bubble_id.clone()));
        self.state = evolve(before, envelope);
        let follows = turned(round, &seats, &self.state).map(|what| {
            let own = row(envelope, "pairflow".to_owned(), &what, Tone::Plain);
            TimelineRow { round: self.state.rounds.round, kind: None, ..own }
        });
        let shown = !hidden || matches!(envelope.event.body, Body::Pass(_));
        let own = timeline(envelope).filter(|_| shown).map(|own| match &permission {
            _ if hidden => TimelineRow { what: HIDDEN.to_owned(), tone: Tone::Plain, ..own },
            Some(what) => TimelineRow { what: safe_line(what, COLUMNS), ..own },
            None => own,
        });
        own.into_iter().chain(void).chain(follows).collect()
    }

    /// Returns the state that the envelopes so far have led to.
    pub fn state(&self) -> &BubbleState {
        &self.state
    }
}

fn row(envelope: &Envelope, who: String, what: &str, tone: Tone) -> TimelineRow {
    let (seq, id, at, round) = (envelope.seq, envelope.id.clone(), envelope.at.ts, envelope.event.round);
    let kind = Some(envelope.event.body.kind());
    TimelineRow { seq, id, at, round, kind, who, what: safe_line(what, COLUMNS), tone }
}

/// Says what a person has allowed or refused, if an answer does either.
fn permission(before: &BubbleState, envelope: &Envelope) -> Option<String> {
    let Body::HumanReply(reply) = &envelope.event.body else { return None };
    let open = before.gate.questions.iter().find(|open| Some(&open.id) == envelope.event.in_reply_to.as_ref())?;
    let (agent, what) = open.wanted().filter(|_| envelope.event.sender == Party::Human)?;
    Some(match reply.decision {
        Some(Decision::Accept) => with(&format!("allows {agent} once: {what}"), &reply.message),
        _ => with(&format!("does not allow {agent}: {what}"), &reply.message),
    })
}

/// Says that a clean review does not count, because files or checks changed during it.
fn void_review(before: &BubbleState, envelope: &Envelope) -> Option<String> {
    let Body::Verdict(verdict) = &envelope.event.body else { return None };
    let Stage::Closing(handover) = &before.phase.turn()?.stage else { return None };
    let Judged::Review { by, .. } = &verdict.on else { return None };
    let has = |reason: &Reason| verdict.reasons.contains(reason);
    let why = match (has(&Reason::TreeChanged), handover.others_at_work) {
        (true, true) => "files changed during its turn, author unknown",
        (true, false) => "files changed during its turn",
        (false, _) if has(&Reason::ChecksChanged) => "checks changed before it was judged",
        // The next look is another agent's.
        (false, _) => return None,
    };
    let again =
        verdict.next == NextTurn::Review && verdict.clean.is_none() && !verdict.reasons.contains(&Reason::BlindLook);
    again.then(|| format!("the clean review of {by} does not count: {why}; {by} reviews again"))
}

/// Says what became of rounds and seats, if anything.
fn turned(round: u32, before: &Seats, state: &BubbleState) -> Option<String> {
    if state.rounds.round == 0 {
        return None;
    }
    let sit = format!("{} implements, {} reviews", state.rounds.seats.implementer, state.rounds.seats.reviewer);
    let swapped =
        state.rounds.seats.implementer == before.reviewer && state.rounds.seats.reviewer == before.implementer;
    let moved = state.rounds.seats.implementer != before.implementer || state.rounds.seats.reviewer != before.reviewer;
    match moved {
        _ if state.rounds.round != round => Some(format!("round {} begins: {sit}", state.rounds.round)),
        true if swapped => Some(format!("seats swap: {sit}")),
        true => Some(sit),
        false => None,
    }
}

fn told(envelope: &Envelope) -> Option<(String, Tone)> {
    let to = called(&envelope.event.recipient);
    let plain = |what: String| (what, Tone::Plain);
    Some(match &envelope.event.body {
        Body::Task(task) => plain(format!("gives the task to {to}: {}", title(&task.task))),
        Body::Pass(pass) => passed(pass),
        Body::HumanQuestion(question) => (format!("asks: {}", question.question), Tone::Warn),
        Body::HumanReply(reply) => plain(answered(reply)),
        Body::Convergence(claim) => (converged(claim), Tone::Good),
        Body::ApprovalRequest(request) => (format!("asks for approval of tree {}", request.tree.short()), Tone::Warn),
        Body::ApprovalDecision(decision) => decided(decision),
        Body::DonePackage(done) => (format!("done: commit {}, {}", done.commit.short(), done.summary), Tone::Good),
        Body::Lifecycle(fact) => lifecycle(fact),
        Body::Evidence(evidence) => found(evidence),
        Body::Verdict(verdict) if verdict.on == Judged::Work && verdict.next == NextTurn::Implement => {
            let (agent, why) = (&verdict.seats.implementer, policy::told(&verdict.reasons).join(", "));
            (format!("sends the work back to {agent} before a review: {why}"), Tone::Bad)
        }
        Body::Verdict(verdict) => {
            let contested = verdict.reasons.iter().find_map(|reason| match reason {
                Reason::Contested { findings } => Some(findings.iter().map(ToString::to_string).collect::<Vec<_>>()),
                _ => None,
            })?;
            (format!("lets a judge decide {}", contested.join(", ")), Tone::Warn)
        }
        Body::Control(control) => plain(controlled(control, &to)),
        Body::Delivery(delivery) if !delivery.acknowledged => return None,
        Body::Delivery(delivery) if delivery.notice == 0 => plain(format!("{to} has read its brief")),
        Body::Delivery(delivery) => plain(format!("{to} has read notice {}", delivery.notice)),
        Body::ProtocolWarning(warning) => (refused(warning), Tone::Warn),
    })
}

fn passed(pass: &Pass) -> (String, Tone) {
    let named = |finding: &Finding| {
        let id = finding.id.map(|id| format!(" ({id})")).unwrap_or_default();
        format!("{} {}{id}", finding.severity, one_line(&finding.title))
    };
    let answers = answered_rows(&pass.answers);
    if let Some(Judgement { finding, ruling, reason }) = &pass.judgement {
        return match ruling {
            Ruling::Upheld => (format!("upholds {finding}: {reason}"), Tone::Bad),
            Ruling::Dismissed => (format!("dismisses {finding}: {reason}"), Tone::Good),
        };
    }
    if pass.acceptance {
        let tests = pass.findings.iter().flatten().filter_map(|tests| tests.id).map(|id| format!(" ({id})"));
        let tests: String = tests.collect();
        let what = if tests.is_empty() { "writes no acceptance tests" } else { "writes acceptance tests" };
        return (format!("{what}{tests}: {}", pass.summary), Tone::Plain);
    }
    match pass.findings.as_deref() {
        None => (format!("hands over{answers}: {}", pass.summary), Tone::Plain),
        Some([]) if !pass.answers.reopened.is_empty() => (format!("reviews{answers}: {}", pass.summary), Tone::Bad),
        Some([]) => (format!("finds nothing{answers}: {}", pass.summary), Tone::Good),
        Some(findings) if findings.iter().any(|finding| finding.blocker) => {
            let blockers = findings.iter().map(named).collect::<Vec<_>>().join(", ");
            (format!("hands over{answers}, blocked by {blockers}: {}", pass.summary), Tone::Bad)
        }
        Some(findings) => {
            let tone = if findings.iter().any(|finding| finding.severity.blocks()) { Tone::Bad } else { Tone::Warn };
            (format!("finds {}{answers}", findings.iter().map(named).collect::<Vec<_>>().join(", ")), tone)
        }
    }
}

/// Says which rows a hand-over answers: " (F1 claimed fixed, F2 disputed)".
fn answered_rows(answers: &Answers) -> String {
    let disputed: Vec<_> = answers.disputed.iter().map(|dispute| dispute.finding).collect();
    let tested: Vec<_> = answers.tests.iter().map(|test| test.finding).collect();
    let untestable: Vec<_> = answers.untestable.iter().map(|one| one.finding).collect();
    let (shown, fixed): (Vec<_>, Vec<_>) = answers.fixed.iter().partition(|id| tested.contains(id));
    let (untested, fixed): (Vec<_>, Vec<_>) = fixed.into_iter().partition(|id| untestable.contains(id));
    let kinds: [(&[FindingId], &str); 7] = [
        (&shown, "claimed fixed, with a test"),
        (&untested, "claimed fixed, not testable"),
        (&fixed, "claimed fixed"),
        (&disputed, "disputed"),
        (&answers.confirmed, "confirmed"),
        (&answers.reopened, "reopened"),
        (&answers.retracted, "reproducer withdrawn"),
    ];
    let said = kinds.iter().flat_map(|(ids, word)| ids.iter().map(move |id| format!("{id} {word}")));
    let said: Vec<_> = said.collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

fn answered(reply: &Reply) -> String {
    with(reply.decision.map_or("answers", Decision::told), &reply.message)
}

fn converged(claim: &Convergence) -> String {
    let certificate = &claim.certificate;
    let tree = certificate.tree.short();
    let waived = if certificate.by_person() { ", accepted by a person at a tie-break" } else { "" };
    match reviewers(certificate) {
        Some(names) => format!("convergence on tree {tree}: reviewed clean by {names}{waived}"),
        None => format!("convergence on tree {tree}{waived}"),
    }
}

fn decided(it: &ApprovalDecision) -> (String, Tone) {
    let ids: String = it.findings.iter().map(|id| format!(" {id}")).collect();
    match it.decision {
        GateDecision::Approve => (format!("approves tree {}", it.tree.short()), Tone::Good),
        GateDecision::Revise => (with(&format!("asks for rework{ids}"), &it.message), Tone::Warn),
        GateDecision::Reject => (with(&format!("rejects the approach{ids}"), &it.message), Tone::Bad),
    }
}

fn lifecycle(fact: &Lifecycle) -> (String, Tone) {
    let plain = |what: String| (what, Tone::Plain);
    match fact {
        Lifecycle::Created { task, .. } => plain(format!("bubble created: {}", title(task))),
        Lifecycle::Adopted { reason, .. } => (with("adopts the bubble", reason), Tone::Warn),
        Lifecycle::IdentitySet { identity } => plain(match &identity.author {
            Some(author) => format!("commits are made as {author}"),
            None => "commits have no known author".to_owned(),
        }),
        Lifecycle::PolicyMoved { version } => plain(format!("goes on by version {version} of its rules")),
        Lifecycle::AcceptanceReturned { why } => {
            (with("the acceptance tests go back to their author", why), Tone::Warn)
        }
        Lifecycle::StartRequested { .. } => plain("prepares the workspace".to_owned()),
        Lifecycle::WorkspaceReady { workspace } => {
            plain(format!("workspace ready at {}, cut from {}", workspace.path, workspace.base.short()))
        }
        Lifecycle::StartFailed { reason } => (with("start failed", reason), Tone::Bad),
        Lifecycle::TurnOpened { seat, agent, .. } => plain(format!("opens the turn of {agent}, {seat}")),
        Lifecycle::TokenMinted { agent, .. } => plain(format!("lets {agent} join with a new token")),
        Lifecycle::AtWorkOutOfTurn { agent, .. } => (format!("{agent} is still working without the turn"), Tone::Warn),
        Lifecycle::AgentSession { agent, session, .. } => {
            let called = session.as_ref().map(|name| format!(" (session {name})")).unwrap_or_default();
            plain(format!("{agent} runs in its pane{called}"))
        }
        Lifecycle::CommitRequested { message, override_scope, .. } => {
            let scope = override_scope.as_ref().map(|why| format!(" (scope overridden: {})", one_line(why)));
            plain(format!("commits{}: {}", scope.unwrap_or_default(), title(message)))
        }
        Lifecycle::Committed { commit, .. } => (format!("committed as {}", commit.short()), Tone::Good),
        Lifecycle::CommitFailed { reason } => (with("commit failed", reason), Tone::Bad),
        Lifecycle::UpdateRequested { .. } => plain("merges the base branch into the worktree".to_owned()),
        Lifecycle::Updated { base, same_patch, .. } => {
            let kept = if *same_patch { "; it changed no file of the work" } else { "" };
            plain(format!("the base is now {}{kept}", base.short()))
        }
        Lifecycle::UpdateFailed { reason, .. } => (with("update failed", reason), Tone::Bad),
        Lifecycle::Configured { changes, .. } => {
            let told: Vec<_> = changes.iter().map(changed).collect();
            (format!("changes the configuration: {}", told.join("; ")), Tone::Warn)
        }
        Lifecycle::Merged { commit } => (format!("merged: the base branch is at {}", commit.short()), Tone::Good),
        Lifecycle::Escaped { severity, text } => {
            (format!("reports a defect found later, {severity}: {}", one_line(text)), Tone::Bad)
        }
        Lifecycle::Failed { reason } => (with("bubble failed", reason), Tone::Bad),
        Lifecycle::Cancelled { reason } => (with("bubble stopped", reason), Tone::Warn),
    }
}

/// Says what became of one value: "commands.test: make test -> make check".
pub fn changed(change: &ConfigChange) -> String {
    let shown = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => one_line(text),
        other => other.to_string(),
    };
    format!("{}: {} -> {}", change.key, shown(&change.old), shown(&change.new))
}

fn found(evidence: &Evidence) -> (String, Tone) {
    match evidence {
        Evidence::Snapshot { snapshot } => taken(snapshot),
        Evidence::Receipt { receipt } => {
            let tone = match receipt.outcome {
                Outcome::Passed => Tone::Good,
                Outcome::Failed { .. } => Tone::Bad,
                Outcome::CouldNotCheck { .. } => Tone::Warn,
            };
            let place = match receipt.place {
                CheckPlace::Worktree | CheckPlace::Checkout => "",
                CheckPlace::Fresh => " in a fresh checkout",
                CheckPlace::Base => " on the base",
            };
            (format!("check {}{place} {}", receipt.check, ended(receipt)), tone)
        }
        Evidence::Reproduced { finding, receipt } => match receipt.outcome {
            Outcome::Passed => (format!("reproducer of {finding} {}", ended(receipt)), Tone::Good),
            _ => (format!("reproducer of {finding} {}", ended(receipt)), Tone::Warn),
        },
        Evidence::FixTested { finding, before, after } => fix_tested(*finding, before, after.as_ref()),
        Evidence::NotAvailable { check, .. } => (format!("check {check} is recorded as not available"), Tone::Warn),
    }
}

fn fix_tested(finding: FindingId, before: &Receipt, after: Option<&Receipt>) -> (String, Tone) {
    let fix = format!("test of the fix of {finding}");
    match (&before.outcome, after) {
        (Outcome::Failed { .. }, Some(after)) if after.outcome.passed() => {
            (format!("{fix} fails without it and passes with it"), Tone::Good)
        }
        (Outcome::Failed { .. }, Some(after)) => (format!("{fix} {}", ended(after)), Tone::Bad),
        (Outcome::Passed, _) => (format!("{fix} passes without it, so it shows nothing"), Tone::Warn),
        _ => (format!("{fix} {}", ended(before)), Tone::Warn),
    }
}

fn taken(snapshot: &Snapshot) -> (String, Tone) {
    let changed = match snapshot.against_last() {
        (0, _, _) => "nothing changed".to_owned(),
        counts => changes(counts),
    };
    let tree = snapshot.tree.short();
    let what = match &snapshot.author {
        Some(Party::Agent(agent)) => format!("snapshot {tree} after {agent}'s turn, {changed}"),
        Some(party) => format!("snapshot {tree} by {}, {changed}", called(party)),
        None if snapshot.since_last.is_empty() => format!("snapshot {tree}, {changed}"),
        None => format!("snapshot {tree}, {changed}, author unknown"),
    };
    match snapshot.out_of_scope.len() {
        0 => (what, Tone::Plain),
        n => (format!("{what}, {n} out of scope"), Tone::Warn),
    }
}

fn controlled(control: &Control, to: &str) -> String {
    let what = match control.action {
        ControlAction::Nudge => format!("nudges {to}"),
        ControlAction::Halt => "bubble paused".to_owned(),
        ControlAction::Resume => "bubble resumed".to_owned(),
        ControlAction::Escalate => "asks a person to look".to_owned(),
        ControlAction::Restart => "agents restarted".to_owned(),
        ControlAction::Park => match control.until {
            Some(until) => format!("waits for {to} until {until}"),
            None => format!("waits for {to}"),
        },
        ControlAction::Unpark => format!("no longer waits for {to}"),
        ControlAction::Withdraw => match &control.waived {
            Some(what) => format!("withdraws the waiver of {what}"),
            None => "withdraws a waiver".to_owned(),
        },
        ControlAction::Waive => match &control.waived {
            Some(what) => format!("waives {what}"),
            None => "waives something".to_owned(),
        },
    };
    with(&what, &control.reason)
}

fn refused(warning: &Warning) -> String {
    let why = if warning.unmet.is_empty() { warning.reason.clone() } else { warning.unmet.join("; ") };
    with(&format!("is refused '{}'", warning.command), &why)
}

/// Returns "what: text", or only "what" if there is no text.
fn with(what: &str, text: &str) -> String {
    if text.trim().is_empty() { what.to_owned() } else { format!("{what}: {text}") }
}
