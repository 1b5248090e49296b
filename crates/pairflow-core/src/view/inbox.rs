//! What waits for a person in one bubble, and the command lines that answer it. Nothing that only informs.

use serde::Serialize;

use crate::bubble::{Approval, BubbleState, OpenQuestion, Phase};
use crate::facts::Certificate;
use crate::ids::{BubbleId, MsgId, Party};
use crate::log::QuestionKind;
use crate::rules::Check;
use crate::safe::safe_line;
use crate::time::Timestamp;
use crate::view::words::{changes, count, reviewers};

/// The schema of [`Inbox`] as JSON; `pairflow.` comes before it.
pub const SCHEMA: &str = "inbox/1";

/// What waits, of one bubble or of many, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inbox {
    /// The items, oldest first.
    pub items: Vec<InboxItem>,
}

/// One thing that does not go on without a person.
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

    /// Whether `shown` has all that the usual answer is about: nobody allows what may go on behind a cut.
    pub fn is_read_in(&self, shown: &str) -> bool {
        let folded = |text: &str| safe_line(text, usize::MAX);
        self.decisive.as_ref().is_none_or(|needed| folded(shown).contains(&folded(needed)))
    }

    /// Returns those of its `lines` that may stand beneath `shown`, which is what there is to see of the question: where
    /// that is too little, the one that shows it whole comes in place of the usual answer.
    pub(crate) fn offered(&self, mut lines: Vec<String>, shown: &str) -> Vec<String> {
        if let Some(usual) = lines.first_mut().filter(|_| !self.is_read_in(shown)) {
            *usual = self.reading();
        }
        lines
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
    /// The agents do not agree: the rounds are used up, findings come too late, or want earlier ones undone.
    TieBreak,
    /// A check could not be run.
    CouldNotCheck,
    /// The same files fail again.
    Failing,
    /// A check does not pass on the base.
    Baseline,
    /// A check passed, and fails in a fresh checkout.
    Differs,
    /// An effect failed again and again.
    Trouble,
    /// An agent waits for a permission that can be given or refused with an answer.
    Permission,
    /// An agent's program cannot go on by itself; its pane shows why.
    Pane,
    /// The person is to confirm that the document is understood.
    Comprehension,
    /// A package waits for approval, or approved work for its commit.
    Approval,
}

/// Returns what waits for a person, oldest first.
pub fn inbox(state: &BubbleState) -> Vec<InboxItem> {
    match &state.phase {
        Phase::WaitingHuman(_) => open_questions(state).iter().map(|open| question(state, open)).collect(),
        // Nothing can be decided on while the base is merged or the commit is under way.
        Phase::ReadyForApproval(_) | Phase::Approved(_) if state.gate.updating => Vec::new(),
        Phase::ReadyForApproval(request) => {
            let answer =
                vec![format!("pairflow ok {}", state.id), format!("pairflow approve {}", state.id), rework(state)];
            vec![approval(state, request.tree.short(), offer(state), answer)]
        }
        Phase::Approved(Approval { request, commit: None, failed, hooks }) => {
            // What failed with the hooks is not done without them behind the person's back.
            let answer = vec![commit(state, failed.is_some() && *hooks), rework(state)];
            vec![approval(state, request.tree.short(), approved(failed.as_deref()), answer)]
        }
        _ => Vec::new(),
    }
}

/// Returns the questions that can be answered now: a bubble that failed leaves its own behind.
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

impl From<QuestionKind> for ItemKind {
    fn from(kind: QuestionKind) -> Self {
        match kind {
            QuestionKind::Question => Self::Question,
            QuestionKind::Watchdog => Self::Watchdog,
            QuestionKind::AgentEnded => Self::AgentEnded,
            QuestionKind::TieBreak | QuestionKind::Reversal => Self::TieBreak,
            QuestionKind::Comprehension => Self::Comprehension,
            QuestionKind::CouldNotCheck => Self::CouldNotCheck,
            QuestionKind::Failing => Self::Failing,
            QuestionKind::Baseline => Self::Baseline,
            QuestionKind::Differs => Self::Differs,
            QuestionKind::Trouble => Self::Trouble,
            QuestionKind::LongTurn | QuestionKind::Idle => Self::Watchdog,
            QuestionKind::Permit => Self::Permission,
            QuestionKind::Undelivered | QuestionKind::Permission | QuestionKind::Dialog | QuestionKind::Limit => {
                Self::Pane
            }
        }
    }
}

fn question(state: &BubbleState, open: &OpenQuestion) -> InboxItem {
    let MsgId(id) = &open.id;
    InboxItem {
        id: id.clone(),
        kind: open.kind.into(),
        bubble_id: state.id.clone(),
        by: open.by.clone(),
        question: open.question.clone(),
        since: open.at,
        answer: answers(state, open),
        decisive: (open.kind == QuestionKind::Permit).then(|| request(open)),
    }
}

/// What an agent wants to be allowed, to the end of the sentence.
fn request(open: &OpenQuestion) -> String {
    open.wants.as_ref().map_or_else(|| open.question.clone(), |what| format!("{what}."))
}

fn answers(state: &BubbleState, open: &OpenQuestion) -> Vec<String> {
    let named = state.gate.questions.len() > 1 || open.kind == QuestionKind::Permit;
    let which = if named { format!(" --question {}", open.id) } else { String::new() };
    let decide = |decision: &str| format!("pairflow reply {}{which} --decision {decision}", state.id);
    let reply = || format!("pairflow reply {}{which} --message '…'", state.id);
    let attach = format!("pairflow attach {}", state.id);
    match open.kind {
        QuestionKind::Question => vec![reply()],
        QuestionKind::TieBreak | QuestionKind::Reversal => {
            let shown = state.ledger.blocking().filter(|row| row.proven());
            let waive = shown.map(|row| format!("pairflow waive {} {} --reason '…'", state.id, row.id));
            [format!("{} --message '…'", decide("continue")), decide("accept")].into_iter().chain(waive).collect()
        }
        QuestionKind::Comprehension => vec![decide("accept"), reply()],
        QuestionKind::CouldNotCheck => vec![decide("continue"), decide("accept")],
        QuestionKind::Failing => [reply()].into_iter().chain(repairs(state)).collect(),
        QuestionKind::Differs => [decide("continue"), reply()].into_iter().chain(repairs(state)).collect(),
        QuestionKind::Baseline => {
            let (correct, others) = (repairs(state).into_iter().take(1), repairs(state).into_iter().skip(1));
            [decide("continue")].into_iter().chain(correct).chain([reply()]).chain(others).collect()
        }
        QuestionKind::Permission => vec![attach],
        QuestionKind::Dialog => {
            let resume = resumable(state).then(|| format!("pairflow resume {}", state.id));
            [attach].into_iter().chain(resume).collect()
        }
        QuestionKind::Permit => vec![decide("accept"), reply(), attach],
        QuestionKind::Watchdog
        | QuestionKind::AgentEnded
        | QuestionKind::Trouble
        | QuestionKind::LongTurn
        | QuestionKind::Idle
        | QuestionKind::Undelivered
        | QuestionKind::Limit => {
            let resume = resumable(state).then(|| format!("pairflow resume {}", state.id));
            resume.into_iter().chain([reply()]).collect()
        }
    }
}

/// What a person can do about what fails: correct the command of a check, waive it, or stop the bubble.
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
    let checks = state
        .facts()
        .failing_checks()
        .chain(on_base)
        .flat_map(|name| correct(name).into_iter().chain([format!("pairflow waive {id} {name} --reason '…'")]));
    let rows = state.facts().failing_rows().map(|row| format!("pairflow waive {id} {} --reason '…'", row.id));
    checks.chain(rows).chain([format!("pairflow stop {id}")]).collect()
}

/// Whether `resume` answers everything that is open.
fn resumable(state: &BubbleState) -> bool {
    state.gate.questions.iter().all(|open| open.kind.is_answered_by_resume())
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
    let changed = state
        .evidence
        .snapshot
        .as_ref()
        .map_or_else(|| "no file".to_owned(), |snapshot| changes(snapshot.against_base()));
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

fn approved(failed: Option<&str>) -> String {
    match failed {
        Some(why) => format!("approved, but the commit failed: {why}"),
        None => "approved; commit it".to_owned(),
    }
}

fn commit(state: &BubbleState, hooks: bool) -> String {
    let outside = state.evidence.snapshot.as_ref().is_some_and(|snapshot| !snapshot.out_of_scope.is_empty());
    let scope = if outside { " --override-scope --reason '…'" } else { "" };
    let hooks = if hooks { " --hooks" } else { "" };
    format!("pairflow commit {}{hooks}{scope}", state.id)
}

fn rework(state: &BubbleState) -> String {
    format!("pairflow request-rework {} --message '…'", state.id)
}
