//! What can be asked of a bubble: by an agent, a person, the clock, or the result of an effect.

use strum::IntoStaticStr;

use crate::bubble::{BubbleState, Refusal, RefusedCaller};
use crate::facts::{
    AcceptanceTests, Answers, Explanation, Finding, Judgement, Receipt, Seat, Severity, Snapshot, Step,
};
use crate::ids::{AgentId, CommitId, FindingId, MsgId, Party, TreeId};
use crate::log::{
    Body, CommitIdentity, Conflict, Decision, Event, Intent, Person, RetryKey, Waivable, WorkspaceRecord,
};
use crate::rules::{BubbleKind, Rules};
use crate::time::{Moment, Timestamp};

/// A request. The sender of an agent's command has been proven before.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Command {
    /// Prepare the workspace and start the loop.
    Start {
        /// The configuration in force from here on.
        rules: Box<Rules>,
    },
    /// The workspace is there.
    WorkspaceReady {
        /// Where.
        workspace: WorkspaceRecord,
    },
    /// The workspace could not be made.
    StartFailed {
        /// Why, with the next step.
        reason: String,
    },
    /// An agent hands over.
    Pass(PassCommand),
    /// A judge decides on a disputed finding.
    Judge {
        /// Who judges.
        by: AgentId,
        /// What was decided.
        judgement: Judgement,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// An agent asks the person.
    AskHuman {
        /// Who asks.
        by: AgentId,
        /// What.
        question: String,
        /// Files and artifacts that the question points to.
        refs: Vec<String>,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// An agent claims that nothing severe is open.
    Converged {
        /// Who claims it.
        by: AgentId,
        /// In which words.
        summary: String,
        /// Files and artifacts that it points to.
        refs: Vec<String>,
        /// What the person has to know to decide.
        explanation: Option<Explanation>,
        /// The slices of a long change that were read.
        reviewed: Vec<u32>,
        /// What the worktree looks like now.
        seen: WorktreeSeen,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// The person answers.
    Reply {
        /// The answer.
        message: String,
        /// Which question; needed when several are open.
        question: Option<MsgId>,
        /// The decision, for questions that have one.
        decision: Option<Decision>,
        /// Artifacts that the answer points to.
        refs: Vec<String>,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// The person approves what the package shows.
    Approve {
        /// The SHA-256 of the package that was shown.
        package_sha256: String,
        /// What the worktree looks like now.
        seen: WorktreeSeen,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// The person sends the work back.
    #[strum(serialize = "request-rework")]
    Rework {
        /// What to do.
        message: String,
        /// Whether the approach as such is rejected.
        reject: bool,
        /// Findings that must be dealt with.
        findings: Vec<FindingId>,
        /// Artifacts that the message points to.
        refs: Vec<String>,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// The person asks for the commit.
    Commit {
        /// The message; the suggested one if there is none.
        message: Option<String>,
        /// Why files out of scope are committed nevertheless.
        override_scope: Option<String>,
        /// Whether the repository's own hooks run.
        hooks: bool,
        /// Who commits, if that was not known when the bubble was created.
        author: Option<Person>,
    },
    /// The person adopts what git says now about who commits.
    #[strum(serialize = "config set")]
    SetIdentity {
        /// What git says.
        identity: CommitIdentity,
    },
    /// The commit was made.
    CommitMade {
        /// The commit.
        commit: CommitId,
        /// What the branch pointed to before, if agents had committed on it.
        old_tip: Option<CommitId>,
    },
    /// The commit could not be made.
    CommitFailed {
        /// Why, with the next step.
        reason: String,
    },
    /// The done package is to be recorded.
    RecordDone,
    /// The person asks to merge the base branch into the worktree.
    Update,
    /// The person asks for the same merge again, after resolving its conflict in the worktree.
    #[strum(serialize = "update")]
    UpdateResolved,
    /// The base branch was merged into the worktree.
    UpdateMade {
        /// The new base.
        base: CommitId,
        /// Its tree.
        base_tree: TreeId,
        /// The tree as the agent left it, if it changed since the newest snapshot; then the merged tree.
        snapshots: Vec<Snapshot>,
        /// Whether the work changes the same files from the same content to the same content as before.
        same_patch: bool,
    },
    /// The base branch could not be merged.
    UpdateFailed {
        /// Why, with the next step.
        reason: String,
        /// What a person has to resolve, if that is why.
        conflict: Option<Conflict>,
    },
    /// The bubble's commit reached the base branch.
    Merged {
        /// What the base branch points to now.
        commit: CommitId,
    },
    /// The person has found a defect in the work of a bubble that is done.
    Escaped {
        /// How severe it is.
        severity: Severity,
        /// What is wrong.
        text: String,
    },
    /// The person changes the configuration of the bubble.
    #[strum(serialize = "config")]
    Configure {
        /// The configuration in force from here on.
        rules: Box<Rules>,
    },
    /// The person pauses the loop.
    Pause {
        /// Why.
        reason: String,
    },
    /// The person lets the loop go on.
    Resume,
    /// The person waives a finding, or a check that does not pass.
    Waive {
        /// With what.
        what: Waivable,
        /// Why.
        reason: String,
    },
    /// The person takes back a waiver.
    #[strum(serialize = "waive")]
    Withdraw {
        /// Of what.
        what: Waivable,
        /// Why, if that was said.
        reason: String,
    },
    /// The person ends the bubble.
    Stop {
        /// Why.
        reason: String,
    },
    /// The person wants the agents' programs ended and started again.
    Restart {
        /// Why.
        reason: String,
    },
    /// Time went by.
    #[strum(serialize = "watchdog")]
    Tick {
        /// When the agent whose turn it is was last seen at work, by its hooks or its files.
        active: Option<Moment>,
    },
    /// An agent's program was started, or its session became known.
    AgentSession {
        /// Which agent.
        agent: AgentId,
        /// For which turn it was started; 0 before its first one.
        turn: u32,
        /// In which seat; nothing before its first turn.
        seat: Option<Seat>,
        /// By which name the session can be taken up again.
        session: Option<String>,
    },
    /// A notice is about to be sent.
    Sent {
        /// Its number.
        notice: u64,
    },
    /// An agent is known to have a notice.
    Acknowledged {
        /// Which agent.
        agent: AgentId,
        /// The number of the notice; 0 for an agent without one that has read in its brief why its work came back.
        notice: u64,
    },
    /// A notice was sent in vain as often as makes sense.
    Undelivered {
        /// Its number.
        notice: u64,
        /// What is known, as part of a sentence.
        why: String,
    },
    /// An agent's program shows a sign of life.
    Active {
        /// Which agent.
        agent: AgentId,
    },
    /// An agent's program wants to end its turn, and no person had asked it anything meanwhile.
    Stopped {
        /// Which agent.
        agent: AgentId,
    },
    /// Something keeps an agent's program from going on.
    Hindered {
        /// Which agent.
        agent: AgentId,
        /// What kind of thing.
        by: Hindrance,
        /// What, in its own words.
        what: String,
    },
    /// An agent process is about to be let in.
    #[strum(serialize = "env")]
    MintToken {
        /// Which agent.
        agent: AgentId,
        /// The SHA-256 of its token.
        token_sha256: String,
    },
    /// A snapshot was taken.
    SnapshotTaken {
        /// The snapshot.
        snapshot: Snapshot,
    },
    /// A check was run.
    Checked {
        /// Its receipt.
        receipt: Receipt,
    },
    /// The reproducer of a finding was run.
    Reproduced {
        /// Which finding.
        finding: FindingId,
        /// What came of it.
        receipt: Receipt,
    },
    /// The test of a fix was run.
    FixTested {
        /// Of which finding.
        finding: FindingId,
        /// What came of it without the fix.
        before: Receipt,
        /// What came of it with the fix; nothing if it passed without or could not be run.
        after: Option<Receipt>,
    },
    /// Everything before a turn is done, and the worktree still has the expected tree.
    TurnReady {
        /// The number of the turn.
        turn: u32,
        /// How many slices the change under review was cut into; none if it stands in the brief as a whole.
        slices: u32,
    },
    /// The process of the agent whose turn it is ended without a hand-over.
    AgentEnded {
        /// The number of the turn.
        turn: u32,
        /// How it ended, as part of a sentence: "with exit code 3".
        how: String,
        /// The end of its output, as it was.
        output: String,
    },
    /// The package of accepted work was rendered.
    Packaged {
        /// What became of it.
        package: Package,
    },
    /// An effect failed again and again; a person has to look.
    Trouble {
        /// What failed, with the next step.
        reason: String,
    },
    /// Something is lost that the bubble cannot go on without.
    GiveUp {
        /// What.
        reason: String,
    },
}

/// What keeps an agent from going on until a person does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hindrance {
    /// It asks for a permission, in its pane.
    Permission,
    /// It asks for a permission, and its hook waits for a person's answer.
    Permit,
    /// It shows a dialog.
    Dialog,
    /// Its model could not be reached, or something else failed that it does not get over by itself.
    Failure,
    /// It has reached the limit of its account.
    Limit {
        /// Until when, if it says so.
        until: Option<Timestamp>,
    },
}

/// An agent's hand-over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassCommand {
    /// Who hands over.
    pub by: AgentId,
    /// What was done.
    pub summary: String,
    /// Files and artifacts that it points to.
    pub refs: Vec<String>,
    /// What the other side is asked to do; by default it follows from the seat.
    pub intent: Option<Intent>,
    /// What was found; nothing if neither findings nor "no findings" was said.
    pub findings: Option<Vec<Finding>>,
    /// What is said to rows of the ledger.
    pub answers: Answers,
    /// What the person has to know to decide.
    pub explanation: Option<Explanation>,
    /// The steps of a document's review, or the implementer's dry run.
    pub steps: Vec<Step>,
    /// What the implementer of a document could not resolve in its dry run.
    pub blockers: Vec<String>,
    /// Whether the reviewer wants the person to decide before the loop goes on.
    pub discuss: bool,
    /// Whether the reviewer says in so many words that the work has to change, so that its review cannot be a clean one.
    pub insists: bool,
    /// The slices of a long change that were read.
    pub reviewed: Vec<u32>,
    /// The acceptance tests that a reviewer's agent wrote before there was any work.
    pub acceptance: Option<AcceptanceTests>,
    /// Whether that agent says that no acceptance test can be written.
    pub no_acceptance: bool,
    /// Which branch the worktree is on.
    pub head: HeadSeen,
    /// The tree of the worktree, where it was looked at. It matters only when the same words came back; without a look
    /// the tree then counts as unchanged.
    pub tree: Option<TreeId>,
    /// The retry key, if one was given.
    pub key: Option<RetryKey>,
}

impl PassCommand {
    /// A hand-over that says nothing but its summary.
    pub fn new(by: AgentId, summary: impl Into<String>, head: HeadSeen) -> Self {
        Self {
            by,
            summary: summary.into(),
            refs: Vec::new(),
            intent: None,
            findings: None,
            answers: Answers::default(),
            explanation: None,
            steps: Vec::new(),
            blockers: Vec::new(),
            discuss: false,
            insists: false,
            reviewed: Vec::new(),
            acceptance: None,
            no_acceptance: false,
            head,
            tree: None,
            key: None,
        }
    }

    /// Returns what it files: a reviewer's findings, or an implementer's blockers.
    pub fn filed(&self) -> Option<Vec<Finding>> {
        match self.blockers.as_slice() {
            [] => self.findings.clone(),
            blockers => Some(blockers.iter().map(|blocker| Finding::blocker(blocker.trim())).collect()),
        }
    }
}

/// Which branch a worktree is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadSeen {
    /// A branch.
    Branch(String),
    /// No branch.
    Detached,
    /// The worktree is gone.
    Missing,
}

/// What a worktree looks like at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeSeen {
    /// Its tree.
    pub tree: TreeId,
    /// The files that differ from the newest snapshot.
    pub differing: Vec<String>,
}

impl Command {
    /// Returns the command's name as people write it.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Returns who is told what became of the command.
    pub fn caller(&self, state: &BubbleState) -> RefusedCaller {
        let Some(agent) = self.agent() else { return RefusedCaller::Person };
        let slices = state.phase.turn().filter(|turn| turn.agent == *agent).map_or(0, |turn| turn.slices);
        match state.rules.kind {
            BubbleKind::Document => RefusedCaller::DocumentAgent { slices },
            _ => RefusedCaller::Agent { slices },
        }
    }

    /// Returns the agent that sends the command, if one does.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Pass(pass) => Some(&pass.by),
            Self::AskHuman { by, .. } | Self::Converged { by, .. } | Self::Judge { by, .. } => Some(by),
            _ => None,
        }
    }

    /// Whether the command only says what became of an effect; such a command is never a person's or an agent's.
    pub fn is_result(&self) -> bool {
        matches!(
            self,
            Self::WorkspaceReady { .. }
                | Self::StartFailed { .. }
                | Self::CommitMade { .. }
                | Self::CommitFailed { .. }
                | Self::RecordDone
                | Self::UpdateMade { .. }
                | Self::UpdateFailed { .. }
                | Self::SnapshotTaken { .. }
                | Self::Checked { .. }
                | Self::Reproduced { .. }
                | Self::FixTested { .. }
                | Self::TurnReady { .. }
                | Self::AgentEnded { .. }
                | Self::AgentSession { .. }
                | Self::Sent { .. }
                | Self::Acknowledged { .. }
                | Self::Undelivered { .. }
                | Self::Active { .. }
                | Self::Stopped { .. }
                | Self::Hindered { .. }
                | Self::Trouble { .. }
                | Self::GiveUp { .. }
                | Self::Packaged { .. }
        )
    }
}

/// A package that was rendered for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its file beneath `artifacts/`.
    pub name: String,
    /// The commit message that it suggests.
    pub commit_message: String,
    /// The hash of its text.
    pub sha256: String,
}

/// What a command leads to: facts to record, and files that must be on disk before them.
///
/// What the shell owes the world afterwards is asked of [`crate::bubble::owed`], never remembered here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a decision that is not recorded never happened"]
pub struct Decided {
    /// The facts, in order; recorded all or not at all.
    pub events: Vec<Event>,
    /// Files beneath `artifacts/` that the facts point to.
    pub artifacts: Vec<Artifact>,
}

/// A file beneath `artifacts/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name, relative to `artifacts/`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Decided {
    /// A decision with these facts and no file.
    pub(crate) fn of(events: Vec<Event>) -> Self {
        Self { events, artifacts: Vec::new() }
    }

    /// A decision with one fact.
    pub(crate) fn one(event: Event) -> Self {
        Self::of(vec![event])
    }
}

/// A fact of pairflow's own, in the present round.
pub(super) fn event(state: &BubbleState, body: impl Into<Body>) -> Event {
    Event::own(state.rounds.round, body.into())
}

/// A decision of the person, in the present round.
pub(super) fn by_person(state: &BubbleState, body: impl Into<Body>) -> Event {
    event(state, body).by(Party::Human).to(Party::Orchestrator)
}

/// Refuses an agent that has no seat in this bubble.
pub(super) fn has_seat(state: &BubbleState, agent: &AgentId) -> Result<(), Refusal> {
    let agents = &state.rules.agents;
    if agents.contain(agent) {
        return Ok(());
    }
    let known = agents.all().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
    Err(Refusal::NoSeat { agent: agent.clone(), known })
}

/// Refuses what must not happen while the base branch is being merged.
pub(super) fn not_updating(state: &BubbleState, command: &'static str) -> Result<(), Refusal> {
    if !state.gate.updating {
        return Ok(());
    }
    let why = Some("the base branch is being merged into the worktree".to_owned());
    Err(Refusal::WrongState { state: state.phase.name(), command, why })
}

/// Refuses a finding that is not open.
pub(super) fn open_row(state: &BubbleState, id: FindingId) -> Result<(), Refusal> {
    match state.ledger.get(id) {
        Some(row) if row.is_open() => Ok(()),
        _ => Err(Refusal::UnknownFinding { id: id.to_string() }),
    }
}
