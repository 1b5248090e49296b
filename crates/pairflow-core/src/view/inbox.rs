//! What waits for a person in one bubble, the commands that answer it, and what of it is worth a notification.
//!
//! The inbox holds nothing that only informs. A notification is due for what waits now and did not wait before; how it
//! reaches the person is not known here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bubble::{Approval, BubbleState, OpenQuestion, Phase, StateName};
use crate::facts::Certificate;
use crate::ids::{BubbleId, Party};
use crate::log::QuestionKind;
use crate::rules::Check;
use crate::safe::safe_line;
use crate::time::Timestamp;
use crate::view::words::{changes, count, reviewers};

/// The schema of [`Inbox`] as JSON; `pairflow.` comes before it.
pub const SCHEMA: &str = "inbox/1";

/// How many columns of a question or a reason a notification has.
const COLUMNS: usize = 300;

/// What waits, in one bubble or in many, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inbox {
    /// The items, oldest first.
    pub items: Vec<InboxItem>,
}

/// One thing that needs a person to continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InboxItem {
    /// The message that asked, or the first characters of the tree that is up for approval.
    pub id: String,
    /// What kind of decision it is.
    pub kind: ItemKind,
    /// The bubble that waits.
    pub bubble_id: BubbleId,
    /// Who asks.
    pub by: Party,
    /// The question.
    pub question: String,
    /// Since when it waits.
    pub since: Timestamp,
    /// The command lines that answer it, the usual one first.
    pub answer: Vec<String>,
    /// What has to be read in full before the usual answer may be given; nothing if a beginning of the question is enough.
    #[serde(skip)]
    pub decisive: Option<String>,
}

impl InboxItem {
    /// Returns the command line that shows the whole question.
    pub fn reading(&self) -> String {
        format!("pairflow inbox {}", self.bubble_id)
    }

    /// Whether `shown` has everything that the usual answer is about: a cut must not hide what is allowed.
    pub fn is_read_in(&self, shown: &str) -> bool {
        let folded = |text: &str| safe_line(text, usize::MAX);
        self.decisive.as_ref().is_none_or(|needed| folded(shown).contains(&folded(needed)))
    }

    /// Returns those of its `lines` that may be offered below `shown`, the visible part of the question. If that is not
    /// enough to decide on, the command that shows all of it replaces the usual answer.
    pub(crate) fn offered(&self, mut lines: Vec<String>, shown: &str) -> Vec<String> {
        if let Some(usual) = lines.first_mut().filter(|_| !self.is_read_in(shown)) {
            *usual = self.reading();
        }
        lines
    }

    /// The same tree can be up for approval twice, so the time is part of the name.
    fn name(&self) -> String {
        format!("{} {}", self.id, self.since)
    }
}

/// What kind of decision a person is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// An agent asks.
    Question,
    /// An agent was silent for too long.
    Watchdog,
    /// An agent ended without a hand-over.
    AgentEnded,
    /// The agents do not agree: the rounds are used up, or findings come too late or want earlier ones undone.
    TieBreak,
    /// A check could not be run.
    CouldNotCheck,
    /// The same files fail again.
    Failing,
    /// A check does not pass on the base.
    Baseline,
    /// A check passed, and fails in a fresh checkout.
    Differs,
    /// An effect failed repeatedly.
    Trouble,
    /// An agent waits for a permission that can be given or refused with an answer.
    Permission,
    /// An agent's program is blocked; its pane shows why.
    Pane,
    /// The person is to confirm that the document is understood.
    Comprehension,
    /// A package waits for approval, or approved work for its commit.
    Approval,
}

impl From<QuestionKind> for ItemKind {
    fn from(kind: QuestionKind) -> Self {
        match kind {
            QuestionKind::Question => Self::Question,
            QuestionKind::Watchdog | QuestionKind::LongTurn | QuestionKind::Idle => Self::Watchdog,
            QuestionKind::AgentEnded => Self::AgentEnded,
            QuestionKind::TieBreak | QuestionKind::Reversal | QuestionKind::Deadlock => Self::TieBreak,
            QuestionKind::Comprehension => Self::Comprehension,
            QuestionKind::CouldNotCheck => Self::CouldNotCheck,
            QuestionKind::Failing => Self::Failing,
            QuestionKind::Baseline => Self::Baseline,
            QuestionKind::Differs => Self::Differs,
            QuestionKind::Trouble => Self::Trouble,
            QuestionKind::Permit => Self::Permission,
            QuestionKind::Undelivered | QuestionKind::Permission | QuestionKind::Dialog | QuestionKind::Limit => {
                Self::Pane
            }
        }
    }
}

/// Returns what waits for a person, oldest first.
pub fn inbox(state: &BubbleState) -> Vec<InboxItem> {
    let id = &state.id;
    let rework = format!("pairflow request-rework {id} --message '…'");
    match &state.phase {
        Phase::WaitingHuman(_) => open_questions(state).iter().map(|open| question(state, open)).collect(),
        // Nothing can be decided while the base is merged or the commit is under way.
        Phase::ReadyForApproval(_) | Phase::Approved(_) if state.gate.updating => Vec::new(),
        Phase::ReadyForApproval(request) => {
            let answer = vec![format!("pairflow ok {id}"), format!("pairflow approve {id}"), rework];
            vec![approval(state, request.tree.short(), offer(state), answer)]
        }
        Phase::Approved(Approval { request, commit: None, failed, hooks }) => {
            let question = match failed {
                Some(why) => format!("approved, but the commit failed: {why}"),
                None => "approved; commit it".to_owned(),
            };
            // A commit that failed with the hooks is not repeated without them.
            let answer = vec![commit(state, failed.is_some() && *hooks), rework];
            vec![approval(state, request.tree.short(), question, answer)]
        }
        _ => Vec::new(),
    }
}

/// Returns the questions that can be answered now: those of a failed bubble cannot.
pub(crate) fn open_questions(state: &BubbleState) -> &[OpenQuestion] {
    if matches!(state.phase, Phase::WaitingHuman(_)) { &state.gate.questions } else { &[] }
}

/// Returns the same as NDJSON, one line for each item.
pub fn inbox_ndjson(state: &BubbleState) -> String {
    inbox(state).iter().fold(String::new(), |out, item| {
        let line = serde_json::to_string(item).expect("an item has text keys only, so it is always writable as JSON");
        out + &line + "\n"
    })
}

fn question(state: &BubbleState, open: &OpenQuestion) -> InboxItem {
    // What an agent wants to be allowed, to the end of the sentence.
    let request = || open.wants.as_ref().map_or_else(|| open.question.clone(), |what| format!("{what}."));
    InboxItem {
        id: open.id.0.clone(),
        kind: open.kind.into(),
        bubble_id: state.id.clone(),
        by: open.by.clone(),
        question: open.question.clone(),
        since: open.at,
        answer: answers(state, open),
        decisive: (open.kind == QuestionKind::Permit).then(request),
    }
}

fn answers(state: &BubbleState, open: &OpenQuestion) -> Vec<String> {
    let id = &state.id;
    let named = state.gate.questions.len() > 1 || open.kind == QuestionKind::Permit;
    let which = if named { format!(" --question {}", open.id) } else { String::new() };
    let decide = |decision: &str| format!("pairflow reply {id}{which} --decision {decision}");
    let reply = format!("pairflow reply {id}{which} --message '…'");
    let attach = format!("pairflow attach {id}");
    let resumable = state.gate.questions.iter().all(|open| open.kind.is_answered_by_resume());
    let resume = resumable.then(|| format!("pairflow resume {id}"));
    match open.kind {
        QuestionKind::Question => vec![reply],
        QuestionKind::TieBreak | QuestionKind::Reversal | QuestionKind::Deadlock => {
            let sides = ["side-with-finding", "side-with-implementer"].map(decide);
            let sides = sides.into_iter().filter(|_| !open.findings.is_empty());
            let shown = state.ledger.blocking().filter(|row| row.proven());
            let waive = shown.map(|row| format!("pairflow waive {id} {} --reason '…'", row.id));
            let go_on = [format!("{} --message '…'", decide("continue")), decide("accept")];
            sides.chain(go_on).chain(waive).collect()
        }
        QuestionKind::Comprehension => vec![decide("accept"), reply],
        QuestionKind::CouldNotCheck => vec![decide("continue"), decide("accept")],
        QuestionKind::Failing => [reply].into_iter().chain(repairs(state)).collect(),
        QuestionKind::Differs => [decide("continue"), reply].into_iter().chain(repairs(state)).collect(),
        QuestionKind::Baseline => {
            let mut lines = repairs(state);
            lines.insert(1, reply);
            lines.insert(0, decide("continue"));
            lines
        }
        QuestionKind::Permission => vec![attach],
        QuestionKind::Dialog => [attach].into_iter().chain(resume).collect(),
        QuestionKind::Permit => vec![decide("accept"), reply, attach],
        QuestionKind::Watchdog
        | QuestionKind::AgentEnded
        | QuestionKind::Trouble
        | QuestionKind::LongTurn
        | QuestionKind::Idle
        | QuestionKind::Undelivered
        | QuestionKind::Limit => resume.into_iter().chain([reply]).collect(),
    }
}

/// What a person can do about a failure: correct the command of a check, waive it, or stop the bubble.
fn repairs(state: &BubbleState) -> Vec<String> {
    let id = &state.id;
    let on_base = state.failing_on_base().map(|receipt| receipt.check.as_str()).filter(|_| state.is_untouched());
    let correct = |name: &str| match state.rules.checks.iter().find(|check| check.name == name) {
        Some(check) if check.name == Check::RED_GREEN => {
            Some(format!("pairflow config set {id} evidence.red_green=false"))
        }
        Some(check) if check.is_own() => None,
        _ => Some(format!("pairflow config set {id} commands.{name}='…'")),
    };
    let waive = |what: &str| format!("pairflow waive {id} {what} --reason '…'");
    let facts = state.facts();
    let checks = facts.failing_checks().chain(on_base);
    let checks = checks.flat_map(|name| correct(name).into_iter().chain([waive(name)]));
    let rows = facts.failing_rows().map(|row| waive(&row.id.to_string()));
    checks.chain(rows).chain([format!("pairflow stop {id}")]).collect()
}

fn approval(state: &BubbleState, tree: &str, question: String, answer: Vec<String>) -> InboxItem {
    InboxItem {
        id: tree.to_owned(),
        kind: ItemKind::Approval,
        bubble_id: state.id.clone(),
        by: Party::Orchestrator,
        question,
        since: state.gate.package_at,
        answer,
        decisive: None,
    }
}

fn offer(state: &BubbleState) -> String {
    let snapshot = state.evidence.snapshot.as_ref();
    let changed = snapshot.map_or_else(|| "no file".to_owned(), |snapshot| changes(snapshot.against_base()));
    let certificate = state.gate.certificate.as_ref();
    let reviewed = match certificate.and_then(reviewers) {
        _ if certificate.is_some_and(Certificate::by_person) => "accepted by you at a tie-break".to_owned(),
        Some(names) => format!("reviewed clean by {names}"),
        None => "reviewed by nobody".to_owned(),
    };
    let open = match state.ledger.open().count() {
        0 => String::new(),
        n => format!(", {} open", count(n, "finding")),
    };
    format!("{changed}, {reviewed}{open}: approve?")
}

fn commit(state: &BubbleState, hooks: bool) -> String {
    let outside = state.evidence.snapshot.as_ref().is_some_and(|snapshot| !snapshot.out_of_scope.is_empty());
    let scope = if outside { " --override-scope --reason '…'" } else { "" };
    let hooks = if hooks { " --hooks" } else { "" };
    format!("pairflow commit {}{hooks}{scope}", state.id)
}

/// A notification for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The bubble.
    pub bubble: BubbleId,
    /// What it is about.
    pub kind: NotificationKind,
    /// The whole of it, in one clean line.
    pub text: String,
    /// The bubble's state.
    pub state: StateName,
    /// What the person is asked, in one clean line, if it is a question.
    pub question: Option<String>,
}

/// What a notification is about; each has its own sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationKind {
    /// A person is asked.
    WaitingHuman,
    /// The work has converged and waits for approval.
    Converged,
    /// The bubble has failed.
    Failed,
}

/// What a person has been notified of in one bubble, as far as it still waits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Announced {
    /// The names of the items.
    pub of: BTreeSet<String>,
}

impl Announced {
    /// Returns everything that waits in a bubble.
    pub fn all_of(state: &BubbleState) -> Self {
        let failed = matches!(state.phase, Phase::Failed { .. }).then(|| "failed".to_owned());
        Self { of: inbox(state).iter().map(InboxItem::name).chain(failed).collect() }
    }
}

/// Returns the notification that is due after what was `announced`; several new questions are one notification.
pub fn due_notification(announced: &Announced, state: &BubbleState) -> Option<Notification> {
    let id = &state.id;
    let (kind, text, question) = if let Phase::Failed { reason } = &state.phase {
        let text = format!("{id} has failed: {}", safe_line(reason, COLUMNS));
        (Announced::all_of(state) != *announced).then_some((NotificationKind::Failed, text, None))?
    } else {
        let items = inbox(state);
        let mut new = items.iter().filter(|item| !announced.of.contains(&item.name()));
        let first = new.next()?;
        let question = safe_line(&first.question, COLUMNS);
        let (kind, said) = match (&first.by, first.kind) {
            (_, ItemKind::Approval) => (NotificationKind::Converged, format!("{id} has converged: {question}")),
            (Party::Agent(agent), _) => (NotificationKind::WaitingHuman, format!("{id}: {agent} asks: {question}")),
            _ => (NotificationKind::WaitingHuman, format!("{id} waits for you: {question}")),
        };
        let text = match new.count() {
            0 => said,
            more => format!("{said} (and {more} more)"),
        };
        (kind, text, Some(question))
    };
    Some(Notification { bubble: id.clone(), kind, text, state: state.phase.name(), question })
}

/// Whether the status view rings the terminal's bell for what has changed from `before` to `after`.
pub fn rings(before: &BubbleState, after: &BubbleState) -> bool {
    let wanted = &after.rules.notifications;
    wanted.enabled && wanted.bell && due_notification(&Announced::all_of(before), after).is_some()
}
