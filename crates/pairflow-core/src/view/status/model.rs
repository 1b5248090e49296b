//! Everything that is known about the state of a bubble.

use serde::{Serialize, Serializer};

use crate::bubble::{BubbleState, EscapedDefect, OpenQuestion, Phase, StateName};
use crate::facts::CheckPlace;
use crate::facts::{CleanReview, RowState, Ruling, Seat, Severity};
use crate::findings::Row;
use crate::ids::{AgentId, CommitId, FindingId, MsgId, Party, TreeId};
use crate::policy::Unmet;
use crate::progress::CheckState;
use crate::rules::{BubbleKind, DriverKind, Prd};
use crate::time::{Moment, Timestamp};
use crate::view::inbox::{InboxItem, ItemKind, inbox, open_questions};
use crate::view::words::{asides, looks_needed, title};
use crate::view::{StateFields, Tone, TurnState};

/// The schema of [`Status`] as JSON; `pairflow.` comes before it.
pub const SCHEMA: &str = "status/1";

/// How many of the last lines of a failed check are shown.
const TAIL: usize = 6;

/// Everything that `status` knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The fields of `state.json`.
    #[serde(flatten)]
    pub fields: StateFields,
    /// The repository's root.
    pub repo: String,
    /// The first line of the task.
    pub task_title: String,
    /// The task's acceptance criteria; none if it names none.
    pub acceptance_criteria: Vec<String>,
    /// The approved document that the work follows, if it follows one.
    pub prd: Option<Prd>,
    /// Where the agents work; nothing before the start.
    pub worktree: Option<String>,
    /// Whether the worktree was removed by hand. Not part of the state.
    pub worktree_gone: bool,
    /// What else is wrong with the worktree.
    pub worktree_problem: Option<String>,
    /// Why the bubble is foreign, if it is: then nothing is done for it.
    pub foreign: Option<String>,
    /// How a foreign bubble is removed. Not part of the state.
    #[serde(skip)]
    pub(super) removing: Vec<String>,
    /// Damaged logs that a repair has set aside. Not part of the state.
    pub damaged_logs: Vec<String>,
    /// How the repository's commit identity differs from the recorded one. Not part of the state.
    pub identity_changes: Vec<String>,
    /// The command that adopts the repository's commit identity, unless it would be refused.
    #[serde(skip)]
    pub identity_next: Option<String>,
    /// How `bubble.toml` differs from the recorded configuration, which alone is in force. Not part of the state.
    pub config_differs: Option<String>,
    /// The bubble's branch.
    pub branch: String,
    /// The branch that it was cut from.
    pub base_branch: String,
    /// How that branch has moved since. Not part of the state.
    pub base_moved: Option<BaseMoved>,
    /// How agents are run.
    pub driver: DriverKind,
    /// Who sits where.
    pub seats: SeatsShown,
    /// How many rounds of the present budget are used, the present one included.
    pub rounds_used: u32,
    /// How many reviews there were in all.
    pub looks: u32,
    /// How many reviews the work needs, for its size and risk; nothing before there is any work.
    pub looks_needed: Option<u32>,
    /// How many reviews of the present budget there were.
    pub looks_used: u32,
    /// How many reviews there may be before a person decides.
    pub max_looks: u32,
    /// How many rounds there may be before a person decides.
    pub max_rounds: u32,
    /// The newest snapshot.
    pub snapshot: Option<SnapshotShown>,
    /// The required checks and their results on the newest snapshot.
    pub checks: Vec<CheckShown>,
    /// What a person has to try by hand.
    pub manual_checks: Vec<String>,
    /// The findings of the last review.
    pub open_findings: Vec<FindingShown>,
    /// The disputed findings that the judge has yet to decide.
    pub contested: Vec<FindingId>,
    /// Whether the present turn writes acceptance tests, before there is any work.
    pub acceptance_turn: bool,
    /// The clean reviews of the newest snapshot.
    pub clean_reviews: Vec<CleanReview>,
    /// The open questions, oldest first.
    pub questions: Vec<QuestionShown>,
    /// Every criterion of convergence that does not hold yet; empty once the work is accepted.
    #[serde(serialize_with = "sentences")]
    pub missing_for_convergence: Vec<Unmet>,
    /// In how many seconds the silence of the turn's holder becomes a question; nothing while no agent is waited for.
    pub watchdog_left_secs: Option<u64>,
    /// Whether the count-down is paused because no supervisor runs. Not part of the state.
    #[serde(skip)]
    pub uncounted: bool,
    /// The notice that is kept back because a person has typed something where it belongs. Not part of the state.
    pub held_notice: Option<HeldNotice>,
    /// For whom the bubble waits because its account is used up, and until when.
    pub parked: Option<ParkedShown>,
    /// The commit of the work.
    pub commit: Option<CommitId>,
    /// What the base branch pointed to after the merge.
    pub merged: Option<CommitId>,
    /// The defects that were found after the bubble was done, oldest first.
    pub escaped: Vec<EscapedDefect>,
    /// Why the bubble failed, or why the last attempt to commit did.
    pub failure: Option<String>,
    /// The next steps, the usual one first.
    pub next: Vec<String>,
    /// What `next` answers, if something waits for the person.
    #[serde(skip)]
    pub(super) waits: Option<InboxItem>,
}

/// A base branch that has moved since the bubble was cut from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BaseMoved {
    /// How many commits it has that the bubble is not based on, if git can tell.
    pub commits: Option<u64>,
    /// The files in which merging would conflict, if git can tell.
    pub conflicts: Option<Vec<String>>,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionShown {
    /// The message that asked it.
    pub id: MsgId,
    /// Who asked.
    pub by: Party,
    /// What kind of decision it is, in the words of the inbox.
    pub kind: ItemKind,
    /// The question.
    pub question: String,
    /// The agent whose presence it is about, if it is about one.
    pub about: Option<AgentId>,
    /// When it was asked.
    pub at: Timestamp,
}

/// An agent whose account is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParkedShown {
    /// Which.
    pub agent: AgentId,
    /// Until when nothing is expected of it.
    pub until: Timestamp,
}

/// A notice that is kept back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldNotice {
    /// Whom it is for.
    pub agent: AgentId,
    /// Its number.
    pub notice: u64,
}

impl std::fmt::Display for HeldNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { agent, notice } = self;
        write!(f, "{agent} has text in its input line; notice {notice} is held until it is empty or sent")
    }
}

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeatsShown {
    /// Makes the change.
    pub implementer: AgentId,
    /// Reviews it.
    pub reviewer: AgentId,
    /// Decides a dispute; nothing while there is none.
    pub judge: Option<AgentId>,
}

/// A snapshot in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SnapshotShown {
    /// The tree.
    pub tree: TreeId,
    /// How many files differ from the base.
    pub files: usize,
    /// How many lines were added.
    pub added: u64,
    /// How many lines were removed.
    pub removed: u64,
    /// Whose changes it has; nothing if that is not known.
    pub author: Option<Party>,
    /// Changed files outside the bubble's scope.
    pub out_of_scope: Vec<String>,
}

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckShown {
    /// Which check.
    pub check: String,
    /// The command line.
    pub command: String,
    /// Its result on the newest snapshot.
    pub stand: CheckOutcome,
    /// Where it ran, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<CheckPlace>,
    /// The last lines of the output, if it failed.
    pub tail: Vec<String>,
    /// The file with the whole output, if it failed.
    pub output: Option<String>,
}

/// The result of a check on a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// A person said that it is not available.
    #[serde(rename = "not available")]
    NotAvailable,
    /// A person lives with what it says.
    Waived,
    /// It has not been run yet, or could not be.
    Missing,
}

impl CheckOutcome {
    /// Returns the words for it, and how they are meant.
    pub(crate) fn described(self) -> (&'static str, Tone) {
        match self {
            Self::Passed => ("passed", Tone::Good),
            Self::Failed => ("failed", Tone::Bad),
            Self::NotAvailable => ("not available", Tone::Warn),
            Self::Waived => ("waived", Tone::Warn),
            Self::Missing => ("not run yet", Tone::Plain),
        }
    }
}

/// An open finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingShown {
    /// Its name.
    pub id: FindingId,
    /// Its severity.
    pub severity: Severity,
    /// What is wrong.
    pub title: String,
    /// Who found it.
    pub by: AgentId,
    /// In which round.
    pub round: u32,
    /// Its state: open, fixed, disputed, reopened, reversal.
    pub state: RowState,
    /// The file it is about.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// Whether it keeps the work from being accepted.
    pub blocks: bool,
    /// Whether a test shows the fix that is claimed; nothing if none is claimed, or a reproducer tells.
    pub fix_shown: Option<bool>,
    /// How a dispute about it was decided last, and by whom.
    pub ruling: Option<(Ruling, Party)>,
    /// What people read of it beside its state.
    #[serde(skip)]
    pub(super) asides: Vec<String>,
}

impl QuestionShown {
    fn of(open: &OpenQuestion) -> Self {
        Self {
            id: open.id.clone(),
            by: open.by.clone(),
            kind: open.kind.into(),
            question: open.question.clone(),
            about: open.about.clone(),
            at: open.at,
        }
    }
}

impl ParkedShown {
    /// Returns nothing if no agent has the turn.
    fn of(state: &BubbleState) -> Option<Self> {
        let parked = state.presence.parked.as_ref().filter(|_| state.phase.turn().is_some())?;
        Some(Self { agent: parked.agent.clone(), until: parked.until })
    }
}

impl FindingShown {
    fn of(state: &BubbleState, row: &Row) -> Self {
        let fix = row.fix_evidence().filter(|_| state.rules.kind != BubbleKind::Document);
        Self {
            id: row.id,
            severity: row.severity,
            title: row.title.clone(),
            by: row.by.clone(),
            round: row.round,
            state: row.state,
            file: row.file.clone(),
            line: row.line,
            blocks: row.blocks(),
            fix_shown: fix.map(|fix| fix.shown),
            ruling: row.ruling.clone(),
            asides: asides(row, state.rules.kind),
        }
    }
}

impl Status {
    /// Reads the status off a state alone.
    pub fn of(state: &BubbleState, now: Moment) -> Self {
        Self::heard(state, now, None)
    }

    /// Reads the status off a state; `active` is the last sign of life of the turn's holder that is not in the log.
    pub fn heard(state: &BubbleState, now: Moment, active: Option<Moment>) -> Self {
        let waits = inbox(state).into_iter().next();
        let turn = state.phase.turn();
        Self {
            fields: StateFields::of(state),
            repo: state.about.repo.clone(),
            task_title: title(&state.about.task).to_owned(),
            acceptance_criteria: state.about.acceptance_criteria.clone(),
            prd: state.rules.prd.clone(),
            worktree: state.evidence.workspace.as_ref().map(|workspace| workspace.path.clone()),
            worktree_gone: false,
            worktree_problem: None,
            foreign: None,
            removing: Vec::new(),
            damaged_logs: Vec::new(),
            identity_changes: Vec::new(),
            identity_next: None,
            config_differs: None,
            branch: state.rules.bubble_branch.clone(),
            base_branch: state.rules.base_branch.clone(),
            base_moved: None,
            driver: state.rules.driver,
            seats: SeatsShown {
                implementer: state.rounds.seats.implementer.clone(),
                reviewer: state.rounds.seats.reviewer.clone(),
                judge: turn.filter(|turn| turn.seat == Seat::Judge).map(|turn| turn.agent.clone()),
            },
            rounds_used: state.rounds.spent.rounds,
            looks: state.rounds.looks,
            looks_needed: looks_needed(state),
            looks_used: state.rounds.spent.looks,
            max_looks: state.policy().max_looks(),
            max_rounds: state.rules.max_rounds,
            snapshot: snapshot(state),
            checks: checks(state),
            manual_checks: state.rules.manual_checks.clone(),
            open_findings: findings(state),
            contested: state.rounds.contested.clone(),
            acceptance_turn: turn.is_some_and(|turn| turn.acceptance),
            clean_reviews: state.rounds.streak.clone(),
            questions: open_questions(state).iter().map(QuestionShown::of).collect(),
            missing_for_convergence: missing(state),
            watchdog_left_secs: state
                .silence_ends(active)
                .map(|(heard, limit)| limit.saturating_sub(now.since(heard)) / 1000),
            uncounted: false,
            held_notice: None,
            parked: ParkedShown::of(state),
            commit: commit(state),
            merged: state.gate.merged.clone(),
            escaped: state.gate.escaped.clone(),
            failure: failure(state),
            next: waits.as_ref().map_or_else(|| next(state), |item| item.answer.clone()),
            waits,
        }
    }
}

/// Returns how a state is meant, everywhere it is shown; a paused or parked bubble needs a look.
pub fn state_tone(state: StateName, interrupted: bool) -> Tone {
    match state {
        _ if interrupted => Tone::Warn,
        StateName::WaitingHuman | StateName::ReadyForApproval | StateName::ApprovedForCommit => Tone::Warn,
        StateName::Committed | StateName::Done => Tone::Good,
        StateName::Failed => Tone::Bad,
        StateName::Cancelled => Tone::Faint,
        StateName::Created | StateName::PreparingWorkspace | StateName::Running => Tone::Plain,
    }
}

fn snapshot(state: &BubbleState) -> Option<SnapshotShown> {
    let snapshot = state.evidence.snapshot.as_ref()?;
    let (files, added, removed) = snapshot.against_base();
    Some(SnapshotShown {
        tree: snapshot.tree.clone(),
        files: usize::try_from(files).unwrap_or(usize::MAX),
        added,
        removed,
        author: snapshot.author.clone(),
        out_of_scope: snapshot.out_of_scope.clone(),
    })
}

fn checks(state: &BubbleState) -> Vec<CheckShown> {
    let shown = |check: &crate::rules::Check| {
        let result = state.check(&check.name);
        let failed = if let CheckState::Failed(receipt) = &result { Some(*receipt) } else { None };
        let tail: Vec<_> = failed.iter().flat_map(|receipt| receipt.tail.trim_end().lines()).collect();
        let output = failed.and_then(|receipt| receipt.output.as_deref());
        CheckShown {
            check: check.name.clone(),
            command: check.command.clone(),
            place: match result {
                CheckState::Passed(receipt) | CheckState::Failed(receipt) => Some(receipt.place),
                CheckState::NotAvailable | CheckState::Waived(_) | CheckState::Missing => None,
            },
            stand: match result {
                CheckState::Passed(_) => CheckOutcome::Passed,
                CheckState::Failed(_) => CheckOutcome::Failed,
                CheckState::NotAvailable => CheckOutcome::NotAvailable,
                CheckState::Waived(_) => CheckOutcome::Waived,
                CheckState::Missing => CheckOutcome::Missing,
            },
            tail: tail[tail.len().saturating_sub(TAIL)..].iter().map(|line| (*line).to_owned()).collect(),
            output: output.map(|name| artifact(state, name)),
        }
    };
    state.rules.checks.iter().map(shown).collect()
}

/// Returns the path of an artifact that is called `name` in the log.
fn artifact(state: &BubbleState, name: &str) -> String {
    let name = name.strip_prefix("artifact://").unwrap_or(name);
    format!("{}/.pairflow/bubbles/{}/artifacts/{name}", state.about.repo, state.id)
}

fn findings(state: &BubbleState) -> Vec<FindingShown> {
    state.ledger.open().map(|row| FindingShown::of(state, row)).collect()
}

fn missing(state: &BubbleState) -> Vec<Unmet> {
    if state.gate.certificate.is_some() { Vec::new() } else { state.unmet() }
}

/// Writes criteria for programs: in the words in which a claim of convergence is refused.
fn sentences<S: Serializer>(criteria: &[Unmet], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(criteria.iter().map(ToString::to_string))
}

fn commit(state: &BubbleState) -> Option<CommitId> {
    match &state.phase {
        Phase::Committed(made) | Phase::Done(made) => Some(made.commit.clone()),
        _ => None,
    }
}

fn failure(state: &BubbleState) -> Option<String> {
    match &state.phase {
        Phase::Failed { reason } => Some(reason.clone()),
        Phase::Approved(approval) => approval.failed.clone(),
        Phase::Created => state.gate.start_failed.clone(),
        _ => None,
    }
}

/// Returns the next steps if nothing waits for a person.
fn next(state: &BubbleState) -> Vec<String> {
    let id = &state.id;
    match &state.phase {
        Phase::Created => vec![format!("pairflow start {id}")],
        Phase::Running(_) | Phase::WaitingHuman(_) if state.paused => vec![format!("pairflow resume {id}")],
        Phase::Running(turn) if turn.is_open() => match state.rules.driver {
            DriverKind::External if !state.presence.tokens.contains_key(&turn.agent) => {
                vec![state.joining(&turn.agent)]
            }
            _ => vec![format!("pairflow log {id}")],
        },
        Phase::Done(_) if state.gate.merged.is_none() => vec![format!("pairflow merge {id}")],
        Phase::Done(_) => vec![format!("pairflow delete {id}")],
        Phase::Failed { .. } | Phase::Cancelled => vec![format!("pairflow log {id}"), format!("pairflow delete {id}")],
        // The rest is pairflow's own work: a supervisor that runs is woken by this, and in its absence it is done here.
        _ => vec!["pairflow supervise --once".to_owned()],
    }
}

impl Status {
    /// Notes that the worktree is gone. As long as anything can follow, it is made again first.
    pub fn lose_worktree(&mut self) {
        self.worktree_gone = true;
        if let Some(resume) = self.restoring() {
            self.next.retain(|line| *line != resume);
            self.next.insert(0, resume);
        }
    }

    /// Notes that the worktree is there and cannot be used. `resume` repairs it, or says what is to be done first.
    pub fn disturb_worktree(&mut self, problem: String) {
        self.lose_worktree();
        self.worktree_gone = false;
        self.worktree_problem = Some(problem);
    }

    /// Marks the bubble as foreign: nothing is waited for or done, and there is one next step.
    pub fn mark_foreign(&mut self, notice: ForeignNotice) {
        self.foreign = Some(notice.why);
        self.next = vec![notice.next];
        self.removing = notice.remove;
        self.watchdog_left_secs = None;
        self.waits = None;
    }

    /// The command line that makes a worktree again that is gone.
    pub(super) fn restoring(&self) -> Option<String> {
        let over = matches!(self.fields.state, StateName::Done | StateName::Failed | StateName::Cancelled);
        (self.worktree_gone && !over).then(|| format!("pairflow resume {}", self.fields.bubble_id))
    }

    /// Whether pairflow itself owes something before an agent may act.
    pub(super) fn opening(&self) -> bool {
        self.fields.turn_state == Some(TurnState::Opening)
    }
}

/// Why a bubble is foreign, and the command lines that help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignNotice {
    /// Why it is foreign, as a clause.
    pub why: String,
    /// Goes on: adopts it, or leads to where the person can have bubbles.
    pub next: String,
    /// Remove it, one after the other.
    pub remove: Vec<String>,
}

impl ForeignNotice {
    /// Rewrites every command line.
    #[must_use]
    pub fn map(self, line: impl Fn(String) -> String) -> Self {
        Self { next: line(self.next), remove: self.remove.into_iter().map(line).collect(), ..self }
    }
}

/// Describes the last state in the log of a foreign bubble, in the past tense: nothing of it runs here.
pub(crate) fn last_recorded(fields: &StateFields) -> String {
    let paused = if fields.paused { ", paused" } else { "" };
    let round = if fields.round > 0 { format!(", in round {}", fields.round) } else { String::new() };
    let turn = match (&fields.active_agent, fields.active_role) {
        (Some(agent), Some(role)) => format!("; {agent} had the turn as {role}"),
        _ => String::new(),
    };
    format!("It ends in state {}{paused}{round}{turn}.", fields.state)
}
